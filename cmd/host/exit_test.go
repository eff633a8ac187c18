package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
)

// world is a folder with plugins and a state folder, in which the program runs
// within the test.
type world struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	lock := installPlugins(t, filepath.Join(dir, "plugins"))
	return &world{t: t, dir: dir, env: map[string]string{
		"REFLECTORY_DATA_DIR": filepath.Join(dir, "data"), "REFLECTORY_LOCK": lock, "HOME": dir,
	}}
}

// unconfined turns the sandbox off, which would deny tally its file.
func (w *world) unconfined() *world {
	w.env["REFLECTORY_SANDBOX"] = "off"
	return w
}

// file writes a file into the world and returns its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// run runs the program and returns its exit code and what it printed.
func (w *world) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs, func(k string) string { return w.env[k] })
	return code, out.String(), errs.String()
}

// tallyLoop is a workflow whose attempts pass at an iteration.
func tallyLoop(passes int, more string) string {
	config := fmt.Sprintf("{plugin: test/tally, config: {file: '{{ state.file }}', passes: %d, works: 1000000}}", passes)
	return fmt.Sprintf("nodes:\n  - name: work\n    action: reflection.loop\n    with:\n      generator: %s\n      evaluator: %s\n%s",
		config, config, more)
}

func TestARunsStatusIsItsExitCode(t *testing.T) {
	cases := []struct {
		name, workflow string
		code           int
		status         core.Status
		reason         core.StopReason
	}{
		{"passed", tallyLoop(2, ""), exitPassed, core.StatusPassed, core.StopValid},
		{"exhausted", tallyLoop(9, "      max_iterations: 2\n"), exitNotValid, core.StatusExhausted, core.StopMaxIterations},
		{"raised", tallyLoop(9, "      on_failure: raise\n"), exitRaised, core.StatusRaised, core.StopMaxIterations},
		{"stopped", tallyLoop(9, "      stop_when: iteration == 2\n"), exitNotValid, core.StatusExhausted, core.StopWhen},
		{"accepted", tallyLoop(9, "      accept: score > 0.2\n"), exitPassed, core.StatusPassed, core.StopValid},
		{"timed out", tallyLoop(900, "      max_iterations: 900\n      timeout: 50ms\n"), exitNotValid, core.StatusExhausted, core.StopTimeout},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t).unconfined()
			code, out, _ := w.run(t.Context(), "run", "--json", w.file("w.yaml", c.workflow), "--state", "file="+filepath.Join(w.dir, "tally"))
			var r core.LoopResult
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if code != c.code || r.Status != c.status || r.StopReason != c.reason {
				t.Errorf("exit %d, %s by %s; want %d, %s by %s", code, r.Status, r.StopReason, c.code, c.status, c.reason)
			}
			if (r.Error != nil) != (c.status == core.StatusRaised) {
				t.Errorf("error %+v", r.Error)
			}
		})
	}
}

func TestACancelledRunGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t).unconfined()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tally := filepath.Join(w.dir, "tally")
	workflow := w.file("w.yaml", tallyLoop(30, "      max_iterations: 40\n"))
	done := make(chan struct{})
	var code int
	var out, errs string
	go func() {
		defer close(done)
		code, out, errs = w.run(ctx, "run", workflow, "--state", "file="+tally)
	}()
	for { // until some attempts are made
		if text, _ := os.ReadFile(tally); bytes.Count(text, []byte("\n")) >= 5 {
			break
		}
		select {
		case <-done:
			t.Fatalf("the run ended: %d %s %s", code, out, errs)
		default:
		}
	}
	cancel()
	<-done
	if code != exitCancelled || !strings.Contains(errs, "hint: go on with: reflectory resume ") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	_, id, _ := strings.Cut(errs, "reflectory resume ")
	code, out, errs = w.run(t.Context(), "resume", "--json", strings.TrimSpace(id))
	var r core.LoopResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitPassed || r.Iteration != 30 {
		t.Fatalf("resume: exit %d, %v: %s%s", code, err, out, errs)
	}
}

func TestTwoProgramsDoNotShareAStore(t *testing.T) {
	w := newWorld(t)
	app := &App{Stdout: t.Output(), Stderr: t.Output(), Getenv: func(k string) string { return w.env[k] }}
	if err := app.load(); err != nil {
		t.Fatal(err)
	}
	db, err := app.openStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	code, _, errs := w.run(t.Context(), "runs", "list", "--lock-wait", "0s")
	if code != exitFailure || !strings.Contains(errs, fmt.Sprint(os.Getpid())) || !strings.Contains(errs, "hint: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
