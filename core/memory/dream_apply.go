package memory

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Apply carries out a plan: each step is one commit, and does exactly what is in the plan. A
// step whose memories have changed since the plan was made is skipped. An interrupted run is
// continued; for a run that has ended, the report is returned. A second pass over a namespace at
// the same time is sdk.Conflict, reason "dream_running".
func (ds *Dreams) Apply(ctx context.Context, id string, tell func(done, total int)) (report *DreamReport, err error) {
	defer ds.follow(&ctx, work.Work{Kind: work.Update, Name: "dream"}, &err)()
	d, _, err := ds.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if d.Status == DreamCompleted {
		return d.Report, nil
	}
	end, ok := ds.dreaming.begin(d.Namespace)
	if !ok {
		return nil, sdk.Errorf(sdk.Conflict, "dream_running", "a pass over namespace %s is under way", d.Namespace).
			WithHint("wait for it").WithAction("dream list", "namespace", d.Namespace)
	}
	defer end()
	if err := ds.begin(ctx, d); err != nil {
		return nil, sdk.Wrap("begin dream run "+id, err)
	}
	for i := range d.Plan.Steps {
		if err := ds.step(ctx, d, &d.Plan.Steps[i]); err != nil {
			return nil, sdk.Wrap("step "+bounds.Shorten(string(d.Plan.Steps[i].Kind))+" of dream run "+id, err)
		}
		if tell != nil {
			tell(i+1, len(d.Plan.Steps))
		}
	}
	return ds.complete(ctx, d)
}

// begin records that a run began, and removes what can't be undone any more.
func (ds *Dreams) begin(ctx context.Context, d *DreamRun) error {
	if err := ds.expire(ctx, d); err != nil || d.BeganAt != nil {
		return err
	}
	return ds.records.Update(ctx, func(t *record.Tx) error {
		g, err := ds.records.Governance(t, d.Namespace)
		if err != nil {
			return err
		}
		if g.Failure != nil {
			return unreadableSettings(g)
		}
		began := t.Now().Round(0)
		d.BeganAt, d.Status = &began, DreamRunning
		return record.PutDream(t, d)
	})
}

// expire removes the undo records of runs that are too old, and plans of that age that
// weren't applied, each in its own commit. It doesn't touch the run that begins.
func (ds *Dreams) expire(ctx context.Context, beginning *DreamRun) error {
	var old []*DreamRun
	err := ds.records.View(ctx, func(r core.Reader) error {
		return record.EachDream(r, beginning.Namespace, func(d *DreamRun) (bool, error) {
			since := d.PlannedAt
			if d.BeganAt != nil {
				since = *d.BeganAt
			}
			if ds.options.Clock.Now().Sub(since) > undoKept && !d.UndoExpired && d.ID != beginning.ID {
				old = append(old, d)
			}
			return true, ctx.Err()
		})
	})
	for _, d := range old {
		if err == nil {
			err = ds.records.Update(ctx, func(t *record.Tx) error {
				if d.Status == DreamPlanned {
					return record.DeleteDream(t, d)
				}
				expired := *d
				expired.UndoExpired = true
				if err := record.ExpireDream(t, d); err != nil {
					return err
				}
				return record.PutDream(t, &expired)
			})
		}
	}
	return err
}

// complete counts the outcomes of the steps, and ends the run with its report.
func (ds *Dreams) complete(ctx context.Context, d *DreamRun) (*DreamReport, error) {
	err := ds.records.Update(ctx, func(t *record.Tx) error {
		steps, err := record.DreamSteps(t, d.ID)
		if err != nil {
			return err
		}
		now := t.Now().Round(0)
		d.Report = reportOf(d, steps, now)
		d.CompletedAt, d.Status = &now, DreamCompleted
		if err := record.PutDream(t, d); err != nil {
			return err
		}
		r := d.Report
		return t.Record(d.Namespace, journal.DreamCompleted{
			RunID: d.ID, AgentID: t.Caller().Label, Agent: d.Agent, Mode: d.Mode, TotalScanned: r.TotalScanned, AbsolutizedDates: r.AbsolutizedDates,
			Consolidated: r.Consolidated, MergeRefusals: r.MergeRefusals, ConflictsResolved: r.ConflictsResolved, ConflictsOpen: r.ConflictsOpen,
			Archived: r.Archived, ReportIngested: r.ReportIngested, StepsSkipped: r.StepsSkipped, DurationMillis: r.DurationMillis,
			PlanDigest: r.PlanDigest, GuardVersion: r.GuardVersion,
		})
	})
	return d.Report, sdk.Wrap("complete dream run "+d.ID, err)
}

