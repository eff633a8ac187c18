package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
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
	// Model is the language model that was asked; left out if the agent was the script.
	Model string `json:"model,omitempty"`
	// Runs are Monday's run, Tuesday's, and Tuesday's without a memory.
	Runs []tried `json:"runs"`
	// Memory and Gate are about what Monday's run wrote; null if it wrote nothing, since the model's
	// first answer passed.
	Memory *memory.Explanation `json:"memory"`
	Gate   *gate.Explanation   `json:"gate"`
}

// tried is a run of a trial.
type tried struct {
	Day      string          `json:"day"`
	Input    string          `json:"input"`
	RunID    string          `json:"run_id"`
	Status   core.Status     `json:"status"`
	Attempts []core.Attempt  `json:"attempts"`
	Output   json.RawMessage `json:"output"`
	// Given and Written are the ids of memories that it was given and wrote.
	Given   []string `json:"given"`
	Written []string `json:"written"`
}

func tryCommand(a *App) *cobra.Command {
	var keep string
	var show bool
	model := &tryModel{}
	c := &cobra.Command{
		Use: "try", Short: "See in seconds, offline, how a run learns from an earlier one",
		Long: `See how a run learns from an earlier one. An agent reads delivery notes on two days.
On Monday it makes a mistake, is corrected, and what was wrong is remembered. On Tuesday
that memory is recalled, and the first attempt passes. Tuesday's note is then read again
without the memory, to compare.

The agent is a script in place of a model, so that this works offline and costs nothing.
All else is what every workflow uses: the loop, the evaluator, the plugins, the memory and
the gate. Everything is in a temporary folder, which is deleted, unless --keep names one.

With --model, the agent is your own language model, at an OpenAI-compatible endpoint such
as Ollama's. What it answers decides how the story ends. With --open, the page of
Monday's run is shown in a browser, at what each attempt changed, until Ctrl-C.`,
		Example: "  reflectory try\n  reflectory try --keep first",
		RunE: func(c *cobra.Command, _ []string) error {
			if model.endpoint == "" {
				for _, flag := range []string{"model-name", "key-env"} {
					if c.Flags().Changed(flag) {
						return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s needs --model, the URL of the model's endpoint", flag)}
					}
				}
				return a.try(c.Context(), keep, show, nil)
			}
			return a.try(c.Context(), keep, show, model)
		},
	}
	c.Flags().StringVar(&model.endpoint, "model", "", "the `URL` of a language model's endpoint, such as http://127.0.0.1:11434/v1")
	c.Flags().StringVar(&model.name, "model-name", "", "with --model: the model's `name` (default: the first that the endpoint lists)")
	c.Flags().StringVar(&model.keyEnv, "key-env", "", "with --model: the environment `variable` that holds the key")
	c.Flags().BoolVar(&show, "open", false, "then show it in a browser, until Ctrl-C")
	c.Flags().StringVar(&keep, "keep", "", "keep everything in this new `folder`, to look at it")
	return c
}

