package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxPending bounds what waits in a namespace: more than that nobody reads.
	maxPending = 1000
	// maxReasonBytes bounds the reason of a rejection.
	maxReasonBytes = 1024
)

// The status of a reflection that isn't written.
const (
	StatusPending  = "pending"
	StatusRejected = "rejected"
)

// Pending is a reflection that waits for an approval.
type Pending struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	AgentID   string `json:"agent_id"`
	// Depth is what its sources made it when it was asked for, Above the depth
	// above which an approval is needed.
	Depth     int                  `json:"depth"`
	Above     int                  `json:"above"`
	CreatedAt time.Time            `json:"created_at"`
	Request   *core.ReflectRequest `json:"request"`

	// salt keys the digests of its content in events.
	salt string
}

// pendingRecord is a pending reflection as it is stored.
type pendingRecord struct {
	*Pending
	Salt string `json:"salt"`
}

// putPending writes a pending reflection, and gives it its salt.
func putPending(t *tx, p *Pending) (err error) {
	if p.salt, err = t.newSalt(); err != nil {
		return err
	}
	value, err := core.EncodeJSON(pendingRecord{p, p.salt})
	if err != nil {
		return err
	}
	return t.write(p.Namespace, pendingKey(p.ID), value)
}

func pendingKey(id string) []byte { return []byte(pendingPrefix + id) }

func pendingStart(namespace string) []byte {
	return append([]byte(pendingNamespacePrefix+namespace), 0)
}

// pendingKeys are the keys of a pending reflection's indices.
func pendingKeys(p *Pending) [][]byte {
	keys := [][]byte{append(pendingStart(p.Namespace), p.ID...)}
	for _, source := range p.Request.SourceIDs {
		keys = append(keys, []byte(pendingSourcePrefix+source+"/"+p.ID))
	}
	return keys
}

// postpone keeps a reflection until it is approved, in place of writing it.
func (a *attempt) postpone(above int) (*core.ReflectResult, error) {
	if err := a.checkPendingRoom(); err != nil {
		return nil, err
	}
	p := &Pending{
		ID: a.memory.ID, Namespace: a.memory.Namespace, AgentID: a.memory.AgentID, Depth: a.memory.ReflectionDepth,
		Above: above, CreatedAt: a.t.Now().Round(0), Request: a.draft.request,
	}
	if err := putPending(a.t, p); err != nil {
		return nil, err
	}
	for _, key := range pendingKeys(p) {
		if err := a.t.Put(key, nil); err != nil {
			return nil, err
		}
	}
	event := journal.ReflectionPending{
		PendingID: p.ID, AgentID: p.AgentID, Depth: p.Depth, Above: above,
		Title: keyed(p.salt, a.memory.Title), Content: keyed(p.salt, a.memory.Content), SourceIDs: p.Request.SourceIDs,
	}
	if err := a.t.record(p.Namespace, event); err != nil {
		return nil, err
	}
	result := &core.ReflectResult{Namespace: p.Namespace, Status: StatusPending, PendingID: p.ID}
	return result, writeOutcome(a.t, p.Request, result)
}

func (a *attempt) checkPendingRoom() error {
	waiting, err := core.Suffixes(a.t, pendingStart(a.memory.Namespace), maxPending)
	if err == nil && len(waiting) == maxPending {
		err = sdk.Errorf(sdk.Exhausted, "pending_full", "%d reflections wait for an approval in namespace %s already", maxPending, a.memory.Namespace).
			WithHint("list them, and approve or reject some").WithAction("memory pending", "namespace", a.memory.Namespace)
	}
	return err
}

// PendingFilter selects reflections that wait for an approval.
type PendingFilter struct {
	// Namespace is the one that they are in; "" is any that Reaches takes, which is nil
	// for all.
	Namespace string
	Reaches   func(namespace string) bool
	// After goes on after an id, and Limit is how many are returned: 0 is 1,000.
	After string
	Limit int
}

