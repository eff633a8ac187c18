package memory

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Evidence keeps outcomes of tool calls for the gate, within the transaction of
// the feedback that brought them. All are of memories of one namespace.
type Evidence interface {
	RecordTools(tx *journal.Tx, namespace string, outcomes []core.ToolOutcome) (recorded int, err error)
	// Used notes whether a turn used a memory, for all outcomes of that turn.
	Used(tx *journal.Tx, namespace, memoryID string, turn core.TurnRef, used bool) error
}

// UsedIn reports whether the feedback of a turn said that it used a memory, for those
// who keep evidence on it.
func (m *Memories) UsedIn(r core.Reader, memoryID string, turn core.TurnRef) (bool, error) {
	record, err := readTurnRecord(r, turn.Session, turn.Turn)
	if err != nil || record == nil || record.Feedback == nil {
		return false, err
	}
	return slices.ContainsFunc(record.Feedback.Items, func(item core.FeedbackItem) bool { return item.ID == memoryID && item.Used }), nil
}

// Namespace is where a memory lives, for those who keep evidence on it. One that
// isn't there is sdk.NotFound, reason "memory_not_found", or "memory_purged".
func (m *Memories) Namespace(r core.Reader, memoryID string) (string, error) {
	memory, err := read(r, memoryID)
	if err != nil {
		return "", err
	}
	return memory.Namespace, nil
}
