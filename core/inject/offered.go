package inject

import "github.com/reflectory/reflectory/core"

// Offered returns which memories were in the prompt of a turn, whole or cut, by the turn's
// snapshot; found is false if it has none.
func Offered(r core.Reader, session string, turn int64) (snapshotID string, memoryIDs []string, found bool, err error) {
	id, found, err := r.Get(turnKey(session, turn))
	if err != nil || !found {
		return "", nil, false, err
	}
	rec, err := readRecord(r, string(id))
	if err != nil || rec == nil {
		return "", nil, false, err
	}
	for i := range rec.Snapshot.BlocksUsed {
		if id := rec.Snapshot.BlocksUsed[i].MemoryID; id != "" {
			memoryIDs = append(memoryIDs, id)
		}
	}
	return rec.Snapshot.SnapshotID, memoryIDs, true, nil
}
