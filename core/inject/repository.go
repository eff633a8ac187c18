package inject

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Repository stores snapshots. It is safe for concurrent use.
type Repository struct {
	// Writer changes the store and the journal. Required.
	Writer *journal.Writer
	// IDs makes the ids of snapshots. Required.
	IDs core.IDs
	// Purged reports whether a memory was purged; nil means that no memory was purged.
	Purged func(r core.Reader, memoryID string) (bool, error)
	// Sessions knows the texts of sessions; nil means that no block has such a text.
	Sessions SessionTexts
}

// NotFound is the error for a snapshot that doesn't exist.
func NotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "snapshot_not_found", "there is no snapshot %s", core.Cut(id)).WithDetail("id", core.Cut(id))
}

// add stores a new snapshot, unless its turn has one: then it returns the existing
// snapshot. It sets the snapshot's id and time.
func (p *Repository) add(ctx context.Context, s *Snapshot, in *Input) (stored *Snapshot, duplicate bool, err error) {
	s.SnapshotID = p.IDs.NewID()
	err = p.Writer.Update(ctx, func(tx *journal.Tx) error {
		before, err := ofTurn(tx, s.SessionID, s.TurnID)
		if err != nil {
			return err
		}
		if stored, duplicate = before, before != nil; duplicate {
			return nil
		}
		if err := p.fresh(tx, in); err != nil {
			return err
		}
		s.CreatedAt = tx.Now().UTC().Round(0)
		stored = s
		return newRecord(s, in).write(tx, in, s.BlocksUsed, p.Purged)
	})
	return stored, duplicate, err
}

// Get returns a snapshot with its payloads; the payloads of purged memories are
// [PurgedPayload]. If there is none, the error is sdk.NotFound, reason
// "snapshot_not_found".
func (p *Repository) Get(ctx context.Context, id string) (s *Snapshot, err error) {
	err = p.Writer.Store.View(ctx, func(r core.Reader) error {
		s, err = get(r, id)
		return err
	})
	return s, err
}

// Find is Get by the beginning of an id, of at least 8 characters.
func (p *Repository) Find(ctx context.Context, prefix string) (s *Snapshot, err error) {
	if len(prefix) < 8 || strings.Contains(prefix, "/") {
		return p.Get(ctx, prefix)
	}
	err = p.Writer.Store.View(ctx, func(r core.Reader) error {
		ids, err := core.Suffixes(r, snapshotKey(prefix), 2)
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			return NotFound(prefix)
		case len(ids) > 1:
			return sdk.Errorf(sdk.Invalid, "id_ambiguous", "several snapshots begin with %s", prefix).WithHint("write more of the id")
		}
		s, err = get(r, prefix+ids[0])
		return err
	})
	return s, err
}

// OfTurn returns the snapshot of a turn, as Get does; nil if the turn has none.
func (p *Repository) OfTurn(ctx context.Context, session string, turn int64) (s *Snapshot, err error) {
	err = p.Writer.Store.View(ctx, func(r core.Reader) error {
		s, err = ofTurn(r, session, turn)
		return err
	})
	return s, err
}

// Before returns the session's snapshot before a turn; nil if there is none.
func (p *Repository) Before(ctx context.Context, session string, turn int64) (s *Snapshot, err error) {
	err = p.Writer.Store.View(ctx, func(r core.Reader) error {
		id := ""
		err := r.Scan(sessionTurns(session), turnKey(session, turn), func(_, value []byte) (bool, error) {
			id = string(value) // a reader only goes forward, so the last one counts
			return true, nil
		})
		if err != nil || id == "" {
			s = nil
			return err
		}
		s, err = get(r, id)
		return err
	})
	return s, err
}

// Filter selects snapshots: of a session, the earliest turn first, or of a
// namespace, the newest first.
type Filter struct {
	Namespace, Session string
	// Of selects among these; nil selects all.
	Of func(*Snapshot) bool
	// After is where a list continues: [Listed.Next] of the previous part. Limit is
	// required.
	After string
	Limit int
}

// Listed is a part of a list, without payloads.
type Listed struct {
	Snapshots []*Snapshot
	// Next continues the list; "" at its end.
	Next string
}

// List lists snapshots without their payloads.
func (p *Repository) List(ctx context.Context, f Filter) (*Listed, error) {
	prefix := namespaceTimes(f.Namespace)
	if f.Session != "" {
		prefix = sessionTurns(f.Session)
	}
	list := &Listed{Snapshots: []*Snapshot{}}
	err := p.Writer.Store.View(ctx, func(r core.Reader) error {
		list.Snapshots, list.Next = list.Snapshots[:0], ""
		from := append(bytes.Clone(prefix), f.After...)
		if f.After != "" {
			from = append(from, 0)
		}
		last := ""
		return r.Scan(from, core.PrefixEnd(prefix), func(key, value []byte) (bool, error) {
			if len(list.Snapshots) == f.Limit {
				list.Next = last
				return false, nil
			}
			id := timeID(key)
			if f.Session != "" {
				id = string(value)
			}
			rec, err := snapshots.Get(r, id)
			if err != nil || rec == nil {
				return err == nil, err // an index entry that leads nowhere is reported by a check
			}
			if f.Of == nil || f.Of(&rec.Snapshot) {
				list.Snapshots = append(list.Snapshots, &rec.Snapshot)
			}
			last = string(key[len(prefix):])
			return true, nil
		})
	})
	return list, err
}

// Forget implements [core.Forgetter]: it removes the payloads with the memory's text, and those
// with texts of sessions that may repeat it. It returns no runs, since snapshots aren't runs.
func (p *Repository) Forget(tx core.Tx, memoryID string) ([]string, error) {
	prefix := memoryKey(memoryID, "")
	digests, err := core.Suffixes(tx, prefix, int(^uint(0)>>1))
	for _, digest := range digests {
		if err = tx.Delete(memoryKey(memoryID, digest)); err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, p.forgetSessions(tx, memoryID)
}

var _ core.Forgetter = (*Repository)(nil)

// ofTurn returns nil for a turn without a snapshot.
func ofTurn(r core.Reader, session string, turn int64) (*Snapshot, error) {
	id, found, err := r.Get(turnKey(session, turn))
	if err != nil || !found {
		return nil, err
	}
	return get(r, string(id))
}

// get returns a snapshot with its payloads.
func get(r core.Reader, id string) (*Snapshot, error) {
	rec, err := snapshots.Get(r, id)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, NotFound(id)
	}
	for i := range rec.Snapshot.BlocksUsed {
		u := &rec.Snapshot.BlocksUsed[i]
		p, found, err := readPayload(r, rec.Snapshot.SessionID, u.MemoryID, u.PayloadDigest)
		if err != nil {
			return nil, err
		}
		if u.Payload = p.Payload; !found {
			u.Payload = PurgedPayload
		}
	}
	return &rec.Snapshot, nil
}

// sortByJSON puts candidates into an order that depends only on the candidates.
func sortByJSON(list []candidate) {
	texts := make(map[string]candidate, len(list))
	keys := make([]string, 0, len(list))
	for _, c := range list {
		text := string(jsontext.MustEncode(c))
		if _, twice := texts[text]; !twice {
			texts[text] = c
		}
		keys = append(keys, text)
	}
	slices.Sort(keys)
	for i, key := range keys {
		list[i] = texts[key]
	}
}
