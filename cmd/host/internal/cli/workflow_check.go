package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// checkedFiles is the result of a check, as JSON shows it.
type checkedFiles struct {
	Valid bool          `json:"valid"`
	Files []checkedFile `json:"files"`
}

// checkedFile is what is wrong with a workflow file, and what its run would ask of whom.
type checkedFile struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Problems []document.Problem `json:"problems,omitempty"`
	// Refused is why a run would be refused although the file itself is right, and Failing are the
	// plugins that don't work here.
	Refused *core.ErrorInfo  `json:"refused,omitempty"`
	Failing []core.ErrorInfo `json:"failing,omitempty"`
	Asks    []asked          `json:"asks,omitempty"`
}

// asked is a plugin or the memory, and what a run would ask of it.
type asked struct {
	// Of is a plugin's name, or "memory".
	Of string `json:"of"`
	// To is what it would do: evaluate, generate, correct; or the verbs of memory actions.
	To []string `json:"to"`
	// At are the endpoints that are named for it, Keys the variables whose values it would get.
	At   []string `json:"at,omitempty"`
	Keys []string `json:"keys,omitempty"`
}

func workflowCheckCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE…", Short: "Find the mistakes in workflow files, without running them",
		Long: `Find what a run of workflow files would refuse, and show what it would ask of whom.
The mistakes in a file and in the schemas that it names come all at once, each with its
line and column. If it has none, its plugins are started and check what only they know,
such as the syntax of a script. Nothing is generated or judged, no model is asked, and no
store is needed.

With --server, plugins are the server's, so only the files are checked.

Exit codes: 0 if all are valid, 3 if one isn't, 1 if one can't be read.`,
		Example: "  reflectory workflow check workflow.yaml\n  reflectory workflow check examples/extract-contact/workflow.yaml workflow.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			checked := checkedFiles{Valid: true}
			var failed []error
			for _, file := range args {
				found, err := checkWorkflow(c.Context(), a, file)
				if err != nil {
					failed = append(failed, err)
					continue
				}
				checked.Files, checked.Valid = append(checked.Files, found), checked.Valid && found.Valid
			}
			a.out.term.Clear()
			if err := core.JoinErrors(append(failed, printCheckedFiles(a.out, checked))...); err != nil {
				return err
			}
			return exitNotValidUnless(checked.Valid, nil)
		},
	}
}

// checkWorkflow checks a file, and has its plugins check their parts. An error means that the file
// can't be read.
func checkWorkflow(ctx context.Context, a *App, file string) (checkedFile, error) {
	found := checkedFile{File: file}
	source, err := workflow.Read(file)
	if err != nil {
		return found, err
	}
	plan, err := workflow.Load(source, host.LoadOptions())
	if err != nil {
		problems, ok := sdk.AsError(err).Details["problems"].([]document.Problem)
		if !ok {
			return found, err
		}
		found.Problems = problems
		return found, nil
	}
	found.Asks = asks(plan)
	if !a.remote() {
		h, err := a.openHost(ctx)
		if err != nil {
			return found, err
		}
		failing, err := h.Runner.Check(ctx, plan, a.config.Namespace.Value)
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if err != nil {
			found.Refused = core.NewErrorInfo(err)
		}
		for _, err := range failing {
			found.Failing = append(found.Failing, *core.NewErrorInfo(err))
		}
	}
	found.Valid = found.Refused == nil && found.Failing == nil
	return found, nil
}

// asks are the plugins that a plan uses, by name, and what it does with memories.
func asks(plan *workflow.Plan) (list []asked) {
	verbs := map[sdk.Kind]string{sdk.KindEvaluator: "evaluate", sdk.KindGenerator: "generate", sdk.KindCorrector: "correct"}
	for _, use := range plan.Plugins() {
		one := asked{Of: use.Plugin, At: use.URLs, Keys: use.EnvNames}
		for _, kind := range use.Kinds {
			one.To = append(one.To, verbs[kind])
		}
		list = append(list, one)
	}
	memory := asked{Of: "memory"}
	for _, node := range plan.Nodes {
		switch node.Action.(type) {
		case *action.MemorySpec, *action.SnapshotSpec:
			memory.To = append(memory.To, node.ActionName+" ("+node.Name+")")
		}
	}
	if memory.To != nil {
		list = append(list, memory)
	}
	return list
}

func printCheckedFiles(out *output, checked checkedFiles) error {
	if out.json {
		return out.printJSON(checked)
	}
	for _, f := range checked.Files {
		for _, problem := range f.Problems {
			fmt.Fprintln(out.Stdout, term.Lines(problem.String()))
		}
		if f.Valid {
			fmt.Fprintln(out.Stdout, term.Clean(f.File)+": valid")
		}
		for _, why := range f.why() {
			out.lines("  ", "%s: %s", f.File, why.Message)
			if why.Hint != "" {
				out.lines("  ", "  hint: %s", why.Hint)
			}
		}
		for _, ask := range f.Asks {
			line := "asks " + ask.Of + " to " + strings.Join(ask.To, ", ")
			if len(ask.At) > 0 {
				line += ", at " + strings.Join(ask.At, ", ")
			}
			if len(ask.Keys) > 0 {
				line += ", with the value of " + strings.Join(ask.Keys, ", ")
			}
			out.lines("    ", "  %s", line)
		}
	}
	return nil
}

// why is what prevents a run of a file whose text is right.
func (f *checkedFile) why() []core.ErrorInfo {
	if f.Refused != nil {
		return append([]core.ErrorInfo{*f.Refused}, f.Failing...)
	}
	return f.Failing
}
