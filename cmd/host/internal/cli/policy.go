package cli

import (
	"context"
	"fmt"
	"path"
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

func policyCommand(a *App) *cobra.Command {
	return noun("policy", "Check, test and compare policies, and show how they decide", `Check, test and compare policies, and show how they decide. A policy folder holds
<point>/<name>.yaml, and cases next to it in <point>/<name>_test.yaml. It may also hold
prompt policies (prompt-policies/<name>.yaml) and role mixes (role-mixes/<name>.yaml).
Where no file decides, the built-in default does: policy describe POINT prints it. Hosts
that share a database use no folder, but the set that policy push put there.`,
		policyListCommand(a), policyCheckCommand(a.out), policyTestCommand(a.out), policyPushCommand(a), policyExplainCommand(a), policyEvalCommand(a),
		policyDiffCommand(a.out), policyReplayCommand(a), policyDescribeCommand(a.out),
	)
}

// currentPolicies loads the folder that a flag names, otherwise the policies in force: the
// set in the database that is the store, or the configured folder.
func currentPolicies(ctx context.Context, a *App, points *policy.Points, dir string) (*policy.Set, error) {
	if dir != "" {
		return host.LoadPolicies(points, dir)
	}
	if a.config.Shared() && !a.remote() {
		h, err := a.openHost(ctx)
		if err == nil {
			err = h.Ready(ctx)
		}
		if err != nil {
			return nil, err
		}
		return h.Policies.Set(), nil
	}
	set, _, err := host.LoadPolicyDir(points, a.config.PolicyDir)
	return set, err
}

// policiesFlag adds the flag that names the policy folder.
func policiesFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "policies", "", "policy `folder` (default: --policy-dir)")
}

// policyChecked is what check prints.
type policyChecked struct {
	Valid    bool               `json:"valid"`
	Digest   string             `json:"digest,omitempty"`
	Policies []operation.Policy `json:"policies,omitempty"`
	// PromptFiles are the folder's prompt policies and role mixes.
	PromptFiles []operation.PromptFile `json:"prompt_files,omitempty"`
	Problems    []format.Problem       `json:"problems,omitempty"`
}

func policyCheckCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "check DIR", Short: "Say everything that is wrong with a policy folder",
		Long: `Say everything that is wrong with a policy folder: syntax, names, types, branches
that can't be reached, costs, and policies with the same point and namespace. Exit
codes: 0 it can be used, 3 it can't.`,
		Example: "  reflectory policy check examples/policy-folder/policies",
		RunE:    func(_ *cobra.Command, args []string) error { return policyCheck(out, args[0]) },
	}
}

func policyCheck(out *output, dir string) error {
	set, err := host.LoadPolicies(host.PolicyPoints(), dir)
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
		checked.PromptFiles = operation.PromptFilesOf(host.PromptTexts(set))
	}
	return exitNotValidUnless(checked.Valid, printChecked(out, checked))
}

func printChecked(out *output, checked policyChecked) error {
	if out.json {
		return out.printJSON(checked)
	}
	for _, problem := range checked.Problems {
		fmt.Fprintln(out.Stdout, term.Lines(problem.String()))
	}
	if !checked.Valid {
		return nil
	}
	return printPolicies(out, checked.Policies, checked.PromptFiles)
}

func policyListCommand(a *App) *cobra.Command {
	return verb[operation.Policies]{
		Use: "list", Short: "List the policies that are in force",
		Long: `List the policies that are in force, by file: the policies of the folder or, where hosts
share a database, the policies that were pushed to it. Prompt policies and role mixes
follow, also the ones of the data folder. Where there is none, the built-in
defaults decide; see reflectory policy explain.`,
		Example:   "  reflectory policy list",
		Operation: "policy_list", In: &operation.PolicyList{},
		Print: func(out *output, found *operation.Policies) error {
			if len(found.Items)+len(found.PromptFiles) == 0 {
				out.term.Line("there is no policy: the built-in defaults decide")
				return nil
			}
			return printPolicies(out, found.Items, found.PromptFiles)
		},
	}.command(a)
}

