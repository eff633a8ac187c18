package host

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/workflow"
)

const (
	// maxLookedRuns is how many of the newest runs are read to find workflows and the success
	// rates of workflows and plugins.
	maxLookedRuns = 1000
	// maxKnownWorkflows is how many workflows are candidates: each is read and checked.
	maxKnownWorkflows = 200
	// maxDiscovered is how many rankings are kept. rankingRuns is how many runs must end
	// before rankings are made again: success rates change slowly.
	maxDiscovered = 1000
	rankingRuns   = 50
	// maxUsageText is the longest workflow that an answer has whole, in bytes.
	maxUsageText = 4 << 10
)

// Discoveries finds workflows and other candidates that fit an intent. It keeps rankings until 50
// runs have ended.
type Discoveries struct {
	runs  *run.Repository
	ended atomic.Int64 // runs that ended in this process

	mu   sync.Mutex
	kept map[string]discovered
}

type discovered struct {
	ranked []discover.Ranked
	ended  int64
}

// Rank returns what fits an intent among candidates, at most limit. key is the digest
// of everything that the candidates depend on, except how their runs went. The answer for a
// key is kept until 50 runs have ended.
func (d *Discoveries) Rank(ctx context.Context, key, intent string, limit int, candidates func(context.Context) ([]discover.Candidate, error)) ([]discover.Ranked, error) {
	ended := d.ended.Load()
	d.mu.Lock()
	before, known := d.kept[key]
	d.mu.Unlock()
	if known && ended-before.ended < rankingRuns {
		return before.ranked, nil
	}
	list, err := candidates(ctx)
	if err != nil {
		return nil, err
	}
	ranked, err := discover.Rank(intent, list, limit), nil
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || len(d.kept) >= maxDiscovered {
		d.kept = map[string]discovered{}
	}
	d.kept[key] = discovered{ranked, ended}
	return ranked, nil
}

// Record counts the last runs of something, and how many of them passed.
type Record struct{ Runs, Successes int }

// add counts an older run.
func (r *Record) add(s core.Status) {
	if r.Runs < discover.MaxRuns {
		if r.Runs++; s == core.StatusPassed {
			r.Successes++
		}
	}
}

// Known is what the newest runs show about workflows and plugins.
type Known struct {
	// Workflows are the workflows that were run, in their last form.
	Workflows []discover.Candidate
	// Plugins are the records of plugins, by name.
	Plugins map[string]*Record
}

// FromRuns looks at the newest runs in some namespaces: which workflows there are, and
// how the last runs of each workflow, and of the plugins that they need, went. A run that
// was cancelled or interrupted isn't counted.
func (d *Discoveries) FromRuns(ctx context.Context, in func(namespace string) bool) (*Known, error) {
	runs, _, err := d.runs.List(ctx, run.ListFilter{In: in, Limit: maxLookedRuns})
	if err != nil {
		return nil, err
	}
	known, plans := &Known{Plugins: map[string]*Record{}}, map[string]*workflow.Plan{}
	records := map[string]*Record{}
	for i := range runs {
		r := &runs[i]
		if _, seen := records[r.Workflow]; !seen && len(records) < maxKnownWorkflows {
			records[r.Workflow] = &Record{}
			plan, candidate, err := d.known(ctx, r.ID)
			if err != nil {
				return nil, err
			}
			if plans[r.Workflow] = plan; plan != nil {
				known.Workflows = append(known.Workflows, candidate)
			}
		}
		if !judged(r.Status) || records[r.Workflow] == nil {
			continue
		}
		records[r.Workflow].add(r.Status)
		if plan := plans[r.Workflow]; plan != nil {
			known.count(plan, r.Status)
		}
	}
	for i := range known.Workflows {
		w := &known.Workflows[i]
		w.Runs, w.Successes = records[w.Name].Runs, records[w.Name].Successes
	}
	return known, nil
}

// judged reports whether a run's status shows how the run went.
func judged(s core.Status) bool {
	return s == core.StatusPassed || s == core.StatusExhausted || s == core.StatusRaised || s == core.StatusError
}

// count counts an older run for the plugins of its plan.
func (k *Known) count(plan *workflow.Plan, s core.Status) {
	for _, use := range plan.Plugins() {
		if k.Plugins[use.Plugin] == nil {
			k.Plugins[use.Plugin] = &Record{}
		}
		k.Plugins[use.Plugin].add(s)
	}
}

// known is the workflow of a run as a candidate; nil if this version can't read it, or the
// run is gone.
func (d *Discoveries) known(ctx context.Context, runID string) (*workflow.Plan, discover.Candidate, error) {
	r, err := d.runs.Get(ctx, runID)
	if err != nil {
		return nil, discover.Candidate{}, ctx.Err()
	}
	plan, err := workflow.Load(r.Source, LoadOptions())
	if err != nil {
		return nil, discover.Candidate{}, nil //nolint:nilerr // it is no candidate
	}
	text := r.Source.Text
	if len(text) > maxUsageText || len(r.Source.Files) > 0 {
		text = "<the text of " + r.Source.File + ">"
	}
	return plan, discover.Candidate{
		Kind: discover.Workflow, Name: r.Workflow, Description: plan.Description, Examples: plan.Examples,
		Usage: discover.Usage{Operation: "run_start", Arguments: map[string]any{"workflow": text}},
	}, nil
}
