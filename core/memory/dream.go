package memory

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// A dream pass is housekeeping: package dream plans it, and this package carries the plan out, one
// commit a step. A run is a stored plan: applying it again continues where it was interrupted.

type (
	// DreamRun is a plan and its outcome.
	DreamRun = record.DreamRun
	// DreamReport is what a pass did.
	DreamReport = record.DreamReport
	// DreamStep is how a step of a run ended.
	DreamStep = record.DreamStep
)

// The status of a [DreamRun].
const (
	DreamPlanned   = record.DreamPlanned
	DreamRunning   = record.DreamRunning
	DreamCompleted = record.DreamCompleted
)

// DreamMode determines when a pass is skipped.
type DreamMode string

// The modes.
const (
	// Coordinated skips a pass that comes too soon, finds little that is new, or follows
	// another program's housekeeping.
	Coordinated DreamMode = "coordinated"
	// Always skips no pass, and Force also removes the limit on how much is archived.
	Always DreamMode = "always"
	Force  DreamMode = "force"
)

// DreamModes lists every mode.
func DreamModes() []DreamMode { return []DreamMode{Coordinated, Always, Force} }

// The reasons why a pass is skipped.
const (
	TooSoon          = "too_soon"
	NotEnoughRecords = "not_enough_new_records"
	AlreadyOrganized = "auto_dream_already_ran"
)

const (
	// dreamEvery is the time from the beginning of a pass until the next pass is due: less than a day, so
	// that a pass at the same hour each day isn't too soon.
	dreamEvery = 23 * time.Hour
	// reportFresh is for how long another program's report of its housekeeping makes a pass needless.
	reportFresh = 24 * time.Hour
	// dreamRecords is how many records must be new for a pass.
	dreamRecords = 5
	// undoKept is how long a run can be undone.
	undoKept = 30 * 24 * time.Hour
)

// DreamRequest asks for a pass over the memories of a namespace.
type DreamRequest struct {
	Namespace string
	// Agent restricts it to one agent's memories; "" is all.
	Agent string
	// Mode is one of [DreamModes]; "" is [Coordinated].
	Mode DreamMode
	// Full compares all with all, not only what is new with everything.
	Full    bool
	Options dream.Options
	// Judge may overrule soft differences between near texts; nil for none.
	Judge dream.Judge
}

// Check reports everything that is wrong with a request, and sets its defaults.
func (q *DreamRequest) Check() error {
	var p bounds.Problems
	p.Check(core.CheckNamespace(q.Namespace))
	p.Word("agent", q.Agent)
	switch q.Mode {
	case "":
		q.Mode = Coordinated
	case Coordinated, Always:
	case Force:
		q.Options.Force = true
	default:
		p.Add("mode", "is %q, not coordinated, always or force", bounds.Shorten(string(q.Mode)))
	}
	p.Check(q.Options.Validate())
	return p.Err()
}

