package memory

import (
	"context"
	"reflect"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// DreamUndone is the result of an undo.
type DreamUndone struct {
	RunID string `json:"run_id"`
	// Undone are the numbers of the undone steps, the last first; never null.
	Undone []int `json:"undone"`
	// Refused are the steps that weren't undone; never null.
	Refused []DreamRefusal `json:"refused"`
}

// DreamRefusal is a step that wasn't undone.
type DreamRefusal struct {
	Step int `json:"step"`
	// Reason is changed_since_run, memory_purged, undo_expired, not_applied or
	// already_undone.
	Reason string `json:"reason"`
	// MemoryID is the memory that is the cause of the refusal.
	MemoryID string `json:"memory_id,omitempty"`
}

// The reasons why a step isn't undone.
const (
	changedSinceRun = "changed_since_run"
	memoryPurged    = "memory_purged"
	undoExpired     = "undo_expired"
	notApplied      = "not_applied"
	alreadyUndone   = "already_undone"
)

// Undo undoes one step of a run, or, for 0, all of its steps, the last first. Each
// undo is one commit, which restores texts, tags, counts, importance, links and the
// earlier state. A step whose memories have changed since is refused, and so are earlier
// steps that share a memory with it. The next pass doesn't repeat an undone step.
func (ds *Dreams) Undo(ctx context.Context, id string, step int) (result *DreamUndone, err error) {
	defer ds.follow(&ctx, work.Work{Kind: work.Update, Name: "undo"}, &err)()
	d, _, err := ds.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if step != 0 && d.Plan.Of(step) == nil {
		return nil, sdk.Errorf(sdk.NotFound, "dream_step_not_found", "dream run %s has no step %d", id, step).
			WithHint("see its steps").WithAction("dream show", "plan", id)
	}
	end, ok := ds.dreaming.begin(d.Namespace)
	if !ok {
		return nil, sdk.Errorf(sdk.Conflict, "dream_running", "a pass over namespace %s is under way", d.Namespace).WithHint("wait for it")
	}
	defer end()
	result = &DreamUndone{RunID: id, Undone: []int{}, Refused: []DreamRefusal{}}
	for i := range slices.Backward(d.Plan.Steps) {
		s := &d.Plan.Steps[i]
		if step != 0 && s.N != step {
			continue
		}
		refusal, err := ds.undoStep(ctx, d, s)
		switch {
		case err != nil:
			return result, sdk.Wrap("undo dream run "+id, err)
		case refusal == nil:
			result.Undone = append(result.Undone, s.N)
		case step != 0 || refusal.Reason != notApplied && refusal.Reason != alreadyUndone:
			result.Refused = append(result.Refused, *refusal)
		}
	}
	if len(result.Undone)+len(result.Refused) == 0 {
		return result, nil
	}
	err = ds.records.Update(ctx, func(t *record.Tx) error {
		return t.Record(d.Namespace, journal.DreamUndone{
			RunID: id, AgentID: t.Caller().Label, Undone: int64(len(result.Undone)), Refused: int64(len(result.Refused)),
		})
	})
	return result, err
}

// undoStep undoes one step, or returns the reason why not.
func (ds *Dreams) undoStep(ctx context.Context, d *DreamRun, s *dream.Step) (refusal *DreamRefusal, err error) {
	a := &dreamTx{m: ds, run: d, step: s}
	if s.Kind == dream.StepDates {
		if err := a.unwriting(ctx); err != nil {
			return nil, err
		}
	}
	err = ds.records.Update(ctx, func(t *record.Tx) error {
		refusal = nil
		done, err := record.ReadDreamStep(t, d.ID, s.N)
		switch {
		case err != nil:
			return err
		case d.UndoExpired:
			refusal = &DreamRefusal{Step: s.N, Reason: undoExpired}
		case done == nil || done.Status != record.StepApplied && done.Status != record.StepUndone:
			refusal = &DreamRefusal{Step: s.N, Reason: notApplied}
		case done.Status == record.StepUndone:
			refusal = &DreamRefusal{Step: s.N, Reason: alreadyUndone}
		default:
			refusal, err = a.undo(t)
		}
		if err != nil || refusal != nil {
			return err
		}
		return record.PutDreamStep(t, d, &DreamStep{N: s.N, Status: record.StepUndone})
	})
	return refusal, err
}

// unwriting makes the vector of the texts that a step replaced when it rewrote dates.
func (a *dreamTx) unwriting(ctx context.Context) error {
	var kept *record.DreamUndo
	err := a.m.records.View(ctx, func(r core.Reader) (err error) {
		kept, err = record.ReadDreamUndo(r, a.step.Reads[0].MemoryID, a.run.ID, a.step.N)
		return err
	})
	if err != nil || kept == nil {
		return err
	}
	a.texts = dream.Texts{Title: kept.Before.Title, Content: kept.Before.Content}
	a.vector, err = a.m.embedTextsOf(ctx, kept.Before, a.texts)
	return err
}

// undo undoes the step, if its memories haven't changed since.
func (a *dreamTx) undo(t *record.Tx) (*DreamRefusal, error) {
	if a.step.Kind == dream.StepReport {
		return nil, nil // it only recorded a report in a memory
	}
	memories, kept := make([]*core.Memory, len(a.step.Changed())), make([]*record.DreamUndo, len(a.step.Changed()))
	for i, read := range a.step.Changed() {
		m, digest, err := readDigest(t, read.MemoryID)
		if record.IsGone(err) {
			return &DreamRefusal{a.step.N, memoryPurged, read.MemoryID}, nil
		}
		if err != nil {
			return nil, err
		}
		if kept[i], err = record.ReadDreamUndo(t, read.MemoryID, a.run.ID, a.step.N); err != nil {
			return nil, err
		}
		if kept[i] == nil {
			return &DreamRefusal{a.step.N, undoExpired, read.MemoryID}, nil
		}
		if digest != kept[i].After {
			return &DreamRefusal{a.step.N, changedSinceRun, read.MemoryID}, nil
		}
		memories[i] = m
	}
	if err := a.takeBack(t, memories, kept); err != nil {
		return nil, err
	}
	for _, u := range kept {
		if err := record.DeleteDreamUndo(t, u); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (a *dreamTx) takeBack(t *record.Tx, memories []*core.Memory, kept []*record.DreamUndo) error {
	switch a.step.Kind {
	case dream.StepDates:
		if err := a.write(t, memories[0], a.texts, a.vector, true); err != nil {
			return err
		}
		return record.ChangeMark(t, a.run.Namespace, memories[0].ID, func(m *dream.Mark) { m.Undated = true })
	case dream.StepArchive:
		return a.reopen(t, memories[0], kept[0])
	case dream.StepMerge:
		if err := a.giveBack(t, memories[0], kept[0]); err != nil {
			return err
		}
		if err := a.unlink(t, memories[0], core.RelationConsolidatedFrom, memories[1]); err != nil {
			return err
		}
	case dream.StepConflict:
		if err := a.unlink(t, memories[0], core.RelationContradicts, memories[1]); err != nil {
			return err
		}
	}
	if err := keepApart(t, memories[1], memories[0].ID); err != nil {
		return err
	}
	return a.reopen(t, memories[1], kept[1])
}

// keepApart prevents passes from merging a memory with another, or from finding that they
// contradict each other.
func keepApart(t *record.Tx, m *core.Memory, from string) error {
	return record.ChangeMark(t, m.Namespace, m.ID, func(mark *dream.Mark) {
		if !slices.Contains(mark.Distinct, from) {
			mark.Distinct = append(mark.Distinct, from)
		}
	})
}

// reopen puts a memory back into the state before the step.
func (a *dreamTx) reopen(t *record.Tx, m *core.Memory, kept *record.DreamUndo) error {
	after := *m
	after.MergedInto = kept.Before.MergedInto
	if err := a.move(t, m, &after, kept.Before.State, lifecycle.ByUndo); err != nil {
		return err
	}
	return record.KeepOpen(t, m)
}

// giveBack removes from a keeper what it took over. Its uses since the step stay.
func (a *dreamTx) giveBack(t *record.Tx, keeper *core.Memory, kept *record.DreamUndo) (err error) {
	after := *keeper
	after.Tags, after.Importance, after.Confidence = kept.Before.Tags, kept.Before.Importance, kept.Before.Confidence
	after.AccessCount = max(0, keeper.AccessCount-kept.Accesses)
	after.Signals = kept.Before.Signals
	var users map[string]bool
	if !reflect.DeepEqual(keeper.Signals, kept.Signals) {
		if after.Signals, users, err = turn.Without(t, keeper, a.run.ID, int64(a.step.N)); err != nil {
			return err
		}
	}
	if err := turn.GiveBackUsers(t, keeper, kept.Users, users); err != nil {
		return err
	}
	if err := record.Put(t, keeper, &after); err != nil {
		return err
	}
	return t.Record(keeper.Namespace, journal.MemoryMerged{
		DreamStep: a.ref(true), MemoryID: keeper.ID, VictimID: a.step.Reads[1].MemoryID, AgentID: t.Caller().Label,
	}, keeper.ID, a.step.Reads[1].MemoryID)
}

func (a *dreamTx) unlink(t *record.Tx, from *core.Memory, relation string, to *core.Memory) error {
	if err := record.DeleteLink(t, from.Namespace, from.ID, relation, to.ID); err != nil {
		return err
	}
	return t.Record(from.Namespace, journal.MemoryUnlinked{DreamStep: a.ref(true), From: from.ID, Relation: relation, To: to.ID}, from.ID, to.ID)
}
