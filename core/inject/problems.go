package inject

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// problems collects what is wrong with a block or a policy, so that all of it is reported
// at once.
type problems struct {
	list []error
	// of is a prefix that names the checked object, such as "blocks[3].".
	of string
}

// blockName is the prefix for the fields of a block of a list.
func blockName(i int) string { return fmt.Sprintf("blocks[%d].", i) }

func (p *problems) add(field, format string, args ...any) {
	name, _, _ := strings.Cut(field, "[")
	p.list = append(p.list, sdk.Errorf(sdk.Invalid, name+"_invalid", "%s%s %s", p.of, field, fmt.Sprintf(format, args...)).
		WithDetail("field", p.of+field))
}

func (p *problems) err() error { return core.JoinErrors(p.list...) }

// block checks everything except whether XML is well-formed.
func (p *problems) block(d *Draft, by Origin) {
	p.name("block_id", d.BlockID)
	switch {
	case d.Category == "":
		p.add("category", "is missing: it is one of %s", oneOf(categories[:]))
	case d.Category.rank() < 0:
		p.add("category", "is %q, which isn't one of %s", core.Cut(string(d.Category)), oneOf(categories[:]))
	}
	switch {
	case d.Priority == nil:
		p.add("priority", "is missing")
	case *d.Priority > MaxPriority || *d.Priority < -MaxPriority:
		p.add("priority", "is %d (limit %d, and the same below 0)", *d.Priority, MaxPriority)
	}
	most := MaxPayloadBytes
	if d.recalled() {
		most *= 2 // escaping makes text longer, at most five times
	}
	switch {
	case d.Payload == "":
		p.add("payload", "is missing")
	case !utf8.ValidString(d.Payload):
		p.add("payload", "is not UTF-8 text")
	case len(d.Payload) > most:
		p.add("payload", "has %d bytes (limit %d)", len(d.Payload), most)
	}
	if d.Format != Text && d.Format != XML {
		p.add("format", "is %q, which isn't one of text, xml", core.Cut(string(d.Format)))
	}
	if d.MemoryID != "" && !core.ValidID(d.MemoryID) {
		p.add("memory_id", "is no id of a memory")
	}
	p.lifetime(d)
	p.labels(d)
	if d.Anchor && by == FromCaller {
		p.list = append(p.list, anchorDenied(d.BlockID, "is an anchor"))
	}
}

func (p *problems) lifetime(d *Draft) {
	if d.TTLTurns != nil && *d.TTLTurns < 1 {
		p.add("ttl_turns", "is %d (least 1)", *d.TTLTurns)
	}
	if d.TTLTurns != nil && d.CreatedTurn == nil {
		p.add("created_turn", "is missing: ttl_turns counts from it")
	}
	if d.CreatedTurn != nil && *d.CreatedTurn < 0 {
		p.add("created_turn", "is %d (least 0)", *d.CreatedTurn)
	}
}

func (p *problems) labels(d *Draft) {
	if d.Source != "" {
		p.name("source", d.Source)
	}
	for _, list := range []struct {
		field string
		items []string
	}{{"tags", d.Tags}, {"trace_refs", d.TraceRefs}} {
		if len(list.items) > MaxLabels {
			p.add(list.field, "has %d entries (limit %d)", len(list.items), MaxLabels)
			continue
		}
		for i, item := range list.items {
			p.name(fmt.Sprintf("%s[%d]", list.field, i), item)
		}
	}
}

// name checks a short text that names something.
func (p *problems) name(field, text string) {
	switch {
	case text == "":
		p.add(field, "is missing")
	case len(text) > MaxBlockID:
		p.add(field, "has %d bytes (limit %d)", len(text), MaxBlockID)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.C, r) }):
		p.add(field, "has characters that can't be shown")
	}
}

func oneOf[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return strings.Join(list, ", ")
}

// checkOneOf reports a value that isn't one of the allowed ones.
func checkOneOf[T ~string](p *problems, field string, value T, allowed ...T) {
	if !slices.Contains(allowed, value) {
		p.add(field, "is %q, which isn't one of %s", core.Cut(string(value)), oneOf(allowed))
	}
}
