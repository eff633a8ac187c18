package memory

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// DefaultListLimit is how many memories a page has by default.
	DefaultListLimit = 50
	// MaxListLimit is how many memories a page has at most.
	MaxListLimit = 1000
	// maxExamined is how many memories are read for a page, whether they match or not, so
	// that a filter with few matches takes no longer than other filters.
	maxExamined = 10_000
)

// ListFilter selects memories. A zero field selects all.
type ListFilter struct {
	Namespace string
	// Subtree includes the namespaces below. With Namespace "" it selects all namespaces.
	Subtree bool
	// Kinds, States and Tags filter memories, if set: a memory must have one of the kinds,
	// one of the states and all of the tags.
	Kinds   []core.MemoryKind
	States  []core.MemoryState
	Tags    []string
	AgentID string
	// Current leaves out what recall doesn't return: memories in states that aren't recalled, and
	// those that another memory supersedes.
	Current bool
	// Since leaves out memories that were written before; the zero time selects all.
	Since time.Time
	// Limit is how many are returned at most: 0 means [DefaultListLimit], and the limit
	// is [MaxListLimit].
	Limit int
	// After is the Next of the previous page.
	After string
}

// Page is a part of a list.
type Page struct {
	Memories []*core.Memory `json:"memories"`
	// Next is the position of the next page; "" on the last page. A page may have fewer
	// memories than requested, even none, without being the last page.
	Next string `json:"next,omitempty"`
}

// List returns memories without their vectors: namespace by namespace, the newest first
// in each.
func (m *Memories) List(ctx context.Context, f ListFilter) (*Page, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	var page *Page
	err := m.records.View(ctx, func(r core.Reader) (err error) {
		page, err = f.page(ctx, r)
		return err
	})
	return page, err
}

// Check reports everything that is wrong with a filter, and brings its tags into their stored form.
func (f *ListFilter) Check() error {
	var p bounds.Problems
	if f.Namespace != "" {
		p.Check(core.CheckNamespace(f.Namespace))
	} else if !f.Subtree {
		p.Add("namespace", "is missing")
	}
	p.Tags(f.Tags)
	f.Tags = core.NormalTags(f.Tags)
	p.Word("agent_id", f.AgentID)
	for _, state := range f.States {
		if !slices.Contains(core.MemoryStates(), state) {
			p.Add("states", "has %q, not one of %s", bounds.Shorten(string(state)), bounds.Words(core.MemoryStates()))
		}
	}
	p.Kinds(f.Kinds)
	if f.Limit < 0 || f.Limit > MaxListLimit {
		p.Add("limit", "is %d, not from 0 to %d", f.Limit, MaxListLimit)
	}
	if _, _, ok := f.after(); !ok {
		p.Add("after", "isn't the next of an earlier page")
	}
	return p.Err()
}

// cursor encodes the position after a memory, for the next page.
func cursor(namespace string, at []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(append([]byte(namespace), 0), at...))
}

// after is where the page begins: after a position in a namespace.
func (f *ListFilter) after() (namespace string, at []byte, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(f.After)
	if err != nil || f.After == "" {
		return "", nil, err == nil
	}
	before, at, found := bytes.Cut(data, []byte{0})
	return string(before), at, found && bounds.ValidID(record.PlaceID(at)) && f.inScope(string(before))
}

// inScope reports whether the filter selects a namespace.
func (f *ListFilter) inScope(namespace string) bool {
	if !f.Subtree {
		return namespace == f.Namespace
	}
	return f.Namespace == "" || namespace == f.Namespace || strings.HasPrefix(namespace, f.Namespace+"/")
}

// page reads a page, namespace by namespace.
func (f *ListFilter) page(ctx context.Context, r core.Reader) (*Page, error) {
	p := &pager{filter: f, page: &Page{Memories: []*core.Memory{}}, limit: f.Limit}
	if p.limit == 0 {
		p.limit = DefaultListLimit
	}
	namespace, at, _ := f.after()
	if namespace != "" {
		if done, err := p.read(r, namespace, at); done || err != nil {
			return p.page, err
		}
	}
	if !f.Subtree {
		if namespace == "" {
			_, err := p.read(r, f.Namespace, nil)
			return p.page, err
		}
		return p.page, nil
	}
	for {
		next, err := nextNamespace(r, f.Namespace, namespace)
		if err != nil || next == "" {
			return p.page, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		namespace = next
		if done, err := p.read(r, namespace, nil); done || err != nil {
			return p.page, err
		}
	}
}

// nextNamespace returns the next namespace that holds memories: among root and the
// namespaces below it, or among all if root is "". after is "" for the first, and the
// result is "" after the last.
func nextNamespace(r core.Reader, root, after string) (next string, err error) {
	if root != "" && after == "" {
		return root, nil
	}
	from, to := []byte(record.CountPrefix), core.PrefixEnd([]byte(record.CountPrefix))
	if root != "" {
		from = record.CountKey(root + "/")
		to = core.PrefixEnd(from)
	}
	if after != "" && after != root {
		from = append(record.CountKey(after), 0)
	}
	err = r.Scan(from, to, func(key, _ []byte) (bool, error) {
		next = string(key[len(record.CountPrefix):])
		return false, nil
	})
	return next, err
}

// pager collects a page.
type pager struct {
	filter   *ListFilter
	page     *Page
	limit    int
	examined int
}

// read adds the memories of a namespace after a position, and reports whether the page is
// complete.
func (p *pager) read(r core.Reader, namespace string, after []byte) (done bool, err error) {
	start := p.filter.index(namespace)
	from := start
	if after != nil {
		from = append(append(slices.Clone(start), after...), 0)
	}
	err = r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
		at := key[len(start):]
		m, err := readIndexed(r, record.PlaceID(at), key)
		if err != nil {
			return false, err
		}
		fits := p.filter.fits(m)
		if fits && p.filter.Current {
			by, err := relatedBy(r, m.ID, core.RelationSupersedes, superseder)
			if err != nil {
				return false, err
			}
			fits = len(by) == 0 && m.State.Recallable()
		}
		if fits {
			p.page.Memories = append(p.page.Memories, m)
		}
		p.examined++
		if done = len(p.page.Memories) == p.limit || p.examined == maxExamined; done {
			p.page.Next = cursor(namespace, at)
		}
		return !done, nil
	})
	return done, err
}

// index is the part of an index with the fewest memories to read.
func (f *ListFilter) index(namespace string) []byte {
	switch {
	case len(f.Tags) > 0:
		return record.IndexStart(record.TagPrefix, namespace, f.Tags[0])
	case f.AgentID != "":
		return record.IndexStart(record.AgentPrefix, namespace, f.AgentID)
	case len(f.States) == 1:
		return record.IndexStart(record.StatePrefix, namespace, string(f.States[0]))
	case len(f.Kinds) == 1:
		return record.IndexStart(record.KindPrefix, namespace, string(f.Kinds[0]))
	}
	return record.IndexStart(record.TimePrefix, namespace, "")
}

func (f *ListFilter) fits(m *core.Memory) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, m.Kind)) &&
		(len(f.States) == 0 || slices.Contains(f.States, m.State)) &&
		(f.AgentID == "" || f.AgentID == m.AgentID) && !m.CreatedAt.Before(f.Since) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(m.Tags, tag) })
}

// readIndexed reads the memory that an index key names.
func readIndexed(r core.Reader, id string, key []byte) (*core.Memory, error) {
	m, err := record.Read(r, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		return nil, record.Corrupt(id, string(key), "the index names a memory that isn't there").
			WithHint("rebuild the indices").WithAction("store check", "repair", true)
	}
	return m, err
}
