package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

func runCommand(a *App) *cobra.Command {
	var flags stateFlags
	in := &operation.RunStart{}
	prepare := func(_ *cobra.Command, args []string) (err error) {
		if in.Workflow, in.SourceFiles, err = readSource(args[0]); err != nil {
			return err
		}
		in.Overlay, err = flags.overlay(a.input)
		return err
	}
	c := verb[operation.RunEnded]{
		Use: "run WORKFLOW", Short: "Run a workflow",
		Long: `Run a workflow. Its progress goes to standard error, its result to standard output. The
workflow's own state is overridden by --state-file, then by --input, which becomes
state.input, then by each --state.

Exit codes: 0 passed, 3 exhausted (the result is still printed), 5 raised, 130 cancelled, 1
failed. A run is exhausted if one of its loops is, unless the loop has on_exhausted:
continue. A run that failed or was cancelled can be resumed.

With --detach, a job does it: the command prints the run's id and ends with 0. A server works
on the job, or jobs work does. The workflow is still checked first, as is what it is given.`,
		Example: `  reflectory run examples/extract-contact/workflow.yaml --input examples/extract-contact/message.eml
  reflectory run workflow.yaml --state user.name=Ada --state retries=2 --json`,
		Operation: "run_start", In: in, Namespace: &in.Namespace, Call: func() operation.Call { return shownCall(a.out) },
		Prepare: prepare,
		Print:   printRun,
		End:     func(run *operation.RunEnded) error { return statusExit(run.Status) },
	}.command(a)
	detachFlag(a, c, verb[operation.JobQueued]{Operation: "run_start", In: in, Namespace: &in.Namespace, Prepare: prepare})
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&in.Session, "session", "", "`name` of the session whose turns are the run's recalls (default: the run's id)")
	c.Flags().StringArrayVar(&flags.set, "state", nil, "set `key=value` in the state; key a.b is b in the object a; the value is JSON if it can be parsed, else text")
	c.Flags().StringVar(&flags.file, "state-file", "", "override the state with a JSON object `file`")
	c.Flags().StringVar(&flags.input, "input", "", "put a `file`, or - for standard input, into state.input: parsed if it is named .json, else as text")
	traceContentFlag(a, c)
	return c
}

// readSource reads a YAML file, and the files that it names, for a request that contains its text.
func readSource(path string) (text string, files operation.SourceFiles, err error) {
	source, err := workflow.Read(path)
	if err != nil {
		return "", operation.SourceFiles{}, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	return source.Text, operation.SourceFiles{File: source.File, Files: source.Files, Folder: folder}, err
}

// shownCall is a call that shows a run while it runs.
func shownCall(out *output) operation.Call {
	return operation.Call{Events: runEvents(out), Pieces: out.term.Live() && !out.json}
}

func resumeCommand(a *App) *cobra.Command {
	in := &operation.RunResume{}
	c := verb[operation.RunEnded]{
		Use: "resume RUN", Short: "Resume a run that was killed, cancelled or failed",
		Long: `Resume a run that was killed, cancelled or failed, at the first step that it
did not record. RUN is a run's id, or at least its first 8 characters. The
workflow is the one that the run was started with, even if its file has changed.
A finished run is refused. The exit codes are the same as for run.`,
		Example:   "  reflectory resume 01939f2d",
		Operation: "run_resume", In: in, Args: []*string{&in.ID}, Call: func() operation.Call { return shownCall(a.out) },
		Print: printRun,
		End:   func(run *operation.RunEnded) error { return statusExit(run.Status) },
	}.command(a)
	traceContentFlag(a, c)
	return c
}

// detachFlag adds --detach to a command that runs a workflow: a job then does the operation of v.
func detachFlag(a *App, c *cobra.Command, v verb[operation.JobQueued]) {
	detach, waits := false, c.RunE
	v.Call = func() operation.Call { return operation.Call{Queue: true} }
	v.Print = func(out *output, queued *operation.JobQueued) error {
		out.term.Line("job %s is %s: reflectory jobs show %s", queued.JobID, queued.Status, queued.JobID)
		if a.server == nil {
			out.term.Line("hint: no server has the store: the job is done by reflectory serve, or by reflectory jobs work")
		}
		return out.say("%s", queued.RunID)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if detach {
			return v.run(a, c, args)
		}
		return waits(c, args)
	}
	c.Flags().BoolVar(&detach, "detach", false, "let a job do it, and print the run's id at once")
}

// printRun prints how a run ended.
func printRun(out *output, run *operation.RunEnded) error {
	if run.Status == core.StatusPassed || run.Status == core.StatusExhausted {
		if err := printOutput(out, run.Result); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("run %s %s", run.ID, run.Status)
	if len(run.ExhaustedLoops) > 0 {
		line += " (exhausted loops: " + strings.Join(run.ExhaustedLoops, ", ") + ")"
	}
	out.term.Line("%s", line)
	var hints []string
	if run.Error != nil {
		out.term.Line("error: %s", term.Lines(run.Error.Message))
		hints = append(hints, out.hint(run.Error))
	}
	hints = append(hints, inputHint(run.Run), resumeHint(run.Run))
	hints = slices.DeleteFunc(hints, func(h string) bool { return h == "" })
	if len(hints) > 0 {
		out.term.Line("hint: %s", term.Clean(strings.Join(hints, "; ")))
	}
	return nil
}

// readsInput matches a template or a script that reads what --input gives.
var readsInput = core.Pattern(`\bstate(\.input\b|\[["']input["']\])`)

// inputHint is the hint for a failed run that lacks the input that its workflow reads;
// "" for any other run.
func inputHint(run *core.Run) string {
	var state struct {
		Input json.RawMessage `json:"input"`
	}
	if run.Error == nil || json.Unmarshal(run.State, &state) != nil || state.Input != nil || !readsInput().MatchString(run.Source.Text) {
		return ""
	}
	return "the workflow reads state.input, but the run was given none: reflectory run " + run.Source.File + " --input FILE"
}

// resumeHint is the hint on how to resume a run; "" if that doesn't help, because the
// run is finished, or because its steps are used up and would be used up again.
func resumeHint(run *core.Run) string {
	if !run.Status.Resumable() || run.Error != nil && run.Error.Code == workflow.ReasonStepLimit {
		return ""
	}
	return "resume with: reflectory resume " + run.ID
}

// printOutput prints a result's output: a text without its control characters, and
// anything else as JSON. A result without output is printed whole, and so is the result
// of an evaluation, whose verdict is what matters. Of a loop that made no output, nothing is.
func printOutput(out *output, result json.RawMessage) error {
	var r struct {
		Output     json.RawMessage `json:"output"`
		Valid      *bool           `json:"valid"`
		StopReason *string         `json:"stop_reason"`
		Error      json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return sdk.Errorf(sdk.Internal, "result_invalid", "the run's result: %w", err)
	}
	if r.StopReason != nil && r.Error != nil {
		return nil
	}
	evaluation := r.Valid != nil && r.StopReason == nil
	if r.Output == nil || evaluation {
		return out.printJSON(result)
	}
	var text *string // stays nil for null
	if json.Unmarshal(r.Output, &text) == nil && text != nil {
		if term.IsTerminal(out.Stdout) {
			*text = term.Lines(*text)
		}
		_, err := fmt.Fprintln(out.Stdout, *text)
		return err
	}
	return out.printJSON(r.Output)
}