// Pending returns reflections that wait for an approval, in the order of their ids.
func (m *Memories) Pending(ctx context.Context, f PendingFilter) (list []*Pending, err error) {
	start := []byte(pendingPrefix)
	if f.Namespace != "" {
		if err := core.CheckNamespace(f.Namespace); err != nil {
			return nil, err
		}
		start = pendingStart(f.Namespace)
	}
	if f.Limit == 0 {
		f.Limit = maxPending
	}
	from := start
	if f.After != "" {
		from = append(append(bytes.Clone(start), f.After...), 0)
	}
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		list = nil
		return r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
			p, err := readPending(r, string(key[len(start):]))
			if err != nil {
				return false, err
			}
			if f.Reaches == nil || f.Reaches(p.Namespace) {
				list = append(list, p)
			}
			return len(list) < f.Limit, nil
		})
	})
	return list, err
}

// FindPending returns the pending reflection whose id is, or alone starts with,
// prefix, of at least [MinPrefix] characters.
func (m *Memories) FindPending(ctx context.Context, prefix string) (*Pending, error) {
	return find(ctx, m, prefix, lookup[Pending]{pendingPrefix, "pending_not_found", sdk.NewAction("memory pending"), readPending})
}

// PendingNotFound is the refusal of an id that nothing waits with: sdk.NotFound, reason
// "pending_not_found".
func PendingNotFound(id string) error { return pendingNotFound(id) }

func pendingNotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "pending_not_found", "no reflection %q waits for an approval", cut(id)).
		WithHint("list them").WithAction("memory pending").WithDetail("pending_id", cut(id))
}

func readPending(r core.Reader, id string) (*Pending, error) {
	key := pendingKey(id)
	value, found, err := r.Get(key)
	if err == nil && !found {
		err = pendingNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	p := pendingRecord{Pending: &Pending{}}
	if err := json.Unmarshal(value, &p); err != nil {
		return nil, damaged(string(key), err)
	}
	p.salt = p.Salt
	if p.Request == nil {
		return nil, damaged(string(key), sdk.Errorf(sdk.Internal, damageReason, "it holds no request"))
	}
	return p.Pending, nil
}

// Approve writes a pending reflection, named as for [Memories.FindPending], which the
// caller approves. Every step of [Memories.Reflect] runs again, so it may be
// refused, and then it stays pending: an approval never lifts the cap.
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

// Reject gives up a pending reflection, named as for [Memories.FindPending], for a
// reason, of which a digest is kept.
func (m *Memories) Reject(ctx context.Context, id, reason string) (*Pending, error) {
	var check problems
	check.over("reason", len(reason), maxReasonBytes, "bytes")
	if err := check.err(); err != nil {
		return nil, err
	}
	p, err := m.FindPending(ctx, id)
	if err != nil {
		return nil, err
	}
	event := journal.ReflectionRejected{Cause: StatusRejected}
	if reason != "" {
		event.Reason = keyed(p.salt, reason)
	}
	return p, m.update(ctx, func(t *tx) error {
		if _, err := readPending(t, p.ID); err != nil {
			return err
		}
		event.AgentID = t.Caller().Label
		return giveUp(t, p, event)
	})
}

// giveUp removes a pending reflection that isn't written, with its event.
func giveUp(t *tx, p *Pending, event journal.ReflectionRejected) error {
	if err := deletePending(t, p); err != nil {
		return err
	}
	event.PendingID = p.ID
	if err := t.record(p.Namespace, event); err != nil {
		return err
	}
	return writeOutcome(t, p.Request, &core.ReflectResult{Namespace: p.Namespace, Status: StatusRejected, PendingID: p.ID})
}

func deletePending(t *tx, p *Pending) error {
	if err := t.erase(p.Namespace, pendingKey(p.ID)); err != nil {
		return err
	}
	for _, key := range pendingKeys(p) {
		if err := t.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// dropPending gives up the reflections on a memory that is purged: they hold
// what was made of it, and could never be approved.
func dropPending(t *tx, source string) error {
	ids, err := core.Suffixes(t, []byte(pendingSourcePrefix+source+"/"), math.MaxInt)
	if err != nil {
		return err
	}
	for _, id := range ids {
		p, err := readPending(t, id)
		if err != nil {
			return err
		}
		if err := giveUp(t, p, journal.ReflectionRejected{Cause: "source_purged"}); err != nil {
			return err
		}
	}
	return nil
}