// reportOf counts the outcomes of a run's steps.
func reportOf(d *DreamRun, steps []DreamStep, now time.Time) *DreamReport {
	r := &DreamReport{
		RunID: d.ID, Mode: d.Mode, TotalScanned: int64(d.Plan.Scanned), MergeRefusals: map[string]int64{},
		ConflictsOpen: int64(len(d.Plan.Conflicts)), DurationMillis: now.Sub(*d.BeganAt).Milliseconds(),
		PlanDigest: d.PlanDigest, GuardVersion: int64(d.Plan.GuardVersion),
	}
	for _, refused := range d.Plan.Refusals {
		r.MergeRefusals[refused.Class]++
	}
	for _, done := range steps {
		s := d.Plan.Of(done.N)
		switch {
		case s == nil:
		case done.Status != record.StepApplied:
			r.StepsSkipped++
		case s.Kind == dream.StepDates:
			r.AbsolutizedDates++
		case s.Kind == dream.StepMerge:
			r.Consolidated++
		case s.Kind == dream.StepConflict:
			r.ConflictsResolved++
		case s.Kind == dream.StepArchive:
			r.Archived++
		case s.Kind == dream.StepReport:
			r.ReportIngested++
		}
	}
	return r
}

// step carries out a step, unless it was done before.
func (ds *Dreams) step(ctx context.Context, d *DreamRun, s *dream.Step) error {
	a := &dreamTx{m: ds, run: d, step: s}
	if s.Kind == dream.StepDates {
		if err := a.rewriting(ctx); err != nil {
			return err
		}
	}
	return ds.records.Update(ctx, func(t *record.Tx) error {
		done, err := record.ReadDreamStep(t, d.ID, s.N)
		if err != nil || done != nil {
			return err
		}
		status, err := a.apply(t)
		if err != nil {
			return err
		}
		return record.PutDreamStep(t, d, &DreamStep{N: s.N, Status: status})
	})
}

// dreamTx carries out a step of a run.
type dreamTx struct {
	m    *Dreams
	run  *DreamRun
	step *dream.Step
	// texts are what a step that rewrites dates writes, and vector is their embedding.
	texts  dream.Texts
	vector embedding
}

// rewriting makes the texts of a step that rewrites dates, and their vector, before the
// transaction, since that takes long. The transaction checks that the memory hasn't changed
// since.
func (a *dreamTx) rewriting(ctx context.Context) error {
	var memory *core.Memory
	err := a.m.records.View(ctx, func(r core.Reader) (err error) {
		memory, err = record.Read(r, a.step.Reads[0].MemoryID)
		return err
	})
	if record.IsGone(err) {
		return nil // the step will be skipped
	}
	if err != nil {
		return err
	}
	texts, found := dream.Rewrite(memory, a.run.Plan.Options.DateOptions(), bounds.DerivedTitle)
	if found == 0 {
		return nil // a plan that was edited: the step is skipped
	}
	a.texts = texts
	a.vector, err = a.m.embedTextsOf(ctx, memory, a.texts)
	return err
}

// embedTextsOf makes the vector of a memory with other texts.
func (ds *Dreams) embedTextsOf(ctx context.Context, memory *core.Memory, to dream.Texts) (embedding, error) {
	with := *memory
	with.Title, with.Content = to.Title, to.Content
	made, err := ds.embed(ctx, []*core.Memory{&with})
	if err != nil {
		return embedding{}, err
	}
	return made[0], nil
}

