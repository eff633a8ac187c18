package memory

import (
	"bytes"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// postpone stores a reflection as pending, instead of writing its memory.
func (a *reflectTx) postpone(above int) (*core.ReflectResult, error) {
	if err := a.checkPendingRoom(); err != nil {
		return nil, err
	}
	p := &Pending{
		ID: a.memory.ID, Namespace: a.memory.Namespace, AgentID: a.memory.AgentID, Depth: a.memory.ReflectionDepth,
		Above: above, CreatedAt: a.t.Now().Round(0), Request: a.draft.request,
	}
	if err := record.PutPending(a.t, p); err != nil {
		return nil, err
	}
	event := journal.ReflectionPending{
		PendingID: p.ID, AgentID: p.AgentID, Depth: p.Depth, Above: above,
		Title: p.Keyed(a.memory.Title), Content: p.Keyed(a.memory.Content), SourceIDs: p.Request.SourceIDs,
	}
	if err := a.t.Record(p.Namespace, event); err != nil {
		return nil, err
	}
	result := &core.ReflectResult{Namespace: p.Namespace, Status: StatusPending, PendingID: p.ID}
	return result, record.WriteOutcome(a.t, p.Request, result)
}

func (a *reflectTx) checkPendingRoom() error {
	waiting, err := core.Suffixes(a.t, record.PendingStart(a.memory.Namespace), maxPending)
	if err == nil && len(waiting) == maxPending {
		err = sdk.Errorf(sdk.Exhausted, "pending_full", "%d reflections already wait for an approval in namespace %s", maxPending, a.memory.Namespace).
			WithHint("list them, and approve or reject some").WithAction("memory pending", "namespace", a.memory.Namespace)
	}
	return err
}

// Pending is a reflection that waits for an approval.
type Pending = record.Pending

// The statuses of a reflection that has no memory yet, or will never have one.
const (
	StatusPending  = record.StatusPending
	StatusRejected = record.StatusRejected
)

// PendingFilter selects reflections that wait for an approval.
type PendingFilter struct {
	// Namespace selects the reflections of one namespace. "" selects every namespace that
	// Reaches allows; a nil Reaches allows all namespaces.
	Namespace string
	Reaches   func(namespace string) bool
	// Since leaves out what was requested before; the zero time selects all.
	Since time.Time
	// After continues after this id. Limit is how many are returned at most; 0 means
	// 1,000.
	After string
	Limit int
}

// Pending returns reflections that wait for an approval, in the order of their ids.
func (m *Memories) Pending(ctx context.Context, f PendingFilter) (list []*Pending, err error) {
	start := []byte(record.PendingPrefix)
	if f.Namespace != "" {
		if err := core.CheckNamespace(f.Namespace); err != nil {
			return nil, err
		}
		start = record.PendingStart(f.Namespace)
	}
	if f.Limit == 0 {
		f.Limit = maxPending
	}
	from := start
	if f.After != "" {
		from = append(append(bytes.Clone(start), f.After...), 0)
	}
	err = m.records.View(ctx, func(r core.Reader) error {
		list = nil
		return r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
			p, err := record.ReadPending(r, string(key[len(start):]))
			if err != nil {
				return false, err
			}
			if (f.Reaches == nil || f.Reaches(p.Namespace)) && !p.CreatedAt.Before(f.Since) {
				list = append(list, p)
			}
			return len(list) < f.Limit, nil
		})
	})
	return list, err
}

// FindPending returns the pending reflection whose id is prefix, or the only one whose id
// starts with prefix, which has at least [MinPrefix] characters.
func (m *Memories) FindPending(ctx context.Context, prefix string) (*Pending, error) {
	return find(ctx, m.base, prefix, lookup[Pending]{record.PendingPrefix, "pending_not_found", record.ReadPending})
}

// PendingNotFound is the error for an id that no pending reflection has: sdk.NotFound,
// reason "pending_not_found".
func PendingNotFound(id string) error { return record.PendingNotFound(id) }

// Approve writes a pending reflection, which id names as in [Memories.FindPending]. Every
// step of [Memories.Reflect] runs again, so it may be refused, and then it stays pending:
// an approval never raises the depth limit.
func (m *Memories) Approve(ctx context.Context, id string) (*core.ReflectResult, error) {
	p, err := m.FindPending(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := m.draft(p.Request)
	if err != nil {
		return nil, err
	}
	d.memory.Namespace, d.approved = p.Namespace, p
	return m.reflect(ctx, d)
}

// Reject drops a pending reflection, which id names as in [Memories.FindPending]. Only a
// digest of the reason is kept.
func (m *Memories) Reject(ctx context.Context, id, reason string) (*Pending, error) {
	var wrong bounds.Problems
	wrong.Over("reason", len(reason), maxReasonBytes, "bytes")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	p, err := m.FindPending(ctx, id)
	if err != nil {
		return nil, err
	}
	event := journal.ReflectionRejected{Cause: StatusRejected}
	if reason != "" {
		event.Reason = p.Keyed(reason)
	}
	return p, m.records.Update(ctx, func(t *record.Tx) error {
		if _, err := record.ReadPending(t, p.ID); err != nil {
			return err
		}
		event.AgentID = t.Caller().Label
		return record.GiveUp(t, p, event)
	})
}

const (
	// maxPending bounds the pending reflections of a namespace: people don't read more.
	maxPending = 1000
	// maxReasonBytes bounds the reason of a rejection.
	maxReasonBytes = 1024
)
