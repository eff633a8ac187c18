package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func gateCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "gate", Short: "Decide whether memories are kept, purged or promoted",
		Long: `Decide whether memories are kept, purged or promoted to knowledge, with evidence from
tool calls and workflows, and by policy.`,
		RunE: needsCommand,
	}
	c.AddCommand(gateRunCommand(a), gateExplainCommand(a), gateRequestCommand(a))
	return c
}

// factorFlags are factors of omega that the caller gives instead of the recorded ones.
type factorFlags struct {
	upstream, codebase, trend float64
	notes                     []string
}

func (f *factorFlags) add(c *cobra.Command) {
	c.Flags().Float64Var(&f.upstream, "upstream-status", 0, "`factor` from 0 to 1: the health of its upstream (default 0.5)")
	c.Flags().Float64Var(&f.codebase, "codebase-verification", 0, "`factor` from 0 to 1: whether the code confirms it (default 0.5)")
	c.Flags().Float64Var(&f.trend, "runtime-utility-trend", 0, "`factor` from 0 to 1: whether its use is growing (default: its utility)")
	c.Flags().StringArrayVar(&f.notes, "note", nil, "a line that is recorded with the decision; may be repeated")
}

// factors are the factors in the flags; without its flag, a factor is absent.
func (f *factorFlags) factors(c *cobra.Command) core.OmegaFactors {
	return core.OmegaFactors{
		UpstreamStatus:       given(c, "upstream-status", f.upstream),
		CodebaseVerification: given(c, "codebase-verification", f.codebase),
		RuntimeUtilityTrend:  given(c, "runtime-utility-trend", f.trend),
	}
}

