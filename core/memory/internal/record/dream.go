package record

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// What a dream pass leaves next to the memories: its run with the plan, which holds digests
// only; how each step ended; under each memory that a step changed, what undoes it, which
// holds content and is removed with the memory; and marks, which passes must not forget.

// The status of a run.
const (
	DreamPlanned   = "planned"   // nobody applied it
	DreamRunning   = "running"   // it is being applied, or that was interrupted
	DreamCompleted = "completed" // each step was applied or skipped
)

// DreamRun is a plan and its outcome.
type DreamRun struct {
	ID        string `json:"run_id"`
	Namespace string `json:"namespace"`
	// Agent is the agent whose memories it is about; "" is all.
	Agent  string `json:"agent,omitempty"`
	Mode   string `json:"mode"`
	Status string `json:"status"`
	// PlannedAt is when the plan was made, BeganAt when the run began, and CompletedAt when
	// it ended; nil before.
	PlannedAt   time.Time  `json:"planned_at"`
	BeganAt     *time.Time `json:"began_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	PlanDigest  string     `json:"plan_digest"`
	// Steps is how many steps the plan has.
	Steps  int          `json:"steps"`
	Plan   *dream.Plan  `json:"plan,omitempty"`
	Report *DreamReport `json:"report,omitempty"`
	// UndoExpired is whether it is too old to be undone.
	UndoExpired bool `json:"undo_expired,omitempty"`
}

// DreamReport is what a pass did.
type DreamReport struct {
	// RunID is "" for a pass that was skipped.
	RunID string `json:"run_id,omitempty"`
	Mode  string `json:"mode"`
	// Skipped is why there was no pass: too_soon, not_enough_new_records or
	// auto_dream_already_ran; "" if there was one.
	Skipped string `json:"skipped,omitempty"`
	// TotalScanned counts the memories that were looked at.
	TotalScanned     int64 `json:"total_scanned"`
	AbsolutizedDates int64 `json:"absolutized_dates"`
	Consolidated     int64 `json:"consolidated"`
	// MergeRefusals counts the pairs that look the same and weren't merged, by the class in
	// which they differ; never null.
	MergeRefusals     map[string]int64 `json:"merge_refusals"`
	ConflictsResolved int64            `json:"conflicts_resolved"`
	// ConflictsOpen counts the contradictions that are left to people.
	ConflictsOpen int64 `json:"conflicts_open"`
	Archived      int64 `json:"archived"`
	// ReportIngested counts the organization reports that were found in memories.
	ReportIngested int64 `json:"dream_report_ingested"`
	// StepsSkipped counts the steps whose memories changed since the plan.
	StepsSkipped   int64  `json:"steps_skipped"`
	DurationMillis int64  `json:"duration_ms"`
	PlanDigest     string `json:"plan_digest,omitempty"`
	GuardVersion   int64  `json:"guard_version"`
}

// The outcomes of a step.
const (
	StepApplied = "applied"
	StepChanged = "changed_since_plan"
	StepRefused = "not_allowed" // no pass may do it: the plan was edited
	StepUndone  = "undone"
)

// DreamStep is how a step of a run ended.
type DreamStep struct {
	N      int       `json:"n"`
	Status string    `json:"status"`
	At     time.Time `json:"at"`
}

// DreamUndo is what undoes a step of a run in one memory.
type DreamUndo struct {
	RunID string `json:"run_id"`
	Step  int    `json:"step"`
	// Before is the memory as the step found it.
	Before *core.Memory `json:"before"`
	// After is the digest of the memory as the step left it, and Signals are the signals.
	After   string       `json:"after"`
	Signals core.Signals `json:"signals"`
	// Accesses is how many accesses it took over, and Users what was noted of sessions whose
	// uses it took over: "-" for nothing.
	Accesses int64             `json:"accesses,omitempty"`
	Users    map[string]string `json:"users,omitempty"`
	// Salt keeps anybody from guessing the content from the record's digest.
	Salt string `json:"salt"`
}

func dreamKey(id string) []byte { return []byte(DreamPrefix + id) }

// DreamStart is where the index of a namespace's runs begins, the newest first.
func DreamStart(namespace string) []byte { return append([]byte(DreamNamespacePrefix+namespace), 0) }

// DreamIndexKey is the key of a run in the index of its namespace.
func DreamIndexKey(d *DreamRun) []byte {
	return append(DreamStart(d.Namespace), Place(d.PlannedAt, d.ID)...)
}

func dreamStepKey(run string, n int) []byte {
	return fmt.Appendf(nil, "%s%s/%08d", DreamStepPrefix, run, n)
}

func dreamUndoKey(memory, run string, n int) []byte {
	return fmt.Appendf(nil, "%s%s/%s/%08d", DreamUndoPrefix, memory, run, n)
}

func dreamMarkKey(memory string) []byte { return []byte(DreamMarkPrefix + memory) }

// PutDream writes a run.
func PutDream(t *Tx, d *DreamRun) error {
	value, err := jsontext.Encode(d)
	if err != nil {
		return err
	}
	if err := t.Write(d.Namespace, dreamKey(d.ID), value); err != nil {
		return err
	}
	return Dreams.Index(t, d.ID, nil, d)
}

// ReadDream returns a run. If there is none, the error is sdk.NotFound, reason
// "dream_run_not_found".
func ReadDream(r core.Reader, id string) (*DreamRun, error) {
	d, err := Dreams.Get(r, id)
	if err == nil && d == nil {
		err = DreamNotFound(id)
	}
	return d, err
}

// DreamNotFound is the error for an id that no run has.
func DreamNotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "dream_run_not_found", "there is no dream plan or run %q", bounds.Shorten(id)).
		WithHint("list the plans and runs of its namespace")
}

// DeleteDream removes a run with what its steps left.
func DeleteDream(t *Tx, d *DreamRun) error {
	if err := ExpireDream(t, d); err != nil {
		return err
	}
	if err := t.Erase(d.Namespace, dreamKey(d.ID)); err != nil {
		return err
	}
	return Dreams.Index(t, d.ID, d, nil)
}

// ExpireDream removes what would undo a run, and how its steps ended.
func ExpireDream(t *Tx, d *DreamRun) error {
	for i := range d.Plan.Steps {
		s := &d.Plan.Steps[i]
		for _, read := range s.Reads {
			if err := eraseIf(t, d.Namespace, dreamUndoKey(read.MemoryID, d.ID, s.N)); err != nil {
				return err
			}
		}
		if err := eraseIf(t, d.Namespace, dreamStepKey(d.ID, s.N)); err != nil {
			return err
		}
	}
	return nil
}

// eraseIf removes a record, if it is there.
func eraseIf(t *Tx, namespace string, key []byte) error {
	_, found, err := t.Get(key)
	if err != nil || !found {
		return err
	}
	return t.Erase(namespace, key)
}

// EachDream calls fn with the runs of a namespace, the newest first, until it returns false.
func EachDream(r core.Reader, namespace string, fn func(*DreamRun) (more bool, err error)) error {
	start := DreamStart(namespace)
	return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		d, err := ReadDream(r, PlaceID(key[len(start):]))
		if IsLost(err) {
			return true, nil // the check reports it
		}
		if err != nil {
			return false, err
		}
		return fn(d)
	})
}

// PutDreamStep writes how a step ended.
func PutDreamStep(t *Tx, d *DreamRun, s *DreamStep) error {
	s.At = t.Now().Round(0)
	return t.Write(d.Namespace, dreamStepKey(d.ID, s.N), jsontext.MustEncode(s))
}

// ReadDreamStep returns how a step ended; nil if it was never tried.
func ReadDreamStep(r core.Reader, run string, n int) (*DreamStep, error) {
	return readIf[DreamStep](r, dreamStepKey(run, n))
}

// DreamSteps returns how the steps of a run ended, in order.
func DreamSteps(r core.Reader, run string) (list []DreamStep, err error) {
	err = core.ScanPrefix(r, []byte(DreamStepPrefix+run+"/"), func(key, value []byte) (bool, error) {
		var s DreamStep
		if err := json.Unmarshal(value, &s); err != nil {
			return false, Damaged(string(key), err)
		}
		list = append(list, s)
		return true, nil
	})
	return list, err
}

// PutDreamUndo writes what undoes a step in a memory.
func PutDreamUndo(t *Tx, u *DreamUndo) error {
	if _, err := encode(u.Before); err != nil {
		return sdk.Wrap("encode memory "+u.Before.ID, err)
	}
	u.Salt = u.Before.Salt
	if u.Salt == "" {
		var err error
		if u.Salt, err = t.NewSalt(); err != nil {
			return err
		}
	}
	return t.Write(u.Before.Namespace, dreamUndoKey(u.Before.ID, u.RunID, u.Step), jsontext.MustEncode(u))
}

// ReadDreamUndo returns what undoes a step in a memory; nil if that is gone.
func ReadDreamUndo(r core.Reader, memory, run string, n int) (*DreamUndo, error) {
	u, err := readIf[DreamUndo](r, dreamUndoKey(memory, run, n))
	if u != nil && u.Before == nil {
		return nil, Damaged(string(dreamUndoKey(memory, run, n)), nil)
	}
	return u, err
}

// DeleteDreamUndo removes what undoes a step in a memory.
func DeleteDreamUndo(t *Tx, u *DreamUndo) error {
	return t.Erase(u.Before.Namespace, dreamUndoKey(u.Before.ID, u.RunID, u.Step))
}

// ReadMark returns what passes must not forget about a memory.
func ReadMark(r core.Reader, memory string) (dream.Mark, error) {
	m, err := readIf[dream.Mark](r, dreamMarkKey(memory))
	if m == nil {
		m = &dream.Mark{}
	}
	return *m, err
}

// KeepOpen prevents passes from archiving a memory before its next recall.
func KeepOpen(t *Tx, m *core.Memory) error {
	now := t.Now().Round(0)
	return ChangeMark(t, m.Namespace, m.ID, func(mark *dream.Mark) { mark.KeptAt = &now })
}

// ChangeMark changes what passes must not forget about a memory.
func ChangeMark(t *Tx, namespace, memory string, change func(*dream.Mark)) error {
	m, err := ReadMark(t, memory)
	if err != nil {
		return err
	}
	change(&m)
	return t.Write(namespace, dreamMarkKey(memory), jsontext.MustEncode(m))
}

// readIf reads a record; nil if there is none.
func readIf[R any](r core.Reader, key []byte) (*R, error) {
	value, found, err := r.Get(key)
	if err != nil || !found {
		return nil, err
	}
	var rec R
	if err := json.Unmarshal(value, &rec); err != nil {
		return nil, Damaged(string(key), err)
	}
	return &rec, nil
}

// LinkRefs are the links of a memory, as a digest has them.
func LinkRefs(r core.Reader, id string) (list []dream.LinkRef, err error) {
	from, err := LinksFrom(r, id, "", math.MaxInt)
	if err != nil {
		return nil, err
	}
	to, err := LinksTo(r, id, math.MaxInt)
	for _, l := range from {
		list = append(list, dream.LinkRef{Relation: l.Relation, Other: l.To})
	}
	for _, e := range to {
		list = append(list, dream.LinkRef{Relation: e.Relation, Other: e.From, In: true})
	}
	return list, err
}

// forgetDreams removes what dream passes kept of a memory that is purged.
func forgetDreams(t *Tx, m *core.Memory) error {
	if err := eraseIf(t, m.Namespace, dreamMarkKey(m.ID)); err != nil {
		return err
	}
	start := DreamUndoPrefix + m.ID + "/"
	keys, err := core.Suffixes(t, []byte(start), math.MaxInt)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.Erase(m.Namespace, []byte(start+key)); err != nil {
			return err
		}
	}
	return nil
}
