package run

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

const part = "runs"

// runs are the runs without their content.
var runs = table.Kind[runRecord]{
	Part: part, Prefix: runPrefix, Show: DescribeKey,
	Valid: func(id string, r *runRecord) string {
		switch {
		case !validID(id):
			return "its key isn't the key of a run"
		case r.ID != id:
			return fmt.Sprintf("its own id is %q", r.ID)
		}
		return ""
	},
	// The newest run is first: the index has the complement of the start in Unix nanoseconds.
	Indices: []table.Index[runRecord]{table.ByNumber(timePrefix, func(r *runRecord) uint64 { return ^uint64(r.StartedAt.UnixNano()) })},
}

// What is apart from a run's record, by the run's id; for visits, attempts and prompts, numbers
// follow.
var (
	contents       = table.Kind[runContent]{Part: part, Prefix: contentPrefix, Show: DescribeKey}
	ends           = table.Kind[runResult]{Part: part, Prefix: resultPrefix, Show: DescribeKey}
	visitRecords   = table.Kind[visitRecord]{Part: part, Prefix: visitPrefix, Show: DescribeKey}
	attemptRecords = table.Kind[attemptRecord]{Part: part, Prefix: attemptPrefix, Show: DescribeKey}
	promptRecords  = table.Kind[[]promptRecord]{Part: part, Prefix: promptPrefix, Show: DescribeKey}
)

// holders are which host runs which run. A host takes over no run of a record that is dropped,
// unless it is asked.
var holders = table.Kind[heldRecord]{
	Part: part, Prefix: hostPrefix, Passing: true,
	Agrees: func(r core.Reader, id string, h *heldRecord) (string, error) {
		record, err := runs.Get(r, id)
		switch {
		case err != nil && !table.Corrupt(err):
			return "", err
		case record == nil, h.Host == "", record.Status != core.StatusRunning, h.Epoch != record.Epoch:
			return "no run is held like this", nil
		}
		return "", nil
	},
}
