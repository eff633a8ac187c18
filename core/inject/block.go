package inject

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/sdk"
)

// Category is the purpose of a block.
type Category string

// The categories, in the order of their rank.
const (
	Safety           Category = "safety"
	PolicyText       Category = "policy"
	SessionInjection Category = "session_injection"
	MemoryRecall     Category = "memory_recall"
	Knowledge        Category = "knowledge"
	Workflow         Category = "workflow"
	Tooling          Category = "tooling"
	Reflection       Category = "reflection"
)

// categories are the categories by rank.
var categories = [...]Category{Safety, PolicyText, SessionInjection, MemoryRecall, Knowledge, Workflow, Tooling, Reflection}

// Categories lists the categories by rank, the first first.
func Categories() []Category { return slices.Clone(categories[:]) }

// rank is the category's place among the categories, from 0; -1 for an unknown category.
func (c Category) rank() int { return slices.Index(categories[:], c) }

// Format determines how a payload is cut.
type Format string

// The formats.
const (
	Text Format = "text" // after any character, with an ellipsis
	XML  Format = "xml"  // after a whole child of its root
)

// Origin is the maker of a block.
type Origin int

// The origins. Only the operator and the host make anchors.
const (
	FromCaller Origin = iota
	FromOperator
	FromHost
)

// The bounds of a block.
const (
	MaxBlockID      = 256       // bytes of an id, a source, a tag or a reference
	MaxPayloadBytes = 256 << 10 // four times the longest memory
	MaxLabels       = 50        // tags, and references
	MaxPriority     = 1 << 30   // and the lowest is its negative
)

// Draft is the request for a block. [NewBlock] makes the block.
type Draft struct {
	// BlockID names the block.
	BlockID string `json:"block_id"`
	// Category is safety, policy, session_injection, memory_recall, knowledge, workflow,
	// tooling or reflection.
	Category Category `json:"category"`
	// Priority orders blocks: higher ones come first.
	Priority *int `json:"priority"`
	// Payload is what the model gets.
	Payload string `json:"payload"`
	// Source is where it comes from. With the dedupe strategy source+category, blocks with
	// the same source and category count as the same.
	Source string `json:"source,omitempty"`
	// Tags are the caller's tags.
	Tags []string `json:"tags,omitempty"`
	// TTLTurns is for how many turns it is valid, from CreatedTurn on.
	TTLTurns *int64 `json:"ttl_turns,omitempty"`
	// CreatedTurn is the turn in which it was made.
	CreatedTurn *int64 `json:"created_turn,omitempty"`
	// TraceRefs refer to what led to it, such as events or runs.
	TraceRefs []string `json:"trace_refs,omitempty"`
	// MemoryID is the memory whose text it has. The text becomes one line, escaped, and a purge of the
	// memory removes it.
	MemoryID string `json:"memory_id,omitempty"`
	// Anchor means that it is never cut or dropped.
	Anchor bool `json:"anchor,omitempty"`
	// Stable means that it is the same in most turns, so that it can be in the cached prefix.
	// Recalled text and hints are never in the prefix.
	Stable bool `json:"stable,omitempty"`
	// Format is text, the default, or xml. Recalled text is always text.
	Format Format `json:"format,omitempty"`

	// Head is what a line of recalled text says before the text; "" is [callersHead].
	Head string `json:"-"`
	// Salt keys the digest of the payload: for a memory's text it is the memory's own salt, and
	// for texts of a session it comes from [Turns.Salt].
	Salt string `json:"-"`
	// Turns are the turns whose texts a session's block has, sorted.
	Turns []int64 `json:"-"`
}

// Block is a valid part of a prompt. It is immutable.
type Block struct {
	draft   Draft
	chars   int
	digest  string
	trusted bool
	xml     *outline // nil for text
	// kept is what a snapshot has of a block whose text was purged; nil for any other block.
	kept *Used
}

// NewBlock makes a block. A memory's text becomes a line. Everything that is wrong with it is reported together:
// sdk.Invalid with a reason for each field, such as "block_id_invalid" and
// "payload_invalid", and sdk.Denied, reason "anchor_denied", for an anchor of a caller.
func NewBlock(d Draft, by Origin) (*Block, error) {
	return newBlock(d.asLine(), by, "")
}

