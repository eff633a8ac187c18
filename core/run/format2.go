package run

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// TakeOut removes the texts of memories from the stored result of a visit that contains
// them, as in stores of format 1. It is the runs' part of the migration to format 2, and
// leaves damaged results to the check. purged reports whether a memory was purged.
func TakeOut(tx core.Tx, key, value []byte, purged func(r core.Reader, memoryID string) (bool, error)) error {
	id, number, _ := strings.Cut(strings.TrimPrefix(string(key), visitPrefix), "/")
	var v visitRecord
	if json.Unmarshal(value, &v) != nil || len(number) != 4 || !validID(id) {
		return nil
	}
	if err := putTexts(tx, id, &v, purged); err != nil || len(v.Memories) == 0 {
		return err
	}
	if err := put(tx, key, v); err != nil {
		return err
	}
	record, err := readRecord(tx, id)
	if err != nil || record.Memories {
		return nil
	}
	record.Memories = true
	return put(tx, runKey(id), record)
}
