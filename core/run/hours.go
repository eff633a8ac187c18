package run

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The ends of runs are counted by the hour in which the runs began, for each namespace and
// workflow, so that figures over many runs don't need to read each run. A run is counted in
// the commit of its end, and a resume or a pruning takes it out again. So the counts always
// cover exactly the existing runs whose records are marked as counted. A count is split
// into parts by the runs' ids, so that runs that end at the same time rarely write the same
// key.

const (
	hourPrefix = "run-hour/"
	// hourParts is how many parts a count has. With more parts, each part would count only a
	// few runs.
	hourParts = 4
	// maxPasses is the highest number of attempts that is counted separately.
	maxPasses = 64
)

// Counts is how some runs ended. Cancelled and running runs aren't counted. Under the name
// [core.AgentTurns] it is how turns ended that no run began: with success, partial success and failure.
type Counts struct {
	Passed int64 `json:"passed"`
	// Exhausted counts runs with the status exhausted or raised, and Failed the runs that
	// ended with an error.
	Exhausted int64 `json:"exhausted"`
	Failed    int64 `json:"failed"`
	// PassedBy counts the passed runs by their number of attempts: the first number is for one
	// attempt, and the last, the 64th, for 64 or more.
	PassedBy []int64 `json:"passed_by"`
	// Attempts is the total number of attempts of the runs that passed.
	Attempts int64 `json:"attempts"`
	// Tokens and CostNanos are what all of them used. CostNanos is in billionths of a US
	// dollar, a whole number, so that sums don't depend on their order.
	Tokens    int64 `json:"tokens"`
	CostNanos int64 `json:"cost_nanos"`
	// Recalled is how many memories their turns recalled, and Used how many of them were
	// used.
	Recalled int64 `json:"recalled,omitempty"`
	Used     int64 `json:"used,omitempty"`
}

// Ended is how many runs were counted.
func (c *Counts) Ended() int64 { return c.Passed + c.Exhausted + c.Failed }

// First is how many of them passed at their first attempt.
func (c *Counts) First() int64 {
	if len(c.PassedBy) == 0 {
		return 0
	}
	return c.PassedBy[0]
}

// Add adds other counts.
func (c *Counts) Add(o *Counts) { c.add(o, 1) }

// add adds other counts, or, if sign is -1, takes them away.
func (c *Counts) add(o *Counts, sign int64) {
	c.Passed, c.Exhausted, c.Failed = c.Passed+sign*o.Passed, c.Exhausted+sign*o.Exhausted, c.Failed+sign*o.Failed
	c.Attempts, c.Tokens, c.CostNanos = c.Attempts+sign*o.Attempts, c.Tokens+sign*o.Tokens, c.CostNanos+sign*o.CostNanos
	c.Recalled, c.Used = c.Recalled+sign*o.Recalled, c.Used+sign*o.Used
	for len(c.PassedBy) < len(o.PassedBy) {
		c.PassedBy = append(c.PassedBy, 0)
	}
	for i, n := range o.PassedBy {
		c.PassedBy[i] += sign * n
	}
	for n := len(c.PassedBy); n > 0 && c.PassedBy[n-1] == 0; n-- {
		c.PassedBy = c.PassedBy[:n-1]
	}
	if len(c.PassedBy) == 0 {
		c.PassedBy = nil // as in counts without passed runs, so that both have the same bytes
	}
}

// HourCounts are the counts of the runs of a workflow in a namespace that began in an hour.
type HourCounts struct {
	// Hour is its beginning, in UTC.
	Hour      time.Time
	Namespace string
	Workflow  string
	Counts
}

// Hours calls fn with the counts of the hours from one time to another, the newest first,
// for the namespaces for which in is true. The counts of an hour may come in several parts.
func (s *Repository) Hours(ctx context.Context, since, until time.Time, in func(namespace string) bool, fn func(*HourCounts)) error {
	return s.store.View(ctx, func(r core.Reader) error {
		return r.Scan(hoursKey(hourOf(until)), hoursKey(hourOf(since)-1), func(key, value []byte) (bool, error) {
			var record hourRecord
			if err := decodeHour(key, value, &record); err != nil {
				return false, err
			}
			if in(record.Namespace) {
				fn(&HourCounts{time.Unix(0, hourIn(key)).UTC(), record.Namespace, record.Workflow, record.Counts})
			}
			return true, ctx.Err()
		})
	})
}

