package record

import (
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// The status of a reflection that has no memory yet, or never will.
const (
	StatusPending  = "pending"
	StatusRejected = "rejected"
)

// Pending is a reflection that waits for an approval.
type Pending struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	AgentID   string `json:"agent_id"`
	// Depth is the depth that its sources gave it when it was requested. Above is the
	// depth above which an approval is needed.
	Depth     int                  `json:"depth"`
	Above     int                  `json:"above"`
	CreatedAt time.Time            `json:"created_at"`
	Request   *core.ReflectRequest `json:"request"`

	// salt keys the digests of its content in events.
	salt string
}

// pendingRecord is the stored form of a pending reflection.
type pendingRecord struct {
	*Pending
	Salt string `json:"salt"`
}

// Keyed is the digest of a text of the reflection, keyed with its salt.
func (p *Pending) Keyed(text string) string { return Keyed(p.salt, text) }

// PutPending writes a pending reflection with its indices, and gives it its salt.
func PutPending(t *Tx, p *Pending) (err error) {
	if p.salt, err = t.NewSalt(); err != nil {
		return err
	}
	value, err := jsontext.Encode(pendingRecord{p, p.salt})
	if err != nil {
		return err
	}
	if err := t.Write(p.Namespace, pendingKey(p.ID), value); err != nil {
		return err
	}
	return Pendings.Index(t, p.ID, nil, p)
}

// PendingNotFound is the error for an id that no pending reflection has: sdk.NotFound,
// reason "pending_not_found".
func PendingNotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "pending_not_found", "no reflection %q waits for an approval", bounds.Shorten(id)).
		WithHint("list them").WithAction("memory pending").WithDetail("pending_id", bounds.Shorten(id))
}

// ReadPending returns a pending reflection, or [PendingNotFound].
func ReadPending(r core.Reader, id string) (*Pending, error) {
	p, err := Pendings.Get(r, id)
	if err == nil && p == nil {
		err = PendingNotFound(id)
	}
	return p, err
}

// GiveUp removes a pending reflection without writing its memory, and records the event.
func GiveUp(t *Tx, p *Pending, event journal.ReflectionRejected) error {
	if err := DeletePending(t, p); err != nil {
		return err
	}
	event.PendingID = p.ID
	if err := t.Record(p.Namespace, event); err != nil {
		return err
	}
	return WriteOutcome(t, p.Request, &core.ReflectResult{Namespace: p.Namespace, Status: StatusRejected, PendingID: p.ID})
}

// DeletePending removes a pending reflection with its indices. The caller writes the
// event.
func DeletePending(t *Tx, p *Pending) error {
	if err := t.Erase(p.Namespace, pendingKey(p.ID)); err != nil {
		return err
	}
	return Pendings.Index(t, p.ID, p, nil)
}

// dropPending removes the pending reflections on a memory that is purged: they contain
// text derived from it, and could never be approved.
func dropPending(t *Tx, source string) error {
	return Pendings.Forget(t, source, func(_ string, p *Pending) error {
		return GiveUp(t, p, journal.ReflectionRejected{Cause: "source_purged"})
	})
}