// try runs the trial in a folder that is deleted, and prints what happened; keep names a folder that
// is kept. A nil model is the script. With show, the trial is then served until the context ends.
func (a *App) try(ctx context.Context, keep string, show bool, model *tryModel) (err error) {
	dir := keep
	if model != nil {
		if err := model.find(ctx, a.Getenv); err != nil {
			return err
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "reflectory-try-"); err != nil {
			return sdk.Errorf(sdk.Unavailable, "folder_failed", "a temporary folder: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what can't be deleted is in the folder for temporary files
	} else if err := os.Mkdir(dir, 0o750); err != nil {
		return sdk.Errorf(sdk.Conflict, "folder_failed", "--keep: %w", err).WithHint("name a folder that doesn't exist yet")
	}
	if err := writeTrial(dir, model); err != nil {
		return err
	}
	app, err := trialApp(a, dir)
	if err != nil {
		return err
	}
	t, err := app.twoDays(core.WithCaller(ctx, core.Operator(app.config.Agent.Value)), dir, model != nil)
	if closed := app.closeHost(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if t.Dir = keep; model != nil {
		t.Model = model.name + " at " + model.endpoint
	}
	if a.out.json {
		err = a.out.printJSON(t)
	} else {
		printTrial(a.out, t)
	}
	if err != nil || !show {
		return err
	}
	if app, err = trialApp(a, dir); err != nil {
		return err
	}
	defer func() {
		if closed := app.closeHost(); err == nil {
			err = closed
		}
	}()
	return showTrial(ctx, app, t.Runs[0].RunID)
}

// writeTrial writes the files of a trial.
func writeTrial(dir string, model *tryModel) error {
	files, name := tryFiles(), "workflow.yaml"
	if model != nil {
		name = "model.yaml"
	}
	text, err := fs.ReadFile(examples.Learn, "learn-from-failures/"+name)
	if err != nil {
		return err
	}
	files["workflow.yaml"] = string(text)
	if model != nil {
		files["reflectory.yaml"] += model.settings()
		if files["workflow.yaml"], err = model.workflow(string(text)); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return sdk.Errorf(sdk.Unavailable, "folder_failed", "%w", err)
		}
	}
	return nil
}

// trialApp is the program in the folder of a trial. Its settings are the folder's own: a store or a
// server of the user isn't touched.
func trialApp(a *App, dir string) (*App, error) {
	app := &App{Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, Getenv: pluginsOnly(a.Getenv), Base: a.Base, folder: dir, input: a.input}
	app.begin()
	app.out.commands = a.out.commands
	app.flags.dataDir, app.flags.listen = filepath.Join(dir, "data"), "127.0.0.1:0"
	return app, app.load()
}

// showTrial serves the trial on a free port of this machine, and opens the page of a run.
func showTrial(ctx context.Context, a *App, runID string) error {
	ctx = core.WithCaller(ctx, core.Operator(a.config.Agent.Value))
	r := &reach{ready: func(ctx context.Context) error {
		login, err := do[operation.NewLogin](ctx, a, "login_new", &operation.LoginNew{})
		if err != nil {
			return err
		}
		link := string(login.URL) + "&" + url.Values{"to": {"/runs/" + runID}}.Encode()
		if term.Styled(a.out.Stdout) {
			a.openBrowser(ctx, link)
		}
		a.out.term.Line("the page of Monday's run, for a minute: %s\nCtrl-C ends it", link)
		return nil
	}}
	return a.serve(ctx, r)
}

// pluginsOnly is the environment without the program's settings, except where plugins are, how they
// are confined and who acts.
func pluginsOnly(getenv func(string) string) func(string) string {
	return func(name string) string {
		switch name {
		case "REFLECTORY_LOCK", "REFLECTORY_PLUGIN_DIR", "REFLECTORY_SANDBOX", "REFLECTORY_AGENT":
		default:
			if strings.HasPrefix(name, "REFLECTORY_") {
				return ""
			}
		}
		return getenv(name)
	}
}

// twoDays runs the workflow for both days, and asks why the memory is as it is.
func (a *App) twoDays(ctx context.Context, dir string, asksModel bool) (*trial, error) {
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
		if ended.Status != core.StatusPassed && (!asksModel || ended.Status != core.StatusExhausted) {
			err := sdk.Errorf(sdk.Unavailable, "try_failed", "%s's run ended as %s: %s", day.name, ended.Status, runError(ended.Run))
			if ended.Run.Error != nil {
				err = err.WithHint("%s", a.out.hint(ended.Run.Error))
			}
			return nil, err
		}
		run, err := do[operation.Run](ctx, a, "run_get", &operation.RunGet{ID: ended.ID})
		if err != nil {
			return nil, err
		}
		done := tried{Day: day.name, Input: tryFiles()[day.file], RunID: run.RunID, Status: run.Status, Attempts: run.Loops[0].Attempts, Given: run.Memories.Given, Written: run.Memories.Written}
		done.Output = done.Attempts[len(done.Attempts)-1].Output
		t.Runs = append(t.Runs, done)
	}
	if len(t.Runs[0].Written) == 0 && asksModel {
		return t, nil
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
	const what = "Reflectory checks what an AI agent produces, sends it back until it passes, and remembers what was wrong, so that the next run knows it from the start. "
	if t.Model == "" {
		p.paragraphs(what + "Here an agent reads delivery notes, and the total has to be a number, not text. The agent is a small script, so that this works offline and costs nothing; a real one is a model or a program of yours. Checks, corrections and memory are real.")
	} else {
		p.paragraphs(what + "Here your model reads delivery notes. This house writes order numbers without their letters, which the model isn't told until it was wrong.")
		line("model", "%s", t.Model)
	}
	title := ""
	if t.Memory != nil {
		title = t.Memory.Memory.Title
	}
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
		if run.Status != core.StatusPassed {
			line("", "given up: no attempt passed")
		}
		if i == 0 && t.Memory == nil {
			line("remembered", "nothing: the first attempt passed")
		} else if i == 0 {
			line("remembered", "%q", title)
			line("", "%s", t.Memory.Memory.Content)
		}
	}
	p.title("Result")
	line("attempts", "%d with the memory, %d without it", len(t.Runs[1].Attempts), len(t.Runs[2].Attempts))
	if t.Memory == nil {
		printNext(p, t)
		return
	}
	signals := t.Memory.Memory.Signals
	line("the memory", "%s read it, and %d passed", plural(int(signals.RelevantTurns), "run", "runs"), signals.Successes)
	line("next", "it has to prove itself: a memory that keeps helping is promoted to knowledge, which is trusted, and one that keeps failing is deleted. Each such decision is recorded with its reasons")
	printNext(p, t)
}

// printNext names what to type next.
func printNext(p page, t *trial) {
	p.title("Where to go next")
	self := programName()
	next := func(what, command string) { p.entry(what, command, 21) }
	if t.Dir == "" {
		next("keep all of this", self+" try --keep first")
	} else {
		next("the folder of this", "cd "+shellWord(t.Dir))
		next("the three runs", self+" runs list")
		if t.Memory != nil {
			next("what it has to prove", self+" gate explain "+t.Memory.ID)
		}
		next("the same in a browser", self+" serve, and then "+self+" open")
	}
	next("a project of your own", self+" init hello")
	next("all commands", self+" help")
}