func gateRunCommand(a *App) *cobra.Command {
	var factors factorFlags
	var dryRun bool
	c := &cobra.Command{
		Use: "run MEMORY", Short: "Have the gate decide on a memory that waits for it",
		Long: `Have the gate decide on a memory that is revalidate_pending, record the decision,
and carry it out: retain it, purge it, or promote it to knowledge. With --dry-run
it only decides, and writes nothing.`,
		Example: `  reflectory gate run deploy-notes --dry-run
  reflectory gate run deploy-notes --upstream-status 0.9 --note 'the build is green'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return gateRun(c.Context(), a, &operation.GateRun{
				ID: args[0], OmegaFactors: factors.factors(c), Notes: factors.notes, DryRun: dryRun,
			})
		},
	}
	factors.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "decide and write nothing")
	return c
}

func gateRun(ctx context.Context, a *App, in *operation.GateRun) error {
	d, err := do[core.GateAnswer](ctx, a, "gate_run", in)
	if d == nil {
		return err
	}
	dry := ""
	if in.DryRun {
		dry = " (nothing was written)"
	}
	return showWith(err, func() error {
		showGivenTo(a.out, d.GivenTo)
		return a.out.printResult(d, "%s: %s, confidence %.3f%s\n%s", d.MemoryID, d.Verdict, d.Confidence, dry, term.Clean(d.Reason))
	})
}

// maxGiven is how many runs, and how many reflections, are listed for people. --json
// lists all.
const maxGiven = 10

// showGivenTo lists the runs and reflections that received a purged memory; nil is
// none.
func showGivenTo(out *output, given *core.GivenTo) {
	if given == nil || out.json {
		return
	}
	for _, to := range []struct {
		one, many string
		ids       []string
	}{{"run", "runs", given.Runs}, {"reflection", "reflections", given.Reflections}} {
		if len(to.ids) > 0 {
			more := ""
			if len(to.ids) > maxGiven {
				more = ", …"
			}
			out.term.Line("%s was given to %s, whose own text may repeat it: %s%s", given.MemoryID,
				plural(len(to.ids), to.one, to.many), strings.Join(to.ids[:min(maxGiven, len(to.ids))], ", "), more)
		}
	}
	if len(given.RetainedIn) > 0 {
		out.term.Line("the database keeps what was purged until it recycles it: %s", strings.Join(given.RetainedIn, ", "))
	}
}

func gateExplainCommand(a *App) *cobra.Command {
	var factors factorFlags
	var now bool
	c := &cobra.Command{
		Use: "explain MEMORY", Short: "Show the numbers and the rule behind the gate's decision on a memory",
		Long: `Show the numbers of every lane, the rule that matched and the conditions behind the
gate's last decision on a memory, or, if there is none, with --now or with a factor,
behind the decision that it would make now. Nothing is written.`,
		Example: `  reflectory gate explain deploy-notes
  reflectory gate explain deploy-notes --upstream-status 0.9`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return gateExplain(c.Context(), a, &operation.GateExplain{
				ID: args[0], OmegaFactors: factors.factors(c), Notes: factors.notes, Now: now,
			})
		},
	}
	factors.add(c)
	c.Flags().BoolVar(&now, "now", false, "explain what the gate would decide now")
	return c
}

func gateExplain(ctx context.Context, a *App, in *operation.GateExplain) error {
	e, err := do[gate.Explanation](ctx, a, "gate_explain", in)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.printJSON(e)
	}
	if e.Decision.ID == "" {
		fmt.Fprintln(a.out.Stdout, "not decided: this is what the gate would decide now")
	}
	for _, line := range e.Lines(func(name string) string { return operation.TermFor(name).Label() }) {
		fmt.Fprintln(a.out.Stdout, term.Clean(line))
	}
	return nil
}

func gateRequestCommand(a *App) *cobra.Command {
	var erase, copies bool
	var reason string
	c := &cobra.Command{
		Use: "request MEMORY", Short: "Ask the gate to erase a memory",
		Long: `Ask the gate to erase a memory, for example because of a person's right to be forgotten,
or because it is wrong. The request is sufficient evidence, whatever state the memory is
in. Knowledge that was made from it is purged too. The decision is recorded with the
reason, and the memory is purged like any other: its content also disappears from
recorded runs, which then show [purged]. Text that a model wrote from the memory can't
be found: the answer names the runs and the reflections that were given the memory, and
the memories of its namespace that have the same content; --copies erases these too. If
files can't be cleaned at once, the exit code is 1, the error says why, and the next
command that opens the store continues.`,
		Example: "  reflectory gate request old-notes --erase --reason 'it names a person'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !erase {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--erase is missing").WithHint("nothing else can be requested from the gate yet")}
			}
			return gateErase(c.Context(), a, &operation.GateRequest{ID: args[0], Erase: true, Reason: reason, Copies: copies})
		},
	}
	c.Flags().BoolVar(&erase, "erase", false, "erase the memory")
	c.Flags().BoolVar(&copies, "copies", false, "also erase the memories of its namespace with the same content")
	c.Flags().StringVar(&reason, "reason", "", "the reason, in a line that is stored with the decision")
	required(c, "reason")
	return c
}

func gateErase(ctx context.Context, a *App, in *operation.GateRequest) error {
	d, err := do[core.GateAnswer](ctx, a, "gate_request", in)
	if d == nil {
		return err
	}
	return showWith(err, func() error {
		showGivenTo(a.out, d.GivenTo)
		showCopies(a.out, d)
		return a.out.printResult(d, "%s: %s, by decision %s", d.MemoryID, d.NextAction, d.ID)
	})
}

// showCopies lists the memories with the content of an erased one.
func showCopies(out *output, d *core.GateAnswer) {
	if out.json {
		return
	}
	if len(d.ErasedCopies) > 0 {
		out.term.Line("erased with it, for the same content: %s", strings.Join(d.ErasedCopies, ", "))
	}
	if len(d.SameContent) > 0 {
		out.term.Line("the same content is still in %s (request their erasure too; --copies does that at once)", strings.Join(d.SameContent, ", "))
	}
}
