package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/examples"
	"github.com/reflectory/reflectory/sdk"
)

// A newcomer sees what the program is for before there is anything to set up: an example's workflow
// runs on two days in a folder of its own, with the operations and plugins that any workflow uses.
// What is printed is read from what was recorded, so that it can't differ from what happened.

// tryFiles are the files of a trial, in addition to the example's workflow.
func tryFiles() map[string]string {
	return map[string]string{
		"reflectory.yaml": "data_dir: data\nnamespace: examples/delivery-notes\n",
		"monday.txt":      "Order ORD-4711 / due 2026-05-04 / total 1.250,00 EUR",
		"tuesday.txt":     "Order ORD-4712 / due 2026-05-05 / total 980,50 EUR",
	}
}

// trial is what happened, as --json prints it.
type trial struct {
	// Dir is the folder with everything; "" if it was deleted.
	Dir string `json:"dir,omitempty"`
	// Runs are Monday's run, Tuesday's, and Tuesday's without a memory.
	Runs   []tried             `json:"runs"`
	Memory *memory.Explanation `json:"memory"`
	Gate   *gate.Explanation   `json:"gate"`
}

// tried is a run of a trial.
type tried struct {
	Day      string          `json:"day"`
	Input    string          `json:"input"`
	RunID    string          `json:"run_id"`
	Attempts []core.Attempt  `json:"attempts"`
	Output   json.RawMessage `json:"output"`
	// Given and Written are the ids of memories that it was given and wrote.
	Given   []string `json:"given"`
	Written []string `json:"written"`
}

func tryCommand(a *App) *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use: "try", Short: "See in seconds, offline, how a run learns from an earlier one",
		Long: `See how a run learns from an earlier one. An agent reads delivery notes on two days.
On Monday it makes a mistake, is corrected, and what was wrong is remembered. On Tuesday
that memory is recalled, and the first attempt passes. Tuesday's note is then read again
without the memory, to compare.

The agent is a script in place of a model, so that this works offline and costs nothing.
All else is what every workflow uses: the loop, the evaluator, the plugins, the memory and
the gate. Everything is in a temporary folder, which is deleted, unless --keep names one.`,
		Example: "  reflectory try\n  reflectory try --keep trial",
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := a.try(c.Context(), keep)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(t)
			}
			printTrial(a.out, t)
			return nil
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "keep everything in this new `folder`, to look at it")
	return c
}

// try runs the trial in a folder that is deleted; keep names one that is kept.
func (a *App) try(ctx context.Context, keep string) (t *trial, err error) {
	dir := keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "reflectory-try-"); err != nil {
			return nil, sdk.Errorf(sdk.Unavailable, "folder_failed", "a temporary folder: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what can't be deleted is in the folder for temporary files
	} else if err := os.Mkdir(dir, 0o750); err != nil {
		return nil, sdk.Errorf(sdk.Conflict, "folder_failed", "--keep: %w", err).WithHint("name a folder that doesn't exist yet")
	}
	workflow, err := fs.ReadFile(examples.Learn, "learn-from-failures/workflow.yaml")
	if err != nil {
		return nil, err
	}
	files := tryFiles()
	files["workflow.yaml"] = string(workflow)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, sdk.Errorf(sdk.Unavailable, "folder_failed", "%w", err)
		}
	}
	// Its settings are the folder's own: a store or a server of the user isn't touched.
	app := &App{Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, Getenv: a.pluginsOnly, Base: a.Base, folder: dir, input: a.input}
	app.begin()
	app.out.commands = a.out.commands
	app.flags.dataDir = filepath.Join(dir, "data")
	if err := app.load(); err != nil {
		return nil, err
	}
	defer func() {
		if closed := app.closeHost(); err == nil {
			err = closed
		}
	}()
	t, err = app.twoDays(core.WithCaller(ctx, core.Operator(app.config.Agent.Value)), dir)
	if err == nil {
		t.Dir = keep
	}
	return t, err
}

// pluginsOnly is the environment without the program's settings, except where plugins are, how they
// are confined and who acts.
func (a *App) pluginsOnly(name string) string {
	switch name {
	case "REFLECTORY_LOCK", "REFLECTORY_PLUGIN_DIR", "REFLECTORY_SANDBOX", "REFLECTORY_AGENT":
	default:
		if strings.HasPrefix(name, "REFLECTORY_") {
			return ""
		}
	}
	return a.Getenv(name)
}

