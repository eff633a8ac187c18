package reflection

import (
	"math"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
)

// What was observed is counted by sums that only rise, and a reflection notes how far they
// were when it began. So a completed reflection needn't subtract from a sum that others add
// to meanwhile, and a failed reflection needn't restore anything. Each sum follows from the
// events of its namespace, so it can be checked against them and made again from them.

const (
	countPrefix = "reflection-count/"
	statePrefix = "reflection-state/"
)

var (
	counts = table.Kind[count]{Part: "reflections", Prefix: countPrefix,
		Doc: "namespace | what was observed there: `{importance, observations, first_at}`; absent if nothing that counts was observed. `importance` is the sum of ten times each memory's importance, in whole thousandths"}
	states = table.Kind[State]{Part: "reflections", Prefix: statePrefix,
		Doc:    "namespace | the state of the namespace's reflections: `{from?, taken?: {importance, observations}, since?, seen?, at?, sources?, sources_at?, failures?, rest_until?, job_id?, queued_at?}`; `core/reflection` explains the fields",
		Strict: true, Agrees: disagrees}
)

// Sum is how much was observed.
type Sum struct {
	// Importance is the sum of ten times the importance, in whole thousandths: such a sum is
	// the same in any order.
	Importance   int64 `json:"importance"`
	Observations int64 `json:"observations"`
}

// minus is what came since an earlier sum.
func (s Sum) minus(earlier Sum) Sum {
	return Sum{max(0, s.Importance-earlier.Importance), max(0, s.Observations-earlier.Observations)}
}

// count is what was observed in a namespace.
type count struct {
	Sum
	// FirstAt is when the first observation was that counts.
	FirstAt time.Time `json:"first_at"`
}

// add counts a memory of a kind that counts.
func (c *count) add(importance float64, at time.Time) {
	if c.Observations == 0 {
		c.FirstAt = at.UTC().Round(0)
	}
	c.Observations++
	c.Importance += int64(math.Round(importance * 10_000))
}

// Kinds are the kinds of memories that count, and that are reflected on.
func Kinds() []core.MemoryKind {
	return []core.MemoryKind{core.KindObservation, core.KindSemantic, core.KindProcedural}
}

// Counts reports whether a memory counts: it must have been observed. A memory that follows
// from other memories doesn't count, and neither does a notification.
func Counts(m *core.Memory) bool { return m.ReflectionDepth == 0 && slices.Contains(Kinds(), m.Kind) }

// State is the state of a namespace's reflections.
type State struct {
	// From is the entry of the namespace's stream from which observations count; 0 is the
	// first. A namespace that is older than this counting has another.
	From uint64 `json:"from,omitempty"`
	// Taken is what was observed when the last completed reflection began, and Since when
	// that was: memories from then on are the next one's.
	Taken Sum        `json:"taken,omitzero"`
	Since *time.Time `json:"since,omitempty"`
	// Seen is how many observations there were when the last reflection began, which may have
	// been skipped, and At is when that reflection ended.
	Seen int64      `json:"seen,omitempty"`
	At   *time.Time `json:"at,omitempty"`
	// Sources is a digest of the memories of the last reflection, and SourcesAt is when that
	// ended.
	Sources   string     `json:"sources,omitempty"`
	SourcesAt *time.Time `json:"sources_at,omitempty"`
	// Failures counts the failures in a row. Until RestUntil, observations queue no
	// reflection.
	Failures  int        `json:"failures,omitempty"`
	RestUntil *time.Time `json:"rest_until,omitempty"`
	// JobID is the job that an observation queued last, and QueuedAt when.
	JobID    string     `json:"job_id,omitempty"`
	QueuedAt *time.Time `json:"queued_at,omitempty"`
}

// ReadState returns the state of a namespace's reflections.
func ReadState(r core.Reader, namespace string) (s State, err error) {
	found, err := states.Get(r, namespace)
	if found != nil {
		s = *found
	}
	return s, err
}

func putState(tx core.Tx, namespace string, s *State) error {
	return states.Put(tx, namespace, s)
}

// ReadSum returns how much was ever observed in a namespace.
func ReadSum(r core.Reader, namespace string) (Sum, error) {
	c, err := readCount(r, namespace)
	return c.Sum, err
}

func readCount(r core.Reader, namespace string) (c count, err error) {
	found, err := counts.Get(r, namespace)
	if found != nil {
		c = *found
	}
	return c, err
}

// countObserved counts memories of one namespace in the transaction that stores them, after
// their events. It returns what the namespace then counts, and whether anything changed.
func countObserved(tx *journal.Tx, namespace string, memories []*core.Memory) (c count, changed bool, err error) {
	var counting []*core.Memory
	for _, m := range memories {
		if Counts(m) {
			counting = append(counting, m)
		}
	}
	if len(counting) == 0 {
		return c, false, nil
	}
	known, err := counts.Get(tx, namespace)
	if err != nil {
		return c, false, err
	}
	if known != nil {
		c = *known
	} else if err := beginAt(tx, namespace, memories); err != nil {
		return c, false, err
	}
	for _, m := range counting {
		c.add(m.Importance, tx.Now())
	}
	return c, true, counts.Put(tx, namespace, &c)
}

// beginAt records the event from which a namespace counts, if it has older ones: there may
// be observations from before the counting.
func beginAt(tx *journal.Tx, namespace string, memories []*core.Memory) error {
	head, err := tx.Head(journal.NamespaceStream(namespace))
	if err != nil {
		return err
	}
	before := head.Seq - min(head.Seq, uint64(len(memories)))
	s, err := ReadState(tx, namespace)
	if err != nil || before == 0 {
		return err
	}
	s.From = before + 1
	return putState(tx, namespace, &s)
}
