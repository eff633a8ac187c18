package job

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
)

// part is whose data the problems are.
const part = "jobs"

// records are the jobs without their content, and what follows from them.
var records = table.Kind[record]{
	Part: part, Prefix: jobPrefix,
	Doc:  "id | the job without its content: `core/job` has its fields, of which `number`, `holder`, `epoch`, `crashes`, `wait`, `steps`, `step_bytes` and `forgot` aren't shown to callers; `forgot` is set if a purge removed a memory from it before its end; `wait` is how long `not_before` postponed it, in nanoseconds",
	Show: DescribeKey, Strict: true, Valid: invalid,
	Indices: []table.Index[record]{
		{Prefix: activePrefix, Doc: "user `/` type `/` namespace | the id of the job that waits or runs; not of workflow jobs", ID: table.InValue, Entries: func(id string, rec *record) []table.Entry {
			return only(!rec.Status.Terminal() && rec.Type.Queued(), activeKey(rec.UserID, rec.Type, rec.Namespace), []byte(id))
		}},
		{Prefix: requestPrefix,
			Doc: "digest | the id of the job that was queued with an idempotency key. The digest is the SHA-256, in hexadecimal, of user 00 type 00 namespace 00 key",
			ID:  table.InValue, Entries: func(id string, rec *record) []table.Entry {
				return only(rec.IdempotencyKey != "", requestKey(&rec.Job), []byte(id))
			}},
		{Prefix: runningPrefix, Doc: "holder `/` id | index of running jobs: empty", Entries: func(id string, rec *record) []table.Entry {
			return only(rec.Status == StatusRunning, runningKey(rec.Holder, id), nil)
		}},
		{Prefix: timePrefix, Doc: "^number(8) id | index of all jobs, the newest first: empty", ID: table.AfterNumber(timePrefix, 0), Entries: func(id string, rec *record) []table.Entry {
			return only(true, timeKey(rec.Number, id), nil)
		}},
		{Prefix: userPrefix, Doc: "user `/` ^number(8) id | index of a user's jobs, the newest first: empty", ID: afterWord(userPrefix), Entries: func(id string, rec *record) []table.Entry {
			return only(true, userKey(rec.UserID, rec.Number, id), nil)
		}},
		{Prefix: endPrefix, Doc: "time(8) id | index of ended jobs by the time of their end: empty", ID: table.AfterNumber(endPrefix, 0), Entries: func(id string, rec *record) []table.Entry {
			return only(rec.Status.Terminal(), endKey(rec.ended(), id), nil)
		}},
		{Prefix: tookPrefix,
			Doc: "type `/` ^time(8) id | the duration of a completed job's last attempt, in milliseconds, as decimal text",
			ID:  afterWord(tookPrefix), Entries: func(id string, rec *record) []table.Entry {
				return only(rec.Status == StatusCompleted, tookKey(rec.Type, rec.ended(), id), strconv.AppendInt(nil, rec.took().Milliseconds(), 10))
			}},
		{Prefix: memoryPrefix, Doc: "memory `/` id | the job holds content of the memory: empty", QuotesFrom: func(r core.Reader, id string, _ *record) ([]string, error) { return memoriesOf(r, id) }},
	},
	Sums: []table.Sum[record]{
		{Prefix: queuePrefix,
			Doc:   "queue | `{running?, jobs?}`: the job that runs, and those that wait, in the order of their numbers",
			Value: queueValue, Wrong: "it isn't the queue of its jobs, in their order", Of: func(_ string, rec *record) string {
				if rec.Status.Terminal() {
					return ""
				}
				return queueOf(&rec.Job)
			}},
		{Prefix: finishedPrefix, Doc: "user | how many ended jobs of the user are kept, as decimal text", Value: finishedValue, Wrong: "it isn't the count of ended jobs of the user", Of: func(_ string, rec *record) string {
			if rec.Status.Terminal() {
				return rec.UserID
			}
			return ""
		}},
	},
}

// What is apart from a job's record, by the job's id: its content, its result, and its steps,
// each with a slash and its name.
var (
	contents = table.Kind[content]{Part: part, Prefix: contentPrefix,
		Doc:    "id | what it started with: `{payload?, caller?, memories?}`; `memories` are those whose content is in the payload",
		Strict: true}
	results = table.Kind[result]{Part: part, Prefix: resultPrefix,
		Doc:    "id | what it ended with: `{result?, message?, failure?: {class, code, message, hint?, try?, details?}, memories?, quoted?}`; `quoted` are memories that only the message and the failure may quote. The key is absent while the job waits or runs, or if there is nothing to store",
		Strict: true}
	steps = table.Kind[step]{Part: part, Prefix: stepPrefix,
		Doc:    "id `/` name | a result that the job paid for: `{data, memories?}`; removed when the job ends",
		Strict: true}
)

// only is an index entry if there is one.
func only(is bool, key, value []byte) []table.Entry {
	if !is {
		return nil
	}
	return []table.Entry{{Key: key, Value: value}}
}

// afterWord is the id in a key whose prefix is followed by a word, a slash and a number, in which
// there may be another slash.
func afterWord(prefix string) func(key, value []byte) string {
	return func(key, _ []byte) string {
		word, _, _ := strings.Cut(string(key[len(prefix):]), "/")
		return afterNumber(key, prefix+word+"/")
	}
}

// invalid describes what is wrong with a job's record; "" if nothing is.
func invalid(id string, rec *record) string {
	switch {
	case !validID(id):
		return "its key isn't a job's"
	case rec.ID != id || !rec.wellFormed():
		return "it isn't as the program writes it"
	}
	return ""
}

// queueValue is a queue as its jobs make it. A damaged job is left out.
func queueValue(_ context.Context, k *table.Kind[record], r core.Reader, name string) ([]byte, error) {
	user, _, _ := strings.Cut(name, "/")
	var q queue
	var waiting []*record
	err := core.ScanPrefix(r, []byte(activePrefix+user+"/"), func(_, id []byte) (bool, error) {
		rec, err := k.Get(r, string(id))
		switch {
		case err != nil || rec == nil || queueOf(&rec.Job) != name:
		case rec.Status == StatusRunning:
			q.Running = rec.ID
		case rec.Status == StatusQueued:
			waiting = append(waiting, rec)
		}
		return true, unlessCorrupt(err)
	})
	slices.SortFunc(waiting, func(a, b *record) int { return cmp.Compare(a.Number, b.Number) })
	for _, rec := range waiting {
		q.Jobs = append(q.Jobs, rec.ID)
	}
	if err != nil || q.Running == "" && len(q.Jobs) == 0 {
		return nil, err
	}
	return jsontext.Encode(&q)
}

// finishedValue is how many ended jobs a user has, without damaged ones.
func finishedValue(_ context.Context, k *table.Kind[record], r core.Reader, user string) (value []byte, err error) {
	n, start := uint64(0), userPrefix+user+"/"
	err = core.ScanPrefix(r, []byte(start), func(key, _ []byte) (bool, error) {
		rec, err := k.Get(r, afterNumber(key, start))
		if err == nil && rec != nil && rec.Status.Terminal() {
			n++
		}
		return true, unlessCorrupt(err)
	})
	if n > 0 {
		value = strconv.AppendUint(nil, n, 10)
	}
	return value, err
}