// twoDays runs the workflow for both days, and asks why the memory is as it is.
func (a *App) twoDays(ctx context.Context, dir string) (*trial, error) {
	text, files, err := readSource(filepath.Join(dir, "workflow.yaml"))
	if err != nil {
		return nil, err
	}
	t := &trial{}
	for _, day := range []struct {
		name, file string
		state      []string
	}{
		{name: "Monday", file: "monday.txt"},
		{name: "Tuesday", file: "tuesday.txt"},
		{name: "Tuesday again, without the memory, to compare", file: "tuesday.txt", state: []string{"recall=false"}},
	} {
		in := &operation.RunStart{Workflow: text, SourceFiles: files, Namespace: a.config.Namespace.Value}
		flags := stateFlags{set: day.state, input: filepath.Join(dir, day.file)}
		if in.Overlay, err = flags.overlay(a.input); err != nil {
			return nil, err
		}
		ended, err := do[operation.RunEnded](ctx, a, "run_start", in)
		if err != nil {
			return nil, err
		}
		if ended.Status != core.StatusPassed {
			return nil, sdk.Errorf(sdk.Unavailable, "try_failed", "%s's run ended as %s: %s", day.name, ended.Status, runError(ended.Run))
		}
		run, err := do[operation.Run](ctx, a, "run_get", &operation.RunGet{ID: ended.ID})
		if err != nil {
			return nil, err
		}
		done := tried{Day: day.name, Input: tryFiles()[day.file], RunID: run.RunID, Attempts: run.Loops[0].Attempts, Given: run.Memories.Given, Written: run.Memories.Written}
		done.Output = done.Attempts[len(done.Attempts)-1].Output
		t.Runs = append(t.Runs, done)
	}
	if len(t.Runs[0].Written) == 0 {
		return nil, sdk.Errorf(sdk.Internal, "try_failed", "Monday's run remembered nothing")
	}
	id := t.Runs[0].Written[0]
	if t.Memory, err = do[memory.Explanation](ctx, a, "memory_explain", &operation.MemoryExplain{ID: id}); err != nil {
		return nil, err
	}
	t.Gate, err = do[gate.Explanation](ctx, a, "gate_explain", &operation.GateExplain{ID: id, Now: true})
	return t, err
}

// runError is why a run failed.
func runError(run *core.Run) string {
	if run.Error == nil {
		return "no error was recorded"
	}
	return run.Error.Message
}

// printTrial tells what happened.
func printTrial(out *output, t *trial) {
	p := newPage(out.Stdout)
	line := func(name, format string, args ...any) { p.entry(name, term.Clean(fmt.Sprintf(format, args...)), 10) }
	p.paragraphs("Reflectory checks what an AI agent puts out, has it corrected until it passes, and remembers what was wrong, so that the next run begins with it. Here an agent reads delivery notes, and each number has to be a number. The agent is a small script, so that this works offline and costs nothing; a real one is a model or a program of yours. Checks, corrections and memory are real.")
	title := t.Memory.Memory.Title
	for i, run := range t.Runs {
		p.title(run.Day)
		line("note", "%s", run.Input)
		if len(run.Given) > 0 {
			line("recalled", "%q, from %s: the agent reads it before it begins", title, t.Runs[0].Day)
		}
		for _, at := range run.Attempts {
			line(fmt.Sprintf("attempt %d", at.Iteration), "%s", at.Output)
			if at.Accepted {
				line("", "passed")
			} else {
				line("", "failed: %s", firstError(at.Errors))
			}
		}
		if i == 0 {
			line("remembered", "%q", title)
			line("", "%s", t.Memory.Memory.Content)
		}
	}
	p.title("Result")
	signals := t.Memory.Memory.Signals
	line("attempts", "%d with the memory, %d without it", len(t.Runs[1].Attempts), len(t.Runs[2].Attempts))
	line("the memory", "offered to %s, used in %d, of which %d passed", plural(int(signals.RelevantTurns), "run", "runs"), signals.Uses(), signals.Successes)
	line("next", "it stays on trial (%s): one that keeps helping becomes knowledge, one that keeps failing is deleted, and each such decision is recorded with its reasons", t.Gate.Decision.NextAction)
	p.title("Where to go next")
	self := programName()
	next := func(what, command string) { p.entry(what, command, 21) }
	if t.Dir == "" {
		next("keep it in a folder", self+" try --keep trial")
	} else {
		next("the folder of this", "cd "+shellWord(t.Dir))
		next("the three runs", self+" runs list")
		next("why it is on trial", self+" gate explain "+t.Memory.ID)
		next("the same in a browser", self+" serve, and then "+self+" open")
	}
	next("a project of your own", self+" init hello")
	next("all commands", self+" help")
}
