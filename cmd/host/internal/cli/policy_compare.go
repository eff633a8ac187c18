package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

func policyDiffCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Show where two policy folders differ",
		Long: `Show where two policy folders differ, by point and namespace. Names of files, comments
and descriptions make no difference. Prompt policies and role mixes are compared by file,
and each difference of their texts is one. Exit codes: 0 no differences, 3 they differ.`,
		Example: "  reflectory policy diff examples/policy-folder/policies examples/policy-folder/candidate",
		RunE:    func(_ *cobra.Command, args []string) error { return policyDiff(out, args[0], args[1]) },
	}
}

func policyDiff(out *output, before, after string) error {
	points := host.PolicyPoints()
	old, err := host.LoadPolicies(points, before)
	if err != nil {
		return sdk.Wrap(before, err)
	}
	candidate, err := host.LoadPolicies(points, after)
	if err != nil {
		return sdk.Wrap(after, err)
	}
	differences := policy.Diff(old, candidate)
	if out.json {
		err = out.printJSON(map[string]any{"differences": differences})
	} else {
		for _, d := range differences {
			printDifference(out, d)
		}
	}
	return exitNotValidUnless(len(differences) == 0, err)
}

func printDifference(out *output, d policy.Difference) {
	fmt.Fprint(out.Stdout, d.Point)
	if d.Namespace != "" {
		fmt.Fprintf(out.Stdout, " in %s", d.Namespace)
	}
	if d.Shadow {
		fmt.Fprint(out.Stdout, ", shadow")
	}
	switch {
	case d.Before == "":
		fmt.Fprintf(out.Stdout, ": new, %s\n", term.Clean(d.After))
	case d.After == "":
		fmt.Fprintf(out.Stdout, ": gone, %s\n", term.Clean(d.Before))
	default:
		fmt.Fprintf(out.Stdout, ": %s\n", term.Clean(d.After))
	}
	for _, line := range d.Removed {
		fmt.Fprintf(out.Stdout, "- %s\n", term.Clean(line))
	}
	for _, line := range d.Added {
		fmt.Fprintf(out.Stdout, "+ %s\n", term.Clean(line))
	}
}

func policyReplayCommand(a *App) *cobra.Command {
	var log string
	var since time.Time
	c := &cobra.Command{
		Use: "replay NEW", Short: "Repeat recorded decisions with candidate policies, and show what would change",
		Long: `Repeat recorded decisions with the policies of a candidate folder, to see what would
change before you roll it out. Each change is listed by name, as it would be after the
host's own conditions; what the candidate wants but these conditions would refuse is
shown separately. The decisions come from the store, or with --log from a file that
policy eval wrote. Decisions that were recorded without their inputs, because these are
masked or too large, are counted and skipped.
Exit codes: 0 nothing would change, 3 something would.`,
		Example: `  reflectory policy replay examples/policy-folder/candidate --since 72h
  reflectory policy replay examples/policy-folder/candidate --log examples/policy-folder/decisions.jsonl --since 2026-11-02`,
		RunE: func(c *cobra.Command, args []string) error { return policyReplay(c.Context(), a, args[0], log, since) },
	}
	c.Flags().StringVar(&log, "log", "", "decision log `file`, in place of the store")
	sinceFlag(c, &since, "decisions")
	return c
}

func policyReplay(ctx context.Context, a *App, dir, log string, since time.Time) error {
	points := host.PolicyPoints()
	set, err := host.LoadPolicies(points, dir)
	if err != nil {
		return err
	}
	var replayed *operation.PolicyReplayed
	if log != "" {
		replayed, err = replayLog(ctx, a, set, log, since)
	} else {
		replayed, err = replayStore(ctx, a, points, dir, since)
	}
	if err != nil {
		return err
	}
	if a.out.json {
		err = a.out.printJSON(replayed)
	} else {
		printPolicyReplay(a.out, replayed.Replay)
	}
	return exitNotValidUnless(replayed.Changed == 0, err)
}

// counted shows how many records were processed.
func counted(out *output, records iter.Seq2[*policy.Record, error]) iter.Seq2[*policy.Record, error] {
	return func(yield func(*policy.Record, error) bool) {
		taken := int64(0)
		for record, err := range records {
			taken++
			out.term.Step(taken, 0, decided)
			if !yield(record, err) {
				return
			}
		}
	}
}

// replayLog decides the decisions of a file again.
func replayLog(ctx context.Context, a *App, set *policy.Set, log string, since time.Time) (_ *operation.PolicyReplayed, err error) {
	f, err := a.input.open(log)
	if err != nil {
		return nil, sdk.Wrap("open the decision log", err)
	}
	defer closing(&err, f)
	a.out.term.Status("deciding again …")
	replay, err := set.Replay(ctx, counted(a.out, policy.ReadLog(f)), policy.ReplayOptions{Since: since, Engine: host.Engine})
	return &operation.PolicyReplayed{Replay: replay}, err
}

// replayStore lets the host decide its own decisions again, with the policies of a
// folder.
func replayStore(ctx context.Context, a *App, points *policy.Points, dir string, since time.Time) (*operation.PolicyReplayed, error) {
	files, err := policyFiles(points, dir)
	if err != nil {
		return nil, err
	}
	a.out.term.Status("deciding again …")
	replayed, err := do[operation.PolicyReplayed](ctx, a, "policy_replay", &operation.PolicyReplay{Files: files, Since: since})
	if err != nil {
		return nil, err
	}
	for _, p := range replayed.Pruned {
		a.out.term.Line("note: decisions of %s until %s were pruned, and aren't decided again", p.Point, term.Time(p.Until))
	}
	return replayed, nil
}

func printPolicyReplay(out *output, r *policy.Replay) {
	for _, c := range r.Changes {
		fmt.Fprintf(out.Stdout, "%s  %s %s %s\n", term.Time(c.At), c.Point, term.Clean(c.Namespace), term.Clean(c.Subject))
		fmt.Fprintf(out.Stdout, "  - %s  (%s)\n  + %s  (%s)\n", outputLine(c.Before), term.Clean(c.FileBefore), outputLine(c.After), term.Clean(c.FileAfter))
		if len(c.Unmet) > 0 {
			fmt.Fprintf(out.Stdout, "    it wants %s, which the engine refuses: %s\n", outputLine(c.Wanted), strings.Join(c.Unmet, ", "))
		}
	}
	if more := r.Changed - len(r.Changes); more > 0 {
		fmt.Fprintf(out.Stdout, "and %d more\n", more)
	}
	fmt.Fprintf(out.Stdout, "%d of %s would change", r.Changed, plural(r.Decided, "decision", "decisions"))
	if r.Failed > 0 {
		fmt.Fprintf(out.Stdout, ", %d of them because the policy fails", r.Failed)
	}
	if r.Refused > 0 {
		fmt.Fprintf(out.Stdout, "; %d more would want something else, which the engine refuses", r.Refused)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(out.Stdout, "; %d more can't be decided again: inputs are masked or weren't kept", r.Skipped)
	}
	fmt.Fprintln(out.Stdout)
}