// NewBlocks makes blocks, and reports everything that is wrong with any of them together.
func NewBlocks(drafts []Draft, by Origin) ([]*Block, error) {
	blocks, errs := make([]*Block, 0, len(drafts)), []error(nil)
	for i, d := range drafts {
		b, err := newBlock(d.asLine(), by, blockName(i))
		blocks, errs = append(blocks, b), append(errs, err)
	}
	if err := core.JoinErrors(errs...); err != nil {
		return nil, err
	}
	return blocks, nil
}

func newBlock(d Draft, by Origin, of string) (*Block, error) {
	if d.Format == "" {
		d.Format = Text
	}
	p := problems{of: of}
	p.block(&d, by)
	b := &Block{draft: d, trusted: by != FromCaller}
	if d.Format == XML && d.Payload != "" && len(d.Payload) <= MaxPayloadBytes {
		var err error
		if b.xml, err = outlineOf(d.Payload); err != nil {
			p.add("payload", "is not XML: %v", err)
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	b.draft.Tags, b.draft.TraceRefs = slices.Clone(d.Tags), slices.Clone(d.TraceRefs)
	b.chars, b.digest = utf8.RuneCountInString(d.Payload), digestOf(d.Salt, d.Payload)
	return b, nil
}

// recalled reports whether the payload is a memory's text, which is data.
func (d *Draft) recalled() bool { return d.MemoryID != "" || d.Category == MemoryRecall }

// callersHead is the head of a line that a caller made of a memory: the host doesn't know how the text did.
const callersHead = "note"

// asLine is the draft with a memory's text as a line: its head, and the text.
func (d Draft) asLine() Draft {
	if d.recalled() && utf8.ValidString(d.Payload) && d.Payload != "" {
		d.Payload, d.Format = cmp.Or(d.Head, callersHead)+separator+text.Line(d.Payload), Text
	}
	return d
}

// separator is between the parts of a line.
const separator = " · "

// ID is the [Draft]'s BlockID.
func (b *Block) ID() string { return b.draft.BlockID }

// Category is the [Draft]'s.
func (b *Block) Category() Category { return b.draft.Category }

// Payload is the [Draft]'s; recalled text is escaped.
func (b *Block) Payload() string { return b.draft.Payload }

// Chars counts the payload's Unicode code points.
func (b *Block) Chars() int { return b.chars }

// Draft is the block as it was requested, with the payload that it has now.
func (b *Block) Draft() Draft { return b.draft }

// Digest is the digest of the payload, keyed with the memory's salt if the payload is a
// memory's text.
func (b *Block) Digest() string { return b.digest }

// expired reports whether the block is no longer valid in a turn.
func (b *Block) expired(turn int64) bool {
	return b.draft.TTLTurns != nil && turn-*b.draft.CreatedTurn >= *b.draft.TTLTurns
}

// prefixable reports whether the block may be in the cached prefix: it is neither recalled
// text nor a hint.
func (b *Block) prefixable() bool {
	return !b.draft.recalled() && b.draft.Category != Reflection
}

// keyedPrefix begins a digest that is keyed with a salt.
const keyedPrefix = "hmac-sha256:"

// digestOf is the digest of a payload: keyed, if there is a salt.
func digestOf(salt, payload string) string {
	if salt == "" {
		return core.Digest([]byte(payload))
	}
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(payload)) // never fails
	return keyedPrefix + hex.EncodeToString(mac.Sum(nil))
}

// AnchorDenied is the reason for refusing an anchor that neither the operator nor the host
// made.
const AnchorDenied = "anchor_denied"

func anchorDenied(block, why string) *sdk.Error {
	return sdk.Errorf(sdk.Denied, AnchorDenied, "block %s %s, which only the operator and the host may make", core.Cut(block), why).
		WithHint("leave out anchor, or use another category, or ask the operator for the scope operate").
		WithDetail("block_id", core.Cut(block))
}
