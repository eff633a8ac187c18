package run

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

const part = "runs"

// runs are the runs without their content.
var runs = table.Kind[runRecord]{
	Part: part, Prefix: runPrefix,
	Doc:  "id | the run without its content: `{id, workflow, namespace?, session?, parent?, file, status, stop_reason?, exhausted_loops?, score, iterations, started_at, updated_at, usage, recalled?, used?, counted?, epoch, visits, memories?, last?: {node, iteration, judged}, open?: usage}`; `counted` says whether the run is in `run-hour/`: a run isn't counted while it is running, nor if it was cancelled, ended before there were counts, or was called by a model of the run `parent`; `recalled` is how many memories its turns recalled and `used` how many of them were used, `memories` says whether a visit has memories, `open` is what the open loop had used when the run ended",
	Show: DescribeKey,
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
	Indices: []table.Index[runRecord]{table.ByNumber(timePrefix, "^start(8) `/` id | index: empty. ^start is the complement of the start in Unix nanoseconds, so the newest run is first", func(r *runRecord) uint64 { return ^uint64(r.StartedAt.UnixNano()) })},
}

// What is apart from a run's record, by the run's id; for visits, attempts and prompts, numbers
// follow.
var (
	contents = table.Kind[runContent]{Part: part, Prefix: contentPrefix, Doc: "id | what the run started with, never changed: `{source: {file, text, files?}, state}`", Show: DescribeKey}
	ends     = table.Kind[runResult]{Part: part, Prefix: resultPrefix,
		Doc:  "id | what the run ended with: `{error?, open?}`; absent while it runs. `open` is the unfinished visit at which the run ended, as in `visit/`, if the run can be resumed",
		Show: DescribeKey}
	visitRecords = table.Kind[visitRecord]{Part: part, Prefix: visitPrefix,
		Doc:  "id `/` visit(4) | a finished node: `{number, node, skipped?, result?, next?, refers?, used?, given?, memories?}`; `refers` are the recall nodes that its calls read, `used` the memories that plugins named, `given` those that models recalled. If the result is a memory, or has a list `memories`, then `memories` is `[{memory_id, digest?}]`: the digests of the texts, which the result holds as `[purged]`. A memory without a digest was purged before. The texts of a session in a snapshot are `[purged]` too: a reader of the visit takes them from `snapshot-session/`",
		Show: DescribeKey}
	attemptRecords = table.Kind[attemptRecord]{Part: part, Prefix: attemptPrefix, Doc: "id `/` visit(4) iteration(4) | an attempt and its node: `{node, attempt}`", Show: DescribeKey}
	promptRecords  = table.Kind[[]promptRecord]{Part: part, Prefix: promptPrefix,
		Doc:  "id `/` visit(4) iteration(4) | what the calls of an attempt, or of a visit (iteration 0), sent to language models: `[{role, step?, plugin, messages: [{role, bytes, digest?}], memories?, purged?, withheld?, texts?}]`, at most 64. `memories` are those that the run had received, and `texts` the SHA-256 of each message's text as it is kept. A purge of one of the memories removes the digests and texts. They aren't in a pruned run's file",
		Show: DescribeKey}
)

// holders are which host runs which run. A host takes over no run of a record that is dropped,
// unless it is asked.
var holders = table.Kind[heldRecord]{
	Part: part, Prefix: hostPrefix,
	Doc:     "id | which server runs a run: `{host, epoch, subject?, scopes?, namespaces?, label?, plugins?, job?, ends?}`: the epoch of the run, its caller, the digests of its plugins, whether a job runs it, and whether it ends if the server is gone. Removed when the run ends",
	Passing: true,
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