// hourRecord is a part of a count.
type hourRecord struct {
	Namespace string `json:"namespace,omitempty"`
	Workflow  string `json:"workflow"`
	Counts
}

// decodeHour reads a part of a count.
func decodeHour(key, value []byte, record *hourRecord) error {
	if codec.Decode(value, record) != nil {
		return sdk.Errorf(sdk.Internal, "record_corrupt", "record %s: the count of an hour can't be decoded", DescribeKey(key)).
			WithHint("count again").WithAction("store check", "repair", true).WithDetail("key", DescribeKey(key))
	}
	return nil
}

// hourOf is the hour of a time: its beginning in Unix nanoseconds.
func hourOf(t time.Time) int64 {
	nanos := t.UnixNano()
	over := nanos % int64(time.Hour)
	if over < 0 {
		over += int64(time.Hour)
	}
	return nanos - over
}

// hoursKey is the beginning of the keys of an hour. Like the index by time it has the
// complement, so that the newest hour is first.
func hoursKey(hour int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(hourPrefix), ^uint64(hour))
}

// hourIn is the hour in a key of hoursKey, or the start of a run in a key of timeKey.
func hourIn(key []byte) int64 {
	_, rest, _ := bytes.Cut(key, []byte("/"))
	if len(rest) < 8 {
		return 0
	}
	return int64(^binary.BigEndian.Uint64(rest))
}

// hourKey is the key of the part that counts a run.
func hourKey(r *runRecord) []byte { return partKey(r.StartedAt, r.Namespace, r.Workflow, r.ID) }

// partKey is the key of the part that counts what has an id. The names of a workflow and a
// namespace may have any length, so the key has their digest.
func partKey(at time.Time, namespace, workflow, id string) []byte {
	names := sha256.Sum256(jsontext.MustEncode([]string{namespace, workflow}))
	part := fnv.New32a()
	_, _ = part.Write([]byte(id)) // never fails
	return append(append(hoursKey(hourOf(at)), names[:]...), byte(part.Sum32()%hourParts))
}

// countsOf is what a run that has ended adds to the counts; nil if it isn't counted.
func countsOf(r *runRecord) *Counts {
	if r.Parent != "" {
		return nil
	}
	c := &Counts{Tokens: r.Usage.TokensIn + r.Usage.TokensOut, CostNanos: int64(r.Usage.CostUSD*1e9 + 0.5), Recalled: r.Recalled, Used: r.Used}
	switch r.Status {
	case core.StatusPassed:
		c.Passed, c.Attempts = 1, int64(max(r.Iterations, 1))
		c.PassedBy = make([]int64, min(max(r.Iterations, 1), maxPasses))
		c.PassedBy[len(c.PassedBy)-1] = 1
	case core.StatusExhausted, core.StatusRaised:
		c.Exhausted = 1
	case core.StatusError:
		c.Failed = 1
	default:
		return nil
	}
	return c
}

// countEnd counts a run that ends.
func countEnd(tx core.Tx, r *runRecord) error {
	c := countsOf(r)
	if r.Counted = c != nil; !r.Counted {
		return nil
	}
	return changeHour(tx, hourKey(r), r.Namespace, r.Workflow, c, 1)
}

// uncount takes a run out of the counts, if it is in them.
func uncount(tx core.Tx, r *runRecord) error {
	if !r.Counted {
		return nil
	}
	r.Counted = false
	return changeHour(tx, hourKey(r), r.Namespace, r.Workflow, countsOf(r), -1)
}

func changeHour(tx core.Tx, key []byte, namespace, workflow string, c *Counts, sign int64) error {
	record := hourRecord{Namespace: namespace, Workflow: workflow}
	value, found, err := tx.Get(key)
	if err != nil {
		return err
	}
	if found && decodeHour(key, value, &record) != nil { // a damaged count doesn't keep a run from ending
		record = hourRecord{Namespace: namespace, Workflow: workflow}
	}
	record.add(c, sign)
	return putHour(tx, key, &record)
}

