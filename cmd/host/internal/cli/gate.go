package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

func gateCommand(a *App) *cobra.Command {
	return noun("gate", "Decide whether memories are kept, purged or promoted", `Decide whether memories are kept, purged or promoted to knowledge, with evidence from
tool calls and workflows, and by policy.`,
		gateRunCommand(a), gateExplainCommand(a), gateRequestCommand(a),
	)
}

// factorFlags adds the flags for factors of omega that the caller gives instead of the recorded
// ones; without its flag, a factor is absent.
func factorFlags(c *cobra.Command, factors *policypoint.OmegaFactors, notes *[]string) {
	optional(c, &factors.UpstreamStatus, "upstream-status", "`factor` from 0 to 1: the health of its upstream (default 0.5)")
	optional(c, &factors.CodebaseVerification, "codebase-verification", "`factor` from 0 to 1: whether the code confirms it (default 0.5)")
	optional(c, &factors.RuntimeUtilityTrend, "runtime-utility-trend", "`factor` from 0 to 1: whether its use is growing (default: its utility)")
	c.Flags().StringArrayVar(notes, "note", nil, "a line that is recorded with the decision; may be repeated")
}

func gateRunCommand(a *App) *cobra.Command {
	in := &operation.GateRun{}
	c := verb[verdict.GateAnswer]{
		Use: "run MEMORY", Short: "Have the gate decide on a memory that waits for it",
		Long: `Have the gate decide on a memory that is revalidate_pending, record the decision,
and carry it out: retain it, purge it, or promote it to knowledge. With --dry-run
it only decides, and writes nothing.`,
		Example: `  reflectory gate run deploy-notes --dry-run
  reflectory gate run deploy-notes --upstream-status 0.9 --note 'the build is green'`,
		Operation: "gate_run", In: in, Args: []*string{&in.ID},
		Print: func(out *output, d *verdict.GateAnswer) error {
			dry := ""
			if in.DryRun {
				dry = " (nothing was written)"
			}
			showGivenTo(out, d.GivenTo)
			return out.say("%s: %s, confidence %.3f%s\n%s", d.MemoryID, d.Verdict, d.Confidence, dry, term.Clean(d.Reason))
		},
	}.command(a)
	factorFlags(c, &in.OmegaFactors, &in.Notes)
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "decide and write nothing")
	return c
}

// maxGiven is how many runs, and how many reflections, are listed for people. --json
// lists all.
const maxGiven = 10

// showGivenTo lists the runs and reflections that received a purged memory; nil is
// none.
func showGivenTo(out *output, given *core.GivenTo) {
	if given == nil {
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
	in := &operation.GateExplain{}
	c := verb[gate.Explanation]{
		Use: "explain MEMORY", Short: "Show the numbers and the rule behind the gate's decision on a memory",
		Long: `Show the numbers of every lane, the rule that matched and the conditions behind the
gate's last decision on a memory, or, if there is none, with --now or with a factor,
behind the decision that it would make now. Nothing is written.`,
		Example: `  reflectory gate explain deploy-notes
  reflectory gate explain deploy-notes --upstream-status 0.9`,
		Operation: "gate_explain", In: in, Args: []*string{&in.ID},
		Print: func(out *output, e *gate.Explanation) error {
			if e.Decision.ID == "" {
				fmt.Fprintln(out.Stdout, "not decided: this is what the gate would decide now")
			}
			for _, line := range e.Lines(func(name string) string { return operation.TermFor(name).Label() }) {
				fmt.Fprintln(out.Stdout, term.Clean(line))
			}
			return nil
		},
	}.command(a)
	factorFlags(c, &in.OmegaFactors, &in.Notes)
	c.Flags().BoolVar(&in.Now, "now", false, "explain what the gate would decide now")
	return c
}

func gateRequestCommand(a *App) *cobra.Command {
	in := &operation.GateRequest{}
	c := verb[verdict.GateAnswer]{
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
		Example:   "  reflectory gate request old-notes --erase --reason 'it names a person'",
		Operation: "gate_request", In: in, Args: []*string{&in.ID},
		Prepare: func(*cobra.Command, []string) error {
			if !in.Erase {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--erase is missing").WithHint("nothing else can be requested from the gate yet")}
			}
			return nil
		},
		Print: func(out *output, d *verdict.GateAnswer) error {
			showGivenTo(out, d.GivenTo)
			showCopies(out, d)
			return out.say("%s: %s, by decision %s", d.MemoryID, d.NextAction, d.ID)
		},
	}.command(a)
	c.Flags().BoolVar(&in.Erase, "erase", false, "erase the memory")
	c.Flags().BoolVar(&in.Copies, "copies", false, "also erase the memories of its namespace with the same content")
	c.Flags().StringVar(&in.Reason, "reason", "", "the reason, in a line that is stored with the decision")
	required(c, "reason")
	return c
}

// showCopies lists the memories with the content of an erased one.
func showCopies(out *output, d *verdict.GateAnswer) {
	if len(d.ErasedCopies) > 0 {
		out.term.Line("erased with it, for the same content: %s", strings.Join(d.ErasedCopies, ", "))
	}
	if len(d.SameContent) > 0 {
		out.term.Line("the same content is still in %s (request their erasure too; --copies does that at once)", strings.Join(d.SameContent, ", "))
	}
}
