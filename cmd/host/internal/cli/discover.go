package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/host/operation"
)

func discoverCommand(a *App) *cobra.Command {
	in := &operation.Discover{}
	c := verb[discover.Answer]{
		Use: "discover INTENT", Short: "Find the tool, plugin or workflow that fits an intent",
		Long: `Find the tool, plugin or workflow that fits an intent, among those that you may use. A
clear match is recommended. If the match is less clear, the answer is a question to ask
first. If nothing fits well, the answer is to do nothing.`,
		Example:   `  reflectory discover "check a document against a JSON Schema"`,
		Operation: "discover", In: in, Args: []*string{&in.Intent},
		Print: showDiscovered,
	}.command(a)
	namespaceFlag(c, &in.Namespace)
	return c
}

func showDiscovered(out *output, answer *discover.Answer) error {
	out.term.Line("confidence %s", answer.Confidence)
	switch {
	case answer.ExecutionBlocked:
		out.term.Line("nothing fits well enough: %s", answer.Add)
	case answer.ClarificationRequired:
		out.term.Line("%s", answer.Question)
	default:
		r := answer.Recommended
		out.term.Line("use %s", oneLine(calledBy(r)))
	}
	var rows [][]string
	for _, r := range append(answer.Candidates, answer.Nearest...) {
		rows = append(rows, []string{fmt.Sprintf("%.2f", r.FinalScore), cell(oneLine(calledBy(&r))), cell(strings.TrimSpace(r.Description))})
	}
	if len(rows) == 0 {
		return nil
	}
	return out.table([]string{"SCORE", "COMMAND", "DESCRIPTION"}, rows)
}

// calledBy is the command of a candidate, or its operation.
func calledBy(r *discover.Ranked) string {
	return cmp.Or(r.Usage.Call, r.Usage.Operation)
}

// commandFor is the command of a call that is recommended, with what the caller fills in as words in
// capitals; "" if there is no such command.
func commandFor(root *cobra.Command, operation string, arguments map[string]any) string {
	noun, do, _ := strings.Cut(strings.ReplaceAll(operation, "_", " "), " ")
	for _, name := range []string{
		commandsOf()[operation], strings.TrimSpace(noun + " " + do), noun + "s " + do, noun + " " + strings.ReplaceAll(do, "get", "show"), noun + "s " + strings.ReplaceAll(do, "get", "show"),
	} {
		if name == "" || commandOf(root, name) == nil {
			continue
		}
		return commandTemplate(commandOf(root, name), "reflectory "+name, arguments)
	}
	return ""
}

// commandTemplate is a command with its operands, as its usage has them, and with the flags that take arguments. An
// argument for which it has neither is in the file or the text that it reads.
func commandTemplate(c *cobra.Command, line string, arguments map[string]any) string {
	words := []string{line}
	for _, operand := range operands(c) {
		if !strings.HasPrefix(operand, "[") {
			words = append(words, operand)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(arguments)) {
		f := flagFor(c, field)
		if positional(c, field) != "" || f == nil {
			continue
		}
		called, _ := pflag.UnquoteUsage(f)
		if words = append(words, "--"+f.Name); called != "" { // a switch has no value
			words = append(words, strings.ToUpper(called))
		}
	}
	return strings.Join(words, " ")
}

// commandsOf are the commands of operations that have other names.
func commandsOf() map[string]string {
	return map[string]string{
		"run_start": "run", "run_resume": "resume", "run_replay": "replay", "run_attempts": "runs show", "run_attempts_diff": "runs diff", "run_events": "runs show",
		"audit_entries": "audit show", "audit_streams": "audit show", "audit_verify_segment": "audit verify", "job_result": "jobs show", "job_enqueue": "memory sweep",
		"login_new": "open", "memory_observe_all": "memory observe", "plugin_get": "plugin inspect",
		"reflection_enqueue": "reflect", "reflection_status": "jobs show", "reflection_cancel": "jobs cancel",
		"snapshot_build": "inject build", "snapshot_diff": "inject diff", "snapshot_get": "inject show", "snapshot_list": "inject list", "snapshot_replay": "inject replay",
	}
}
