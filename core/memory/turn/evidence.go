package turn

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Evidence records outcomes of tool calls for the gate, within the transaction of the
// feedback that brought them. All are about memories of one namespace.
type Evidence interface {
	RecordTools(tx *journal.Tx, namespace string, outcomes []core.ToolOutcome) (recorded int, err error)
	// Used notes whether a turn used a memory, for all outcomes of that turn.
	Used(tx *journal.Tx, namespace, memoryID string, turn core.TurnRef, used bool) error
}

// UsedIn reports whether a turn used a memory according to the turn's feedback, for
// packages that record evidence on it.
func (s *Turns) UsedIn(r core.Reader, memoryID string, turn core.TurnRef) (bool, error) {
	stored, err := readTurnRecord(r, turn.Session, turn.Turn)
	if err != nil || stored == nil || stored.Feedback == nil {
		return false, err
	}
	return slices.ContainsFunc(stored.Feedback.Items, func(item core.FeedbackItem) bool { return item.ID == memoryID && item.Used }), nil
}
