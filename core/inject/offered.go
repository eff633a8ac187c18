package inject

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Offered returns what events record about a turn's snapshot, and the memories that are in
// it; nil if the turn has no snapshot.
func Offered(r core.Reader, session string, turn int64) (info *journal.InjectionInfo, memoryIDs []string, err error) {
	id, found, err := r.Get(turnKey(session, turn))
	if err != nil || !found {
		return nil, nil, err
	}
	rec, err := snapshots.Get(r, string(id))
	if err != nil || rec == nil {
		return nil, nil, err
	}
	for i := range rec.Snapshot.BlocksUsed {
		if id := rec.Snapshot.BlocksUsed[i].MemoryID; id != "" {
			memoryIDs = append(memoryIDs, id)
		}
	}
	of := rec.Snapshot.info()
	return &of, memoryIDs, nil
}
