package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// replayFlags are what a replay changes.
type replayFlags struct {
	evaluator string
	accept    string
}

// replayResult is what replay prints.
type replayResult struct {
	RunID string         `json:"run_id"`
	Loops []replayedLoop `json:"loops"`
	// Changed counts the attempts that would be judged otherwise.
	Changed int `json:"changed"`
}

type replayedLoop struct {
	Visit    int             `json:"visit"`
	Node     string          `json:"node"`
	Attempts []loop.Replayed `json:"attempts"`
}

func (a *App) replayCommand() *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use: "replay RUN", Short: "Judge a stored run's attempts again, and show what would change",
		Long: `Judge a stored run's attempts again: with the run's own evaluator, or another
one, or another rule for passing. No generator and no corrector is called, and
nothing is stored. Exit codes: 0 nothing would change, 3 something would.`,
		Example: `  reflectory replay 01939f2c
  reflectory replay 01939f2c --evaluator stricter.yaml
  reflectory replay 01939f2c --accept 'score >= 0.8'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.replay(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.evaluator, "evaluator", "", "YAML `file` of another evaluator")
	c.Flags().StringVar(&flags.accept, "accept", "", "another rule for passing: a CEL `expression` over valid, score, errors, output, iteration")
	return c
}

// recorded is a stored run with what a replay needs of it.
type recorded struct {
	run    *core.Run
	plan   *workflow.Plan
	visits []core.Visit
	loops  []store.VisitAttempts
}

func (a *App) replay(ctx context.Context, prefix string, flags replayFlags) error {
	rec, err := a.recorded(ctx, prefix)
	if err != nil {
		return err
	}
	result, err := a.rejudge(ctx, rec, flags)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.printJSON(result)
	} else {
		err = a.printReplay(result)
	}
	return exitNotValidUnless(result.Changed == 0, err)
}

func (a *App) recorded(ctx context.Context, prefix string) (rec recorded, err error) {
	err = a.withRuns(ctx, func(runs *store.Runs) (err error) {
		if rec.run, err = runs.Find(ctx, prefix); err != nil {
			return err
		}
		if rec.visits, err = runs.Visits(ctx, rec.run.ID); err != nil {
			return err
		}
		rec.loops, err = runs.Attempts(ctx, rec.run.ID)
		return err
	})
	if err != nil {
		return rec, err
	}
	rec.plan, err = workflow.Load(rec.run.Source, a.loadOptions())
	return rec, err
}

func (a *App) rejudge(ctx context.Context, rec recorded, flags replayFlags) (result *replayResult, err error) {
	other, err := a.otherwise(flags)
	if err != nil {
		return nil, err
	}
	uses := rec.plan.Plugins()
	if other.evaluator != nil {
		uses = append(uses, other.evaluator.Plugins...)
	}
	policies, err := a.openPolicies(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(&err, policies)
	scope, err := a.scope(uses, rec.plan.LLM, namespaceOf(rec.run)) // of no run: this one is over
	if err != nil {
		return nil, err
	}
	ctx = plugin.WithScope(ctx, scope)
	plugins, err := a.openPlugins(policies)
	if err != nil {
		return nil, err
	}
	defer closing(&err, plugins)
	result = &replayResult{RunID: rec.run.ID, Loops: []replayedLoop{}}
	for _, l := range rec.loops {
		o, err := rec.options(l, plugins, other)
		if err != nil {
			return nil, err
		}
		o.Policy, o.Namespace, o.Workflow = policies, namespaceOf(rec.run), rec.run.Workflow
		attempts, err := loop.Replay(ctx, o)
		if err != nil {
			return nil, failed(sdk.Wrap("replay "+l.Node, err))
		}
		result.Loops = append(result.Loops, replayedLoop{l.Visit, l.Node, attempts})
		for _, at := range attempts {
			if at.Changed {
				result.Changed++
			}
		}
	}
	return result, nil
}

// otherwise is what judges in the place of a run's own evaluator and rule for
// passing; nil leaves that to them.
type otherwise struct {
	evaluator *workflow.Single
	accept    core.Expression
}

func (a *App) otherwise(flags replayFlags) (other otherwise, err error) {
	if flags.evaluator != "" {
		if other.evaluator, err = a.loadSingle(flags.evaluator, workflow.LoadEvaluator); err != nil {
			return other, err
		}
	}
	if flags.accept != "" {
		if other.accept, err = a.expressions().Compile(core.PointAccept, flags.accept); err != nil {
			return other, usageError{sdk.Wrap("--accept", err)}
		}
	}
	return other, nil
}

// options are the replay of one loop: its recorded attempts with its evaluator
// and rule for passing, or the others in their place.
func (rec *recorded) options(l store.VisitAttempts, plugins core.Plugins, other otherwise) (*loop.ReplayOptions, error) {
	at := slices.IndexFunc(rec.plan.Nodes, func(n workflow.Node) bool { return n.Name == l.Node })
	if at < 0 {
		return nil, sdk.Errorf(sdk.Internal, "run_corrupt", "the run has attempts of node %q, which its workflow hasn't", l.Node)
	}
	spec, isLoop := rec.plan.Nodes[at].Action.(*core.LoopSpec)
	if !isLoop {
		return nil, sdk.Errorf(sdk.Internal, "run_corrupt", "the run has attempts of node %q, which is no loop", l.Node)
	}
	step := spec.Evaluator
	if other.evaluator != nil {
		step = other.evaluator.Step
	}
	evaluator, err := loop.NewEvaluator(plugins, spec.JudgeBy(step))
	if err != nil {
		return nil, err
	}
	limits := spec.Limits
	if other.accept != nil {
		limits.Accept = other.accept
	}
	state, err := rec.stateAt(l.Visit)
	return &loop.ReplayOptions{
		Evaluator: evaluator, Limits: limits, State: state, Attempts: l.Attempts, Node: l.Node,
	}, err
}

// stateAt is the state as a visit found it.
func (rec *recorded) stateAt(visit int) (json.RawMessage, error) {
	state := rec.run.State
	for _, v := range rec.visits {
		if v.Number >= visit || v.Skipped {
			continue
		}
		var err error
		if state, err = workflow.SetState(state, v.Node, v.Result); err != nil {
			return nil, err
		}
	}
	return state, nil
}

func (a *App) printReplay(r *replayResult) error {
	for _, l := range r.Loops {
		fmt.Fprintf(a.Stdout, "%s (visit %d)\n", l.Node, l.Visit)
		rows := make([][]string, len(l.Attempts))
		for i, at := range l.Attempts {
			rows[i] = []string{fmt.Sprint(at.Iteration), judged(at.Was), judged(at.Now), "same"}
			if at.Changed {
				rows[i][3] = "changed"
			}
			if at.Changed && len(at.Now.Errors) > 0 {
				rows[i][3] += ": " + firstError(at.Now.Errors)
			}
		}
		if err := a.table([]string{"ITERATION", "WAS", "NOW", ""}, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.Stdout, "%d of the run's attempts would be judged otherwise\n", r.Changed)
	return err
}

func judged(j loop.Judgment) string {
	return fmt.Sprintf("%.2f %s", j.Score, map[bool]string{true: "passes", false: "fails"}[j.Accepted])
}
