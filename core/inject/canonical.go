package inject

import (
	"maps"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// The canonical JSON of a snapshot has its keys sorted by their bytes, and no spaces. It
// leaves out the fields that don't follow from the input (the id, the time, the
// latency), and the payloads, of which it has the digests. A general encoder would take
// longer for 200 dropped blocks than their assembly, so this encoder is written by hand,
// in the order of the keys. A test compares its output with a general encoder's.

// canonical is JSON in the making.
type canonical []byte

// key begins a member.
func (c *canonical) key(name string) {
	c.comma()
	*c = append(append(append(*c, '"'), name...), '"', ':')
}

// comma separates the next element from the previous one.
func (c *canonical) comma() {
	switch (*c)[len(*c)-1] {
	case '{', '[', ':':
	default:
		*c = append(*c, ',')
	}
}

func (c *canonical) open(bracket byte)  { *c = append(*c, bracket) }
func (c *canonical) close(bracket byte) { *c = append(*c, bracket) }

// text appends a text. Most are plain, and need no escaping.
func (c *canonical) text(s string) {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= 0x7f || b == '"' || b == '\\' {
			*c = append(*c, core.MustJSON(s)...)
			return
		}
	}
	*c = append(append(append(*c, '"'), s...), '"')
}

// string is a member with a text.
func (c *canonical) string(name, s string) {
	c.key(name)
	c.text(s)
}

// optional is a member with a text, unless it is empty.
func (c *canonical) optional(name, s string) {
	if s != "" {
		c.string(name, s)
	}
}

// number is a member with a whole number.
func (c *canonical) number(name string, n int64) {
	c.key(name)
	*c = strconv.AppendInt(*c, n, 10)
}

// positive is a member with a whole number, unless it is 0.
func (c *canonical) positive(name string, n int) {
	if n != 0 {
		c.number(name, int64(n))
	}
}

// pointed is a member with a whole number, unless it is absent.
func (c *canonical) pointed(name string, n *int64) {
	if n != nil {
		c.number(name, *n)
	}
}

// flag is a member that is true, or absent.
func (c *canonical) flag(name string, on bool) {
	if on {
		c.key(name)
		*c = append(*c, "true"...)
	}
}

// list is a member with a list; fn appends an element.
func list[T any](c *canonical, name string, elements []T, fn func(*canonical, *T)) {
	c.key(name)
	c.open('[')
	for i := range elements {
		c.comma()
		fn(c, &elements[i])
	}
	c.close(']')
}

// words is a member with a list of texts, unless it is empty.
func words[T ~string](c *canonical, name string, texts []T) {
	if len(texts) > 0 {
		list(c, name, texts, func(c *canonical, s *T) { c.text(string(*s)) })
	}
}

// computeDigest is the digest of the canonical JSON.
func (s *Snapshot) computeDigest() string {
	c := make(canonical, 0, 1024+300*len(s.BlocksUsed)+100*len(s.DroppedBlocks))
	c.open('{')
	list(&c, "blocks_used", s.BlocksUsed, canonicalUsed)
	c.number("chars_injected", int64(s.CharsInjected))
	list(&c, "dropped_blocks", s.DroppedBlocks, canonicalDropped)
	c.string("namespace", s.Namespace)
	c.key("policy_applied")
	s.PolicyApplied.append(&c, true)
	s.Prefix.append(&c)
	if s.RoleMix != nil {
		c.key("role_mix")
		c = append(c, sorted(s.RoleMix)...)
	}
	c.optional("route", s.Route)
	c.string("session_id", s.SessionID)
	if s.TokensInjected != nil {
		c.number("tokens_injected", int64(*s.TokensInjected))
	}
	list(&c, "truncated_blocks", s.TruncatedBlocks, canonicalTruncated)
	c.number("turn_id", s.TurnID)
	c.close('}')
	return core.Digest(c)
}

func canonicalUsed(c *canonical, u *Used) {
	c.open('{')
	c.flag("anchor", u.Anchor)
	c.string("block_id", u.BlockID)
	c.string("category", string(u.Category))
	c.number("chars", int64(u.Chars))
	c.pointed("created_turn", u.CreatedTurn)
	c.string("format", string(u.Format))
	c.optional("memory_id", u.MemoryID)
	c.string("payload_digest", u.PayloadDigest)
	c.number("priority", int64(u.Priority))
	c.optional("source", u.Source)
	c.flag("stable", u.Stable)
	words(c, "tags", u.Tags)
	words(c, "trace_refs", u.TraceRefs)
	c.pointed("ttl_turns", u.TTLTurns)
	c.close('}')
}

func canonicalDropped(c *canonical, d *Dropped) {
	*c = append(*c, `{"block_id":`...)
	c.text(d.BlockID)
	*c = append(append(*c, `,"category":"`...), d.Category...)
	*c = append(*c, `","reason":`...)
	c.text(string(d.Reason))
	c.close('}')
}

func canonicalTruncated(c *canonical, t *Truncated) {
	c.open('{')
	c.string("block_id", t.BlockID)
	c.number("from", int64(t.From))
	c.number("to", int64(t.To))
	c.close('}')
}

func (p *Prefix) append(c *canonical) {
	c.key("prefix")
	c.open('{')
	c.number("chars", int64(p.Chars))
	c.optional("digest", p.Digest)
	c.key("reused")
	*c = strconv.AppendBool(*c, p.Reused)
	c.close('}')
}

// append appends a policy, either whole or without its digest and the fields about what
// decided it.
func (p *Applied) append(c *canonical, whole bool) {
	c.open('{')
	words(c, "anchor_categories", p.Anchors)
	if len(p.CategoryCap) > 0 {
		c.key("category_cap")
		c.open('{')
		for _, category := range slices.Sorted(maps.Keys(p.CategoryCap)) {
			c.number(string(category), int64(p.CategoryCap[category]))
		}
		c.close('}')
	}
	c.optional("dedupe_strategy", string(p.Dedupe))
	if whole {
		c.string("digest", p.Digest)
	}
	words(c, "enabled_categories", p.Enabled)
	if whole {
		c.optional("file", p.File)
		c.optional("file_digest", p.FileDigest)
	}
	c.positive("max_blocks", p.MaxBlocks)
	c.positive("max_chars", p.MaxChars)
	c.positive("max_tokens", p.MaxTokens)
	c.optional("mode", string(p.Mode))
	c.optional("ordering_strategy", string(p.Ordering))
	if whole {
		c.optional("rule", p.Rule)
	}
	c.optional("tokenizer", p.Tokenizer)
	c.close('}')
}

// digest is the digest of a completed policy.
func (p *Policy) digest() string {
	c := canonical{}
	(&Applied{Policy: *p}).append(&c, false)
	return core.Digest(c)
}

// sorted is the JSON of a value with its keys sorted.
func sorted(v any) []byte {
	decoded, err := core.DecodeJSON(core.MustJSON(v))
	if err != nil {
		panic("inject: JSON of ours can't be decoded: " + err.Error())
	}
	return core.MustJSON(decoded)
}