// putHour writes a part of a count. A part that counts no run has no key.
func putHour(tx core.Tx, key []byte, record *hourRecord) error {
	if record.Ended() == 0 {
		return tx.Delete(key)
	}
	return tx.Put(key, jsontext.MustEncode(record))
}

// EndedTurn is a turn of an agent that had its feedback. It has the fields of memory.EndedTurn.
type EndedTurn struct {
	Session       string
	Namespace     string
	At            time.Time
	Outcome       core.Outcome
	Offered, Used int64
}

// counts is what the turn adds to the counts.
func (t *EndedTurn) counts() *Counts {
	c := &Counts{Recalled: t.Offered, Used: t.Used}
	switch t.Outcome {
	case core.OutcomeSuccess:
		c.Passed = 1
	case core.OutcomePartial:
		c.Exhausted = 1
	default:
		c.Failed = 1
	}
	return c
}

// key is the key of the part that counts the turn.
func (t *EndedTurn) key() []byte { return partKey(t.At, t.Namespace, core.AgentTurns, t.Session) }

// CountTurn counts a turn, in the commit of its feedback. before is the turn after an earlier
// feedback, which is taken out of the counts; nil if there was none.
func CountTurn(tx core.Tx, now, before *EndedTurn) error {
	if before != nil {
		if err := changeHour(tx, before.key(), before.Namespace, core.AgentTurns, before.counts(), -1); err != nil {
			return err
		}
	}
	return changeHour(tx, now.key(), now.Namespace, core.AgentTurns, now.counts(), 1)
}

// countedTurns computes the parts of all hours from the turns, by key.
func countedTurns(r core.Reader, each EachTurn) (map[string]*hourRecord, error) {
	parts := map[string]*hourRecord{}
	if each == nil {
		return parts, nil
	}
	return parts, each(r, func(t *EndedTurn) error {
		at := string(t.key())
		if parts[at] == nil {
			parts[at] = &hourRecord{Namespace: t.Namespace, Workflow: core.AgentTurns}
		}
		parts[at].add(t.counts(), 1)
		return nil
	})
}

// EachTurn calls fn with each turn of an agent that had its feedback.
type EachTurn func(r core.Reader, fn func(*EndedTurn) error) error

// counted computes the parts of an hour from the records of its runs, by key.
func counted(ctx context.Context, r core.Reader, hour int64) (map[string]*hourRecord, error) {
	parts := map[string]*hourRecord{}
	from := binary.BigEndian.AppendUint64([]byte(timePrefix), ^uint64(hour+int64(time.Hour)-1))
	to := binary.BigEndian.AppendUint64([]byte(timePrefix), ^uint64(hour-1))
	return parts, r.Scan(from, to, func(key, _ []byte) (bool, error) {
		record, err := readRecord(r, timeID(key))
		if err != nil { // the run's own check reports it
			return true, cmp.Or(ctx.Err(), unlessReported(err))
		}
		if !record.Counted || countsOf(record) == nil || !bytes.Equal(key, timeKey(record.StartedAt, record.ID)) {
			return true, ctx.Err()
		}
		at := string(hourKey(record))
		if parts[at] == nil {
			parts[at] = &hourRecord{Namespace: record.Namespace, Workflow: record.Workflow}
		}
		parts[at].add(countsOf(record), 1)
		return true, ctx.Err()
	})
}

// eachHour calls fn with each hour in which a run began, or that has counts, the newest first.
func eachHour(ctx context.Context, r core.Reader, fn func(hour int64) error) error {
	for from := []byte{}; ; {
		hours := []int64{}
		for _, prefix := range []string{timePrefix, hourPrefix} {
			err := r.Scan(append([]byte(prefix), from...), core.PrefixEnd([]byte(prefix)), func(key, _ []byte) (bool, error) {
				hours = append(hours, hourOf(time.Unix(0, hourIn(key))))
				return false, ctx.Err()
			})
			if err != nil {
				return err
			}
		}
		if len(hours) == 0 {
			return ctx.Err()
		}
		// The newest hour is the first in the order of the keys, which contain the hour's
		// complement. The comparison is unsigned, as in the keys, even for times before 1970.
		hour := slices.MaxFunc(hours, func(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) })
		if err := fn(hour); err != nil {
			return err
		}
		from = binary.BigEndian.AppendUint64(nil, ^uint64(hour-1))
	}
}