// apply carries out the step, if its memories haven't changed since the plan was made.
func (a *dreamTx) apply(t *record.Tx) (status string, err error) {
	memories := make([]*core.Memory, len(a.step.Reads))
	for i, read := range a.step.Reads {
		m, digest, err := readDigest(t, read.MemoryID)
		if record.IsGone(err) || err == nil && (digest != read.Digest || m.Namespace != a.run.Namespace) {
			return record.StepChanged, nil
		}
		if err != nil {
			return "", err
		}
		memories[i] = m
	}
	if !a.allowed(memories) {
		return record.StepRefused, nil
	}
	switch a.step.Kind {
	case dream.StepReport:
		return record.StepApplied, record.ChangeMark(t, a.run.Namespace, memories[0].ID, func(mark *dream.Mark) {
			mark.Report = dream.ParseOrganizationReport(memories[0].Content)
		})
	case dream.StepDates:
		return a.rewrite(t, memories[0])
	case dream.StepMerge:
		return a.merge(t, memories[0], memories[1])
	case dream.StepConflict:
		return a.contradict(t, memories[0], memories[1])
	}
	return record.StepApplied, a.archive(t, memories[0])
}

// allowed reports whether a pass may do the step at all. A plan of this program has only allowed
// steps, but a plan in a file may have been edited.
func (a *dreamTx) allowed(memories []*core.Memory) bool {
	memories = memories[:len(a.step.Changed())]
	for _, m := range memories {
		notice := m.Kind == core.KindNotification && m.State.Live() && m.State != core.StateRevalidatePending
		if !dream.Touched(m) && !(a.step.Kind == dream.StepArchive && notice) && a.step.Kind != dream.StepReport {
			return false
		}
		if a.step.Kind != dream.StepDates && a.step.Kind != dream.StepReport && slices.Contains(m.Tags, dream.Pinned) {
			return a.step.Kind == dream.StepArchive && notice
		}
	}
	if len(memories) < 2 {
		return true
	}
	one, other := memories[0], memories[1]
	return one.ID != other.ID && one.AgentID == other.AgentID &&
		(a.step.Kind != dream.StepMerge || one.Kind == other.Kind && len(dream.Kept(one, other, bounds.DerivedTitle).Tags) <= bounds.MaxTags)
}

// readDigest reads a memory with the digest that steps compare.
func readDigest(r core.Reader, id string) (*core.Memory, string, error) {
	m, err := record.Read(r, id)
	if err != nil {
		return nil, "", err
	}
	links, err := record.LinkRefs(r, id)
	return m, dream.Digest(m, links), err
}

// keep writes the undo record of the step for a memory, after the memory was changed.
func (a *dreamTx) keep(t *record.Tx, before *core.Memory, u record.DreamUndo) error {
	after, digest, err := readDigest(t, before.ID)
	if err != nil {
		return err
	}
	u.RunID, u.Step, u.Before, u.After, u.Signals = a.run.ID, a.step.N, before, digest, after.Signals
	return record.PutDreamUndo(t, &u)
}

func (a *dreamTx) ref(undone bool) journal.DreamStep {
	return journal.DreamStep{RunID: a.run.ID, Step: int64(a.step.N), Undone: undone}
}

// rewrite gives a memory its texts with absolute dates.
func (a *dreamTx) rewrite(t *record.Tx, before *core.Memory) (string, error) {
	for _, c := range a.step.Changes {
		if c.Field == "content" && c.After != record.Keyed(before.Salt, a.texts.Content) || c.Field == "title" && c.After != record.Keyed(before.Salt, a.texts.Title) {
			return record.StepChanged, nil
		}
	}
	if a.texts.Content == "" {
		return record.StepChanged, nil
	}
	if err := a.write(t, before, a.texts, a.vector, false); err != nil {
		return "", err
	}
	return record.StepApplied, a.keep(t, before, record.DreamUndo{})
}

// write gives a memory other texts, with the event.
func (a *dreamTx) write(t *record.Tx, before *core.Memory, to dream.Texts, e embedding, undone bool) error {
	after := *before
	after.Title, after.Content = to.Title, to.Content
	if err := record.Rewrite(t, before, &after, e.model, e.vector); err != nil {
		return err
	}
	return t.Record(after.Namespace, journal.MemoryRewritten{
		DreamStep: a.ref(undone), MemoryID: after.ID, AgentID: t.Caller().Label,
		TitleBefore: record.Keyed(after.Salt, before.Title), Title: record.Keyed(after.Salt, after.Title),
		ContentBefore: record.Keyed(after.Salt, before.Content), Content: record.Keyed(after.Salt, after.Content),
		EmbeddingModel: e.model, EmbeddingFailure: e.failure,
	}, after.ID)
}