func policyPushCommand(a *App) *cobra.Command {
	in := &operation.PolicyPush{}
	return verb[host.Pushed]{
		Use: "push DIR", Short: "Put a policy folder in force for all hosts that share a database",
		Long: `Check a policy folder, store it in the database that hosts share (--store), and put it
in force for all of them at once: whatever is committed after the push was decided by
it, or by a later one, and prompts that begin after it have its prompt policies and role
mixes. What the folder doesn't have is no longer in force. Pushing the folder that is already in force changes nothing. A
folder is refused if its policies wouldn't let you push another one.`,
		Example:   "  reflectory policy push examples/policy-folder/policies",
		Operation: host.PushOperation, In: in,
		Prepare: func(_ *cobra.Command, args []string) (err error) {
			points := host.PolicyPoints()
			if _, err = host.LoadPolicies(points, args[0]); err == nil {
				in.Files, err = policyFiles(points, args[0])
			}
			return err
		},
		Print: func(out *output, pushed *host.Pushed) error {
			if pushed.Unchanged {
				return out.say("these policies decide already: epoch %d, %s", pushed.Epoch, pushed.Digest)
			}
			what := plural(pushed.Files, "policy", "policies")
			if pushed.PromptFiles > 0 {
				what += " and " + plural(pushed.PromptFiles, "file", "files") + " for prompts"
			}
			return out.say("in force from now on: %s, epoch %d, %s", what, pushed.Epoch, pushed.Digest)
		},
	}.command(a)
}

// policyFiles are the files of a folder of policies.
func policyFiles(points *policy.Points, dir string) (map[string]string, error) {
	folder, err := host.PolicyFolder(dir)
	if err != nil {
		return nil, err
	}
	return points.Files(folder)
}

func printPolicies(out *output, list []operation.Policy, prompts []operation.PromptFile) error {
	var rows [][]string
	for _, p := range list {
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
	for _, f := range prompts {
		kind := "is in prompts"
		if path.Dir(f.File) == host.RoleMixDir {
			kind = "a role mix"
		}
		rows = append(rows, []string{f.File, "", kind, ""})
	}
	return out.table([]string{"POLICY", "NAMESPACE", "WHAT", "COST"}, rows)
}

func policyTestCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "test DIR", Short: "Run the test cases of a policy folder",
		Long: `Run the test cases that are next to the policies of a folder. Each policy is tested
alone; inputs that a case doesn't name are empty, and a case names only the outputs that
it checks. Conditions that were only ever true, or only ever false, are listed. Exit
codes: 0 every case passed, 3 a case failed.`,
		Example: "  reflectory policy test examples/policy-folder/policies",
		RunE:    func(c *cobra.Command, args []string) error { return policyTest(c.Context(), out, args[0]) },
	}
}

func policyTest(ctx context.Context, out *output, dir string) error {
	folder, err := host.PolicyFolder(dir)
	if err != nil {
		return err
	}
	reports, err := policytest.Folder(ctx, host.PolicyPoints(), folder)
	if err != nil {
		return err
	}
	passed := !slices.ContainsFunc(reports, func(r *policytest.Report) bool { return !r.Passed() })
	if out.json {
		return exitNotValidUnless(passed, out.printJSON(map[string]any{"passed": passed, "reports": reports}))
	}
	for _, r := range reports {
		printReport(out, r)
	}
	return exitNotValidUnless(passed, nil)
}

func printReport(out *output, r *policytest.Report) {
	covered, of := r.Covered()
	if r.Suite == "" {
		fmt.Fprintf(out.Stdout, "%s: no cases\n", term.Clean(r.Policy))
		return
	}
	word := "passed"
	if !r.Passed() {
		word = fmt.Sprintf("%d failed", len(r.Failures))
	}
	fmt.Fprintf(out.Stdout, "%s: %s, %s; %d of %s seen both ways\n", term.Clean(r.Policy), plural(r.Cases, "case", "cases"), word, covered, plural(of, "match", "matches"))
	for _, f := range r.Failures {
		fmt.Fprintf(out.Stdout, "  %s:%d: %s, %s: %s\n", term.Clean(r.Suite), f.Line, term.Clean(f.Section), term.Clean(f.Name), term.Clean(f.Message))
	}
	for _, c := range r.Coverage {
		switch {
		case c.Covered():
		case c.Held == 0 && c.Failed == 0:
			fmt.Fprintf(out.Stdout, "  line %d: %s was never reached\n", c.Line, c.Path)
		case c.Held == 0:
			fmt.Fprintf(out.Stdout, "  line %d: %s never held: %s\n", c.Line, c.Path, term.Clean(c.Condition))
		default:
			fmt.Fprintf(out.Stdout, "  line %d: %s never failed: %s\n", c.Line, c.Path, term.Clean(c.Condition))
		}
	}
}
