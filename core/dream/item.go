package dream

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Item is what a pass reads of a memory, with what is stored next to it.
type Item struct {
	// Memory isn't changed.
	Memory *core.Memory
	// Links are the links that begin and end at it, in any order.
	Links []LinkRef
	// Vector is the memory's vector; nil for none.
	Vector []float32
	// Named is whether a turn, a tool's outcome or a reflection names it; then it isn't stale.
	Named bool
	// Mark is what was decided about it.
	Mark Mark
}

// LinkRef is a link from the point of view of one of its ends.
type LinkRef struct {
	Relation string `json:"relation"`
	// Other is the memory at the other end, and In whether the link begins there.
	Other string `json:"other"`
	In    bool   `json:"in,omitempty"`
}

// Mark is what passes must not forget about a memory. Most memories have the zero value.
type Mark struct {
	// Undated is whether a rewriting of its dates was undone: they are left alone.
	Undated bool `json:"undated,omitempty"`
	// Distinct are memories with which it isn't merged, and which it doesn't contradict,
	// because somebody undid that.
	Distinct []string `json:"distinct,omitempty"`
	// KeptAt is when somebody took it out of the archive: it isn't archived before its next
	// recall.
	KeptAt *time.Time `json:"kept_at,omitempty"`
	// Report is the organization report that was found in it.
	Report *OrganizationReport `json:"report,omitempty"`
}

// Digest identifies what a step reads of a memory: title, content, tags, importance, metadata,
// state and links. Access counts and signals aren't part of it, so that a recall between a plan and
// its run changes nothing. It is keyed with the memory's salt, so that it reveals nothing once the
// memory is purged.
func Digest(m *core.Memory, links []LinkRef) string {
	links = slices.Clone(links)
	slices.SortFunc(links, func(a, b LinkRef) int {
		return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Other, b.Other), cmp.Compare(side(a), side(b)))
	})
	return keyed(m.Salt, string(jsontext.MustEncode(struct {
		Title, Content string
		Tags           []string
		Importance     float64
		Metadata       json.RawMessage
		State          core.MemoryState
		Links          []LinkRef
	}{m.Title, m.Content, m.Tags, m.Importance, m.Metadata, m.State, links})))
}

func side(l LinkRef) int {
	if l.In {
		return 1
	}
	return 0
}

// keyed is the digest of a text of a memory.
func keyed(salt, text string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(text)) // never fails
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

// Anchor is the time to which a memory's relative dates refer, and which says which of two
// memories is newer: when the described event happened, otherwise when the memory was
// written.
func Anchor(m *core.Memory) time.Time {
	if m.OccurredAt != nil {
		return *m.OccurredAt
	}
	return m.CreatedAt
}

// Tags by which the writer of a memory keeps passes from changing it.
const (
	// Pinned is the tag of memories that a pass doesn't merge and doesn't archive.
	Pinned = "pinned"
	// Undated is the tag of memories whose relative dates a pass leaves alone: they were
	// imported without the time at which they were said, so that their anchor would be the import.
	Undated = "undated"
)

// Touched reports whether a pass may change a memory: one that is in use, doesn't wait for
// the gate, and isn't a notification.
func Touched(m *core.Memory) bool {
	switch m.State {
	case core.StateOpen, core.StateActive, core.StateCooling:
		return m.Kind != core.KindNotification
	}
	return false
}

// draft is a memory while a plan is made, in the form that it will have after the steps so
// far.
type draft struct {
	core.Memory
	links  []LinkRef
	vector []float32
	named  bool
	mark   Mark
	// fresh is whether it was written or rewritten since the pass before.
	fresh bool
}

func newDraft(i *Item, since time.Time) *draft {
	d := &draft{Memory: *i.Memory, links: slices.Clone(i.Links), vector: i.Vector, named: i.Named, mark: i.Mark}
	d.Tags = slices.Clone(d.Tags)
	d.fresh = since.IsZero() || !d.UpdatedAt.Before(since)
	return d
}

func (d *draft) read() Read { return Read{d.ID, Digest(&d.Memory, d.links)} }

// free reports whether the phases after the first may change it.
func (d *draft) free() bool { return Touched(&d.Memory) && !slices.Contains(d.Tags, Pinned) }

// distinct reports whether it was decided that two memories are no pair.
func (d *draft) distinct(from *draft) bool {
	return slices.Contains(d.mark.Distinct, from.ID) || slices.Contains(from.mark.Distinct, d.ID)
}

// kept reports whether it was taken out of the archive, and not recalled since.
func (d *draft) kept() bool {
	return d.mark.KeptAt != nil && (d.LastAccessedAt == nil || !d.LastAccessedAt.After(*d.mark.KeptAt))
}

// link notes a link from a memory to another in both.
func link(from *draft, relation string, to *draft) {
	from.links = append(from.links, LinkRef{Relation: relation, Other: to.ID})
	to.links = append(to.links, LinkRef{Relation: relation, Other: from.ID, In: true})
}

// newerDraft orders memories: the newest by the anchor, then the larger id.
func newerDraft(a, b *draft) int {
	return cmp.Or(Anchor(&b.Memory).Compare(Anchor(&a.Memory)), cmp.Compare(b.ID, a.ID))
}