// Run makes a pass: it plans, and applies the plan. If an earlier pass over the same memories was
// interrupted, Dream finishes that pass instead. tell is called with how many of the steps are
// done; it may be nil.
func (ds *Dreams) Run(ctx context.Context, q DreamRequest, tell func(done, total int)) (*DreamReport, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var left string
	err := ds.records.View(ctx, func(r core.Reader) error {
		return record.EachDream(r, q.Namespace, func(d *DreamRun) (bool, error) {
			if d.Status == DreamRunning && d.Agent == q.Agent {
				left = d.ID
			}
			return left == "" && ds.options.Clock.Now().Sub(d.PlannedAt) < dreamEvery, ctx.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	if left != "" {
		return ds.Apply(ctx, left, tell)
	}
	d, skipped, err := ds.plan(ctx, &q, true)
	if err != nil || d == nil {
		return skipped, err
	}
	return ds.Apply(ctx, d.ID, tell)
}

// Plan makes the plan of a pass and stores it. It ignores the mode: only a run can be
// skipped.
func (ds *Dreams) Plan(ctx context.Context, q DreamRequest) (*DreamRun, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	d, _, err := ds.plan(ctx, &q, false)
	return d, err
}

// Due reports whether a coordinated pass over a namespace is due: the last pass is long
// enough ago, there are enough new memories, and no other program has organized them lately.
func (ds *Dreams) Due(ctx context.Context, namespace string) (bool, error) {
	q := &DreamRequest{Namespace: namespace}
	in := &snapshot{Input: dream.Input{At: ds.options.Clock.Now()}}
	var last time.Time
	err := ds.records.View(ctx, func(r core.Reader) (err error) {
		last, err = ds.last(r, q, in)
		return err
	})
	if err != nil || !last.IsZero() && in.At.Sub(last) < dreamEvery {
		return false, err
	}
	written, organized := 0, false
	err = ds.all.Each(ctx, namespace, last, func(memory *core.Memory) bool { // the newest first
		if dream.Touched(memory) {
			written++
			organized = organized || organizes(memory, in.At)
		}
		return !organized && (written < dreamRecords || in.At.Sub(memory.CreatedAt) < reportFresh)
	})
	return written >= dreamRecords && !organized, err
}

// organizes reports whether a memory is a fresh report of another program's housekeeping.
func organizes(m *core.Memory, at time.Time) bool {
	if at.Sub(m.CreatedAt) >= reportFresh {
		return false
	}
	r := dream.ParseOrganizationReport(m.Content)
	return r != nil && r.Organized()
}

// plan makes and stores a plan. If modes count and the pass is skipped, it returns the
// report of the skipped pass.
func (ds *Dreams) plan(ctx context.Context, q *DreamRequest, modes bool) (*DreamRun, *DreamReport, error) {
	var in *snapshot
	asked := *q
	if !modes {
		asked.Mode = Always
	}
	err := ds.records.View(ctx, func(r core.Reader) (err error) {
		in, err = ds.snapshot(ctx, r, &asked)
		return err
	})
	if err != nil {
		return nil, nil, sdk.Wrap("plan a pass over "+q.Namespace, err)
	}
	if in.skipped != "" {
		return nil, &DreamReport{Mode: string(q.Mode), Skipped: in.skipped, MergeRefusals: map[string]int64{}, GuardVersion: dream.GuardVersion}, nil
	}
	plan, err := dream.Make(ctx, &in.Input)
	if err != nil {
		return nil, nil, sdk.Wrap("plan a pass over "+q.Namespace, err)
	}
	d, err := ds.Store(ctx, plan, q.Mode)
	return d, nil, err
}

// Store stores an earlier plan, such as one in a file, so that it can be applied. Its
// steps name memories by id and digest: a step whose memories have changed is skipped.
func (ds *Dreams) Store(ctx context.Context, plan *dream.Plan, mode DreamMode) (*DreamRun, error) {
	if err := CheckPlan(plan); err != nil {
		return nil, err
	}
	d := &DreamRun{
		ID: ds.options.IDs.NewID(), Namespace: plan.Namespace, Agent: plan.Agent, Mode: string(mode), Status: DreamPlanned,
		PlanDigest: plan.PlanDigest(), Steps: len(plan.Steps), Plan: plan,
	}
	err := ds.records.Update(ctx, func(t *record.Tx) error {
		d.PlannedAt = t.Now().Round(0)
		return record.PutDream(t, d)
	})
	return d, err
}

// CheckPlan refuses a plan that no pass made.
func CheckPlan(plan *dream.Plan) error {
	var p bounds.Problems
	p.Check(core.CheckNamespace(plan.Namespace))
	p.Word("agent", plan.Agent)
	p.Check(plan.Options.Validate())
	if plan.GuardVersion != dream.GuardVersion {
		p.Add("guard_version", "is %d, but this program has %d: plan again", plan.GuardVersion, dream.GuardVersion)
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		least, most := 1, 1
		switch s.Kind {
		case dream.StepMerge, dream.StepConflict:
			least, most = 2, 2
		case dream.StepArchive:
			most = 2
		case dream.StepReport, dream.StepDates:
		default:
			p.Add("steps", "[%d] is of no kind", i)
		}
		if s.N != i+1 || len(s.Reads) < least || len(s.Reads) > most {
			p.Add("steps", "[%d] has another number, or another number of memories", i)
		}
		for _, read := range s.Reads {
			if !bounds.ValidID(read.MemoryID) {
				p.Add("steps", "[%d] names no memory", i)
			}
		}
	}
	return p.Err()
}

// snapshot is what a plan is made from, and whether the pass is skipped.
type snapshot struct {
	dream.Input
	skipped string
}

// snapshot reads what a plan is made from.
func (ds *Dreams) snapshot(ctx context.Context, r core.Reader, q *DreamRequest) (*snapshot, error) {
	at := ds.options.Clock.Now().Round(0)
	in := &snapshot{Input: dream.Input{
		Namespace: q.Namespace, Agent: q.Agent, At: at, Options: q.Options, Judge: q.Judge, Title: bounds.DerivedTitle,
	}}
	number, err := turn.Counter(r, q.Namespace)
	if err != nil {
		return nil, err
	}
	in.Turned = number > 0
	last, err := ds.last(r, q, in)
	if err != nil {
		return nil, err
	}
	if !q.Full {
		in.Since = last
	}
	if ds.options.Near != nil {
		if in.Near, err = ds.options.Near(r); err != nil {
			return nil, err
		}
	}
	if q.Mode == Coordinated && !last.IsZero() && at.Sub(last) < dreamEvery {
		in.skipped = TooSoon
	}
	if err := ds.items(ctx, r, q, in); err != nil || in.skipped != "" {
		return in, err
	}
	if q.Mode == Coordinated {
		in.skipped = skips(in, last)
	}
	if in.skipped != "" || !in.Turned || q.Options.SkipArchival {
		return in, nil
	}
	g, err := ds.records.Governance(r, q.Namespace)
	if err != nil {
		return nil, err
	}
	in.Language = g.Language
	in.Queries, err = turn.Queries(r, q.Namespace, dream.MaxQueries)
	return in, err
}

// last is when the last completed run over the same memories began, and counts what
// runs archived lately.
func (ds *Dreams) last(r core.Reader, q *DreamRequest, in *snapshot) (last time.Time, err error) {
	err = record.EachDream(r, q.Namespace, func(d *DreamRun) (bool, error) {
		if d.Agent != q.Agent || d.BeganAt == nil {
			return true, nil
		}
		if last.IsZero() && d.Status == DreamCompleted {
			last = *d.BeganAt
		}
		if in.At.Sub(*d.BeganAt) < dreamEvery {
			n, err := archivedBy(r, d)
			in.ArchivedLately += n
			return true, err
		}
		return last.IsZero(), nil
	})
	return last, err
}

// archivedBy counts what a run archived as stale.
func archivedBy(r core.Reader, d *DreamRun) (n int, err error) {
	steps, err := record.DreamSteps(r, d.ID)
	for _, done := range steps {
		if s := d.Plan.Of(done.N); s != nil && done.Status == record.StepApplied && s.Reason == dream.ReasonStale {
			n++
		}
	}
	return n, err
}

// items reads the memories that are in use.
func (ds *Dreams) items(ctx context.Context, r core.Reader, q *DreamRequest, in *snapshot) error {
	if in.skipped != "" {
		return nil
	}
	for _, state := range core.MemoryStates() {
		if !state.Live() {
			continue
		}
		start := record.IndexStart(record.StatePrefix, q.Namespace, string(state))
		err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			memory, err := readIndexed(r, record.PlaceID(key[len(start):]), key)
			if err != nil || q.Agent != "" && memory.AgentID != q.Agent {
				return err == nil, err
			}
			item, err := ds.item(r, memory, in.Near)
			in.Items = append(in.Items, item)
			return true, core.JoinErrors(err, ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (ds *Dreams) item(r core.Reader, memory *core.Memory, near map[string]float64) (item dream.Item, err error) {
	item.Memory = memory
	if item.Links, err = record.LinkRefs(r, memory.ID); err != nil {
		return item, err
	}
	if item.Mark, err = record.ReadMark(r, memory.ID); err != nil {
		return item, err
	}
	if _, wanted := near[memory.EmbeddingModel]; wanted {
		if _, item.Vector, err = record.ReadVector(r, memory.ID); err != nil {
			return item, err
		}
	}
	item.Named = memory.Signals.RelevantTurns > 0 || memory.Signals.Uses() > 0
	for _, l := range item.Links {
		item.Named = item.Named || l.In && l.Relation == core.RelationReflectsOn
	}
	if known, is := ds.options.Evidence.(EvidenceOf); is && !item.Named {
		item.Named, err = known.Has(r, memory.ID)
	}
	return item, err
}

// EvidenceOf reports whether there is evidence about a memory.
type EvidenceOf interface {
	// Has reports whether an outcome of a tool is recorded for a memory.
	Has(r core.Reader, memoryID string) (bool, error)
}

// skips returns why a coordinated pass is skipped, or "" if it isn't. last is when the last
// run began; the zero time means that there was none.
func skips(in *snapshot, last time.Time) string {
	written, organized := 0, false
	for i := range in.Items {
		m := in.Items[i].Memory
		if !dream.Touched(m) || m.CreatedAt.Before(last) {
			continue
		}
		written++
		organized = organized || organizes(m, in.At)
	}
	switch {
	case written < dreamRecords:
		return NotEnoughRecords
	case organized:
		return AlreadyOrganized
	}
	return ""
}

// List returns the runs and plans of a namespace, the newest first, without their plans,
// at most limit, after the run with an id; "" begins with the newest. What was planned before since
// is left out.
func (ds *Dreams) List(ctx context.Context, namespace string, since time.Time, after string, limit int) (list []*DreamRun, more bool, err error) {
	err = ds.records.View(ctx, func(r core.Reader) error {
		list, more = []*DreamRun{}, false
		from := after == ""
		return record.EachDream(r, namespace, func(d *DreamRun) (bool, error) {
			switch {
			case !from:
				from = d.ID == after
				return true, ctx.Err()
			case d.PlannedAt.Before(since): // the newest come first
				return false, nil
			case len(list) == limit:
				more = true
				return false, nil
			}
			d.Plan = nil
			list = append(list, d)
			return true, ctx.Err()
		})
	})
	return list, more, err
}

// Get returns a run with its plan, and how its steps ended.
func (ds *Dreams) Get(ctx context.Context, id string) (d *DreamRun, steps []DreamStep, err error) {
	err = ds.records.View(ctx, func(r core.Reader) error {
		if d, err = record.ReadDream(r, id); err != nil {
			return err
		}
		steps, err = record.DreamSteps(r, id)
		return err
	})
	return d, steps, err
}

// Contradictions finds the pairs of memories in a namespace that contradict each other,
// whatever their importance. It changes nothing.
func (ds *Dreams) Contradictions(ctx context.Context, namespace, agent string) ([]dream.Conflict, error) {
	q := &DreamRequest{
		Namespace: namespace, Agent: agent, Mode: Always, Full: true,
		Options: dream.Options{SkipDates: true, SkipMerges: true, SkipArchival: true, Strategy: dream.Manual},
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	var in *snapshot
	err := ds.records.View(ctx, func(r core.Reader) (err error) {
		in, err = ds.snapshot(ctx, r, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	plan, err := dream.Make(ctx, &in.Input)
	if err != nil {
		return nil, err
	}
	return plan.Conflicts, nil
}

// dreaming are the namespaces in which a pass is working; a namespace has one pass at a time.
type dreaming struct {
	mu sync.Mutex
	at map[string]bool
}

// begin reserves a namespace until end is called; false if it is already reserved.
func (d *dreaming) begin(namespace string) (end func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at[namespace] {
		return nil, false
	}
	if d.at == nil {
		d.at = map[string]bool{}
	}
	d.at[namespace] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.at, namespace)
	}, true
}
