package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
)

func decisionsCommand(a *App) *cobra.Command {
	return noun("decisions", "Look at what policies decided", `Look at what policies decided, and why. Refusals and decisions that changed something are always
recorded, others are sampled.`,
		decisionsListCommand(a), decisionsShowCommand(a),
	)
}

func decisionsListCommand(a *App) *cobra.Command {
	in := &operation.DecisionList{}
	c := verb[operation.Page[operation.Decided]]{
		Use: "list", Short: "List recorded decisions, the oldest first unless --newest is given",
		Example:   "  reflectory decisions list --point gate\n  reflectory decisions list --outcome allow=false --since 7d",
		Operation: "decision_list", In: in, Paging: &in.Paging,
		Print: table("", []string{"DECISION", "AT", "POINT", "NAMESPACE", "OUTCOME", "RULE"}, func(d operation.Decided) []string {
			return []string{d.ID, term.Time(d.At), string(d.Point), cell(d.Namespace), cell(outcomeText(d.Output)), cell(d.Rule)}
		}),
	}.command(a)
	c.Flags().StringVar((*string)(&in.Point), "point", "", "the policy point")
	c.Flags().StringVar(&in.Namespace, "namespace", "", "the namespace to look in (default: all)")
	c.Flags().BoolVar(&in.Subtree, "subtree", false, "look in the namespaces below as well")
	sinceFlag(c, &in.Since, "decisions")
	c.Flags().BoolVar(&in.Newest, "newest", false, "the newest first")
	c.Flags().StringVar(&in.Outcome, "outcome", "", "a `field=value` of the outcome, such as allow=false")
	return c
}

// jsonOr prints a result as JSON, unless there is an error.
func (out *output) jsonOr(result any, err error) error {
	if err != nil {
		return err
	}
	return out.printJSON(result)
}

// outcomeText is an outcome as "field=value", sorted.
func outcomeText(output map[string]any) string {
	var list []string
	for name, value := range output {
		list = append(list, fmt.Sprintf("%s=%v", name, value))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func decisionsShowCommand(a *App) *cobra.Command {
	in := &operation.DecisionGet{}
	return verb[operation.Decision]{
		Use: "show ID", Short: "Show a decision: its rule, its inputs and its outcome",
		Example:   "  reflectory decisions show 01939f33",
		Operation: "decision_get", In: in, Args: []*string{&in.ID},
		Print: func(out *output, d *operation.Decision) error {
			fmt.Fprintf(out.Stdout, "decision   %s\npoint      %s\nnamespace  %s\nat         %s\npolicy     %s\nrule       %s\ncondition  %s\noutcome    %s\n",
				d.ID, d.Point, oneLine(d.Namespace), term.Time(d.At), oneLine(d.File), oneLine(d.Rule), oneLine(d.Condition), oneLine(outcomeText(d.Output)))
			if d.Failure != nil {
				fmt.Fprintf(out.Stdout, "failure    %s\n", oneLine(d.Failure.Message))
			}
			for _, line := range []string{"", "inputs:", term.Lines(string(jsontext.MustEncode(d.Inputs)))} {
				if err := out.say("%s", line); err != nil {
					return err
				}
			}
			return nil
		},
	}.command(a)
}
