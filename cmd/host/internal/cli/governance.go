package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
)

func governanceCommand(a *App) *cobra.Command {
	return noun("governance", "Set and explain the settings of a namespace", `Set and explain the settings of a namespace. Settings have levels: '*' for all
namespaces, then a, a/b and so on. Each field is resolved separately, from the most
specific level that sets it. A field that a level locks can't be set below it.`,
		governanceSetCommand(a), governanceUnsetCommand(a), governanceGetCommand(a), governanceExplainCommand(a),
	)
}

func governanceSetCommand(a *App) *cobra.Command {
	var fields strings.Builder
	for _, f := range governance.Fields() {
		fmt.Fprintf(&fields, "  %-30s  %s (default %s)\n", f.Name, f.What, setting(f.Default))
	}
	in := &operation.GovernanceSet{}
	return verb[governance.Record]{
		Use: "set NAMESPACE FIELD=VALUE…", Short: "Set fields of a namespace, or of '*' for all",
		Long: "Set fields of a namespace, or of '*' for all. If there are problems, all\nof them are reported and nothing is changed. The fields:\n\n" +
			fields.String() + "  locked                          fields, or groups such as retention, separated by commas, that no level below may set",
		Example: "  reflectory governance set team/a max_reflection_depth=2 limits.max_memories=1000\n" +
			"  reflectory governance set '*' retention.w_miss=0.05 locked=retention",
		Operation: "governance_set", In: in, Args: []*string{&in.Namespace}, Rest: &in.Assignments,
		Print: printSettings,
	}.command(a)
}

func governanceUnsetCommand(a *App) *cobra.Command {
	in := &operation.GovernanceUnset{}
	return verb[governance.Record]{
		Use: "unset NAMESPACE [FIELD…]", Short: "Unset fields of a namespace, or all of them",
		Long: `Unset fields of a namespace, so that the levels above decide. Without FIELD, everything
that the level sets is dropped, even if it can't be read.`,
		Example:   "  reflectory governance unset team/a limits.max_memories",
		Operation: "governance_unset", In: in, Args: []*string{&in.Namespace}, Rest: &in.Fields,
		Print: printSettings,
	}.command(a)
}

func governanceGetCommand(a *App) *cobra.Command {
	in := &operation.GovernanceGet{}
	return verb[governance.Record]{
		Use: "get NAMESPACE", Short: "Print what one level itself sets",
		Example:   "  reflectory governance get team/a",
		Operation: "governance_get", In: in, Args: []*string{&in.Namespace},
		Print: printSettings,
	}.command(a)
}

// printSettings prints the settings of a level.
func printSettings(out *output, record *governance.Record) error {
	values := record.Values()
	if len(values) == 0 && len(record.Locked) == 0 {
		out.term.Line("%s sets nothing itself: governance explain shows the settings in force", term.Clean(record.Namespace))
		return nil
	}
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Field, setting(v.Value)})
	}
	if len(record.Locked) > 0 {
		rows = append(rows, []string{"locked", strings.Join(record.Locked, ", ")})
	}
	return out.table([]string{"FIELD", "VALUE"}, rows)
}

func governanceExplainCommand(a *App) *cobra.Command {
	in := &operation.GovernanceExplain{}
	return verb[governance.Explanation]{
		Use: "explain NAMESPACE", Short: "Print the settings in force in a namespace, and their levels",
		Long: `Print each field, its value and the level that sets it. If settings can't be read,
no memory is reflected on or changes its state, and the exit code is 3.`,
		Example:   "  reflectory governance explain team/a/b",
		Operation: "governance_explain", In: in, Args: []*string{&in.Namespace},
		Print: printExplanation,
		End:   func(e *governance.Explanation) error { return exitNotValidUnless(e.Failure == nil, nil) },
	}.command(a)
}

func printExplanation(out *output, e *governance.Explanation) error {
	err := printRows(out, []string{"FIELD", "VALUE", "LEVEL", ""}, e.Fields, func(v governance.Value) []string {
		return []string{v.Field, setting(v.Value), v.Level, notes(v)}
	})
	if err != nil {
		return err
	}
	if e.Failure != nil {
		fmt.Fprintf(out.Stdout, "\n%s\n%s\n", term.Lines(e.Failure.Message), term.Clean(out.hint(e.Failure)))
	}
	return nil
}

// notes are remarks about a value.
func notes(v governance.Value) string {
	var list []string
	if v.LockedBy != "" {
		list = append(list, "locked by "+v.LockedBy)
	}
	for _, o := range v.Overridden {
		note := fmt.Sprintf("overrides %s of %s", setting(&o.Value), o.Level)
		if o.Locked {
			note = fmt.Sprintf("%s of %s is ignored", setting(&o.Value), o.Level)
		}
		list = append(list, note)
	}
	return strings.Join(list, "; ")
}

// setting formats a value; nil is none.
func setting(v *governance.Scalar) string {
	if v == nil {
		return "none"
	}
	return v.String()
}
