package memory

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Evidence keeps outcomes of tool calls for the gate, within the transaction of
// the feedback that brought them. All are of memories of one namespace.
type Evidence interface {
	RecordTools(tx *journal.Tx, namespace string, outcomes []core.ToolOutcome) (recorded int, err error)
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