// merge merges a memory into another, which takes over its uses.
func (a *dreamTx) merge(t *record.Tx, keeper, victim *core.Memory) (string, error) {
	if reason, err := a.room(t, keeper); reason != "" || err != nil {
		return reason, err
	}
	taken, before, err := turn.TakeUsers(t, keeper, victim)
	if err != nil {
		return "", err
	}
	users, err := turn.Users(t, keeper.ID)
	if err != nil {
		return "", err
	}
	after := dream.Kept(keeper, victim, bounds.DerivedTitle)
	after.Signals = lifecycle.TakeOver(keeper.Signals, victim.Signals, users)
	if err := record.Put(t, keeper, after); err != nil {
		return "", err
	}
	err = t.Record(keeper.Namespace, journal.MemoryMerged{
		DreamStep: a.ref(false), MemoryID: keeper.ID, VictimID: victim.ID, Signals: &victim.Signals, Sessions: taken,
		Formula: lifecycle.Formula, AgentID: t.Caller().Label,
	}, keeper.ID, victim.ID)
	if err != nil {
		return "", err
	}
	merged := *victim
	merged.MergedInto = keeper.ID
	if err := a.move(t, victim, &merged, core.StateConsolidated, lifecycle.ByDream); err != nil {
		return "", err
	}
	if err := a.link(t, keeper, core.RelationConsolidatedFrom, victim, nil); err != nil {
		return "", err
	}
	if err := a.keep(t, keeper, record.DreamUndo{Accesses: victim.AccessCount, Users: before}); err != nil {
		return "", err
	}
	return record.StepApplied, a.keep(t, victim, record.DreamUndo{})
}

// room returns the reason why a memory can't have another link; "" if it can.
func (a *dreamTx) room(t *record.Tx, from *core.Memory) (reason string, err error) {
	if err = a.m.checkLinks(t, from); sdk.ReasonOf(err) == "links_full" {
		return sdk.ReasonOf(err), nil
	}
	return "", err
}

// contradict archives the loser of a contradiction.
func (a *dreamTx) contradict(t *record.Tx, winner, loser *core.Memory) (string, error) {
	if reason, err := a.room(t, winner); reason != "" || err != nil {
		return reason, err
	}
	archived := *loser
	if err := a.move(t, loser, &archived, core.StateArchived, lifecycle.ByDream); err != nil {
		return "", err
	}
	until := jsontext.MustEncode(map[string]string{"valid_until": a.step.Evidence["valid_until"]})
	if err := a.link(t, winner, core.RelationContradicts, loser, until); err != nil {
		return "", err
	}
	if err := a.keep(t, winner, record.DreamUndo{}); err != nil {
		return "", err
	}
	return record.StepApplied, a.keep(t, loser, record.DreamUndo{})
}

func (a *dreamTx) archive(t *record.Tx, before *core.Memory) error {
	archived := *before
	if err := a.move(t, before, &archived, core.StateArchived, lifecycle.ByDream); err != nil {
		return err
	}
	return a.keep(t, before, record.DreamUndo{})
}

// move writes a memory in another state, with the event.
func (a *dreamTx) move(t *record.Tx, before, after *core.Memory, to core.MemoryState, by lifecycle.Actor) error {
	if err := lifecycle.Check(before.State, to, by); err != nil {
		return err
	}
	after.State = to
	return record.Transition(t, before, after, journal.MemoryTransitioned{
		Cause: string(by), RunID: a.run.ID, Step: int64(a.step.N), AgentID: t.Caller().Label, Formula: lifecycle.Formula,
	})
}

// link writes a link, unless it exists.
func (a *dreamTx) link(t *record.Tx, from *core.Memory, relation string, to *core.Memory, metadata []byte) error {
	if _, found, err := t.Get(record.LinkKey(from.ID, relation, to.ID)); err != nil || found {
		return err
	}
	l := &core.Link{From: from.ID, Relation: relation, To: to.ID, CreatedAt: t.Now().Round(0), Metadata: metadata}
	digest, err := record.PutLink(t, from.Namespace, l)
	if err != nil {
		return err
	}
	return t.Record(from.Namespace, journal.MemoryLinked{From: l.From, Relation: relation, To: l.To, Metadata: digest, AgentID: t.Caller().Label}, from.ID, to.ID)
}
