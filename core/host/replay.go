package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

// ReplayOptions are the evaluator and the rule for passing to use instead of a run's own;
// nil means the run's own.
type ReplayOptions struct {
	Evaluator *workflow.Single
	Accept    policypoint.Expression
}

// Replayed is how a stored run's attempts would be judged.
type Replayed struct {
	RunID string         `json:"run_id"`
	Loops []ReplayedLoop `json:"loops"`
	// Changed counts the attempts that would be judged differently.
	Changed int `json:"changed"`
}

// ReplayedLoop is a loop of the run.
type ReplayedLoop struct {
	Visit    int               `json:"visit"`
	Node     string            `json:"node"`
	Attempts []ReplayedAttempt `json:"attempts"`
}

// ReplayedAttempt is an attempt of the loop.
type ReplayedAttempt struct {
	loop.Replayed
	// Prompts are the messages to language models that differ between the recorded judgement and the
	// replay, without their texts; left out if either sent none. The texts are left out because the
	// answer may become the result of a job, where a purge of a memory wouldn't find them.
	Prompts []run.PromptDiff `json:"prompts,omitempty"`
}

// Replay judges a stored run's attempts again. No generator or corrector is called, and
// nothing is stored.
func (r *Runner) Replay(ctx context.Context, runID string, o ReplayOptions) (*Replayed, error) {
	rec, err := r.recorded(ctx, runID)
	if err != nil {
		return nil, err
	}
	uses := rec.plan.Plugins()
	if o.Evaluator != nil {
		uses = append(uses, o.Evaluator.Plugins...)
	}
	namespace := cmp.Or(rec.run.Namespace, config.DefaultNamespace)
	plugins, ctx, release, err := r.plugins.scoped(ctx, Need{Uses: uses, LLM: rec.plan.LLM, Namespace: namespace, Folder: rec.run.Source.Folder})
	if err != nil {
		return nil, err
	}
	defer release()
	result := &Replayed{RunID: rec.run.ID, Loops: []ReplayedLoop{}}
	for _, l := range rec.loops {
		var sent promptsSent
		replay, err := rec.options(l, plugins, &sent, o)
		if err != nil {
			return nil, err
		}
		replay.Policy, replay.Namespace, replay.Workflow = r.policies, namespace, rec.run.Workflow
		attempts, err := loop.Replay(ctx, replay)
		if err != nil {
			return nil, stepFailed(sdk.Wrap("replay "+l.Node, err))
		}
		judged := ReplayedLoop{l.Visit, l.Node, make([]ReplayedAttempt, len(attempts))}
		for i, at := range attempts {
			judged.Attempts[i] = ReplayedAttempt{at, sent.differ(&l.Attempts[i])}
			if at.Changed {
				result.Changed++
			}
		}
		result.Loops = append(result.Loops, judged)
	}
	return result, nil
}

// recorded is a stored run with everything that a replay needs.
type recorded struct {
	run    *core.Run
	plan   *workflow.Plan
	visits []core.Visit
	loops  []run.VisitAttempts
}

func (r *Runner) recorded(ctx context.Context, runID string) (rec recorded, err error) {
	if rec.run, err = r.runs.Find(ctx, runID); err != nil {
		return rec, err
	}
	if isRequest(rec.run) {
		return rec, notRepeatable("replayed", rec.run)
	}
	if rec.visits, err = r.runs.Visits(ctx, rec.run.ID); err != nil {
		return rec, err
	}
	if rec.loops, err = r.runs.Attempts(ctx, rec.run.ID); err != nil {
		return rec, err
	}
	rec.plan, err = workflow.Load(rec.run.Source, LoadOptions())
	return rec, err
}

// promptsSent are the prompts that a replay sent to judge the attempts of a loop, by iteration. The
// attempts are judged one after another, but the children of an evaluator at the same time.
type promptsSent struct {
	mu      sync.Mutex
	pending []core.Prompt
	judged  map[int][]core.Prompt
}

func (s *promptsSent) add(p core.Prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p)
}

// of is an evaluator whose prompts, which it passes to add, are kept by iteration.
func (s *promptsSent) of(e sdk.Evaluator) sdk.Evaluator {
	return sdk.EvaluatorFunc(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		resp, err := e.Evaluate(ctx, req)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.judged == nil {
			s.judged = map[int][]core.Prompt{}
		}
		s.judged[req.Iteration], s.pending = append(s.judged[req.Iteration], s.pending...), nil
		return resp, err
	})
}

// differ are the messages that differ from the ones that judged an attempt when it was recorded.
func (s *promptsSent) differ(a *core.Attempt) []run.PromptDiff {
	recorded := slices.DeleteFunc(slices.Clone(a.Prompts), func(p core.Prompt) bool { return p.Role != sdk.RoleEvaluate })
	now := s.judged[a.Iteration]
	if len(recorded) == 0 || len(now) == 0 {
		return nil
	}
	diffs := run.DiffPrompts(recorded, now)
	for i := range diffs {
		diffs[i].Lines = nil
	}
	return diffs
}

// options are the options for replaying one loop: its recorded attempts, with its own
// evaluator and accept rule, or with the ones given to the replay.
func (rec *recorded) options(l run.VisitAttempts, plugins core.Plugins, sent *promptsSent, o ReplayOptions) (*loop.ReplayOptions, error) {
	at := slices.IndexFunc(rec.plan.Nodes, func(n workflow.Node) bool { return n.Name == l.Node })
	if at < 0 {
		return nil, sdk.Errorf(sdk.Internal, "run_corrupt", "the run has attempts of node %q, which its workflow doesn't have", l.Node)
	}
	spec, isLoop := rec.plan.Nodes[at].Action.(*action.LoopSpec)
	if !isLoop {
		return nil, sdk.Errorf(sdk.Internal, "run_corrupt", "the run has attempts of node %q, which isn't a loop", l.Node)
	}
	step := spec.Evaluator
	if o.Evaluator != nil {
		step = o.Evaluator.Step
	}
	evaluator, err := action.NewEvaluator(plugins, spec.JudgeBy(step), sent.add)
	if err != nil {
		return nil, err
	}
	limits := spec.Limits
	if o.Accept != nil {
		limits.Accept = o.Accept
	}
	found, err := rec.stateAt(l.Visit)
	return &loop.ReplayOptions{
		Evaluator: sent.of(evaluator), Limits: limits, State: found, Attempts: l.Attempts, Node: l.Node,
	}, err
}

// stateAt is the state at the start of a visit.
func (rec *recorded) stateAt(visit int) (json.RawMessage, error) {
	at := rec.run.State
	for _, v := range rec.visits {
		if v.Number >= visit || v.Skipped {
			continue
		}
		var err error
		if at, err = state.Set(at, v.Node, v.Result); err != nil {
			return nil, err
		}
	}
	return at, nil
}
