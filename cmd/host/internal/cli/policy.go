package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/policytest"
	"github.com/reflectory/reflectory/sdk"
)

func (a *App) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check, test and compare policies, and tell how they decide",
		Long: `Check, test and compare policies, and tell how they decide. A policy folder holds
<point>/<name>.yaml, and cases beside it in <point>/<name>_test.yaml. Where no
file decides, the built-in default does: policy describe POINT prints it.`,
		RunE: needsCommand,
	}
	c.AddCommand(
		a.policyCheckCommand(), a.policyTestCommand(), a.policyExplainCommand(), a.policyEvalCommand(),
		a.policyDiffCommand(), a.policyReplayCommand(), a.policyDescribeCommand(),
	)
	return c
}

// currentPolicies loads the folder that a flag names, else that of the
// configuration.
func (a *App) currentPolicies(points *policy.Points, dir string) (*policy.Set, error) {
	if dir != "" {
		return host.LoadPolicies(points, dir)
	}
	set, _, err := host.LoadPolicyDir(points, a.config.PolicyDir)
	return set, err
}

// policiesFlag adds the flag that names the policy folder.
func policiesFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "policies", "", "policy `folder` (default: that of --policy-dir)")
}

// policyChecked is what check prints.
type policyChecked struct {
	Valid    bool               `json:"valid"`
	Digest   string             `json:"digest,omitempty"`
	Policies []operation.Policy `json:"policies,omitempty"`
	Problems []format.Problem   `json:"problems,omitempty"`
}

func (a *App) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check DIR", Short: "Say everything that is wrong with a policy folder",
		Long: `Say everything that is wrong with a policy folder: syntax, names, types, branches
that can't be reached, costs, and policies that hold at the same place. Exit
codes: 0 it can be used, 3 it can't.`,
		Example: "  reflectory policy check examples/policy-folder/policies",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.policyCheck(args[0]) },
	}
}

func (a *App) policyCheck(dir string) error {
	set, err := host.LoadPolicies(policy.NewPoints(), dir)
	checked := policyChecked{Valid: err == nil}
	if err != nil {
		problems, ok := sdk.AsError(err).Details["problems"].([]format.Problem)
		if !ok {
			return err
		}
		checked.Problems = problems
	} else {
		checked.Digest = set.Digest()
		for _, p := range set.Files() {
			checked.Policies = append(checked.Policies, operation.PolicyOf(p))
		}
	}
	return exitNotValidUnless(checked.Valid, a.printChecked(checked))
}

func (a *App) printChecked(checked policyChecked) error {
	if a.flags.json {
		return a.printJSON(checked)
	}
	for _, problem := range checked.Problems {
		fmt.Fprintln(a.Stdout, term.Lines(problem.String()))
	}
	if !checked.Valid {
		return nil
	}
	var rows [][]string
	for _, p := range checked.Policies {
		kind := "decides"
		if p.Optional {
			kind = "decides, or leaves it open"
		}
		if p.Shadow {
			kind = "shadow: only logs"
		}
		cost := fmt.Sprintf("≤ %d", p.Cost)
		if p.Tracked {
			cost = "watched"
		}
		rows = append(rows, []string{p.File, p.Namespace, kind, cost})
	}
	return a.table([]string{"POLICY", "NAMESPACE", "WHAT", "COST"}, rows)
}

func (a *App) policyTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test DIR", Short: "Run the cases beside the policies of a folder",
		Long: `Run the cases beside the policies of a folder. Each policy is tested alone; inputs
that a case doesn't name are empty, and a case names the outputs that it cares
for. Conditions that the cases saw only one way are listed. Exit codes: 0 every
case passed, 3 one didn't.`,
		Example: "  reflectory policy test examples/policy-folder/policies",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.policyTest(c.Context(), args[0]) },
	}
}

func (a *App) policyTest(ctx context.Context, dir string) error {
	folder, err := host.PolicyFolder(dir)
	if err != nil {
		return err
	}
	reports, err := policytest.Folder(ctx, policy.NewPoints(), folder)
	if err != nil {
		return err
	}
	passed := !slices.ContainsFunc(reports, func(r *policytest.Report) bool { return !r.Passed() })
	if a.flags.json {
		return exitNotValidUnless(passed, a.printJSON(map[string]any{"passed": passed, "reports": reports}))
	}
	for _, r := range reports {
		a.printReport(r)
	}
	return exitNotValidUnless(passed, nil)
}

func (a *App) printReport(r *policytest.Report) {
	covered, of := r.Covered()
	if r.Suite == "" {
		fmt.Fprintf(a.Stdout, "%s: no cases\n", term.Clean(r.Policy))
		return
	}
	word := "passed"
	if !r.Passed() {
		word = fmt.Sprintf("%d failed", len(r.Failures))
	}
	fmt.Fprintf(a.Stdout, "%s: %d cases, %s; %d of %d matches seen both ways\n", term.Clean(r.Policy), r.Cases, word, covered, of)
	for _, f := range r.Failures {
		fmt.Fprintf(a.Stdout, "  %s:%d: %s, %s: %s\n", term.Clean(r.Suite), f.Line, term.Clean(f.Section), term.Clean(f.Name), term.Clean(f.Message))
	}
	for _, c := range r.Coverage {
		switch {
		case c.Covered():
		case c.Held == 0 && c.Failed == 0:
			fmt.Fprintf(a.Stdout, "  line %d: %s was never reached\n", c.Line, c.Path)
		case c.Held == 0:
			fmt.Fprintf(a.Stdout, "  line %d: %s never held: %s\n", c.Line, c.Path, term.Clean(c.Condition))
		default:
			fmt.Fprintf(a.Stdout, "  line %d: %s never failed: %s\n", c.Line, c.Path, term.Clean(c.Condition))
		}
	}
}
