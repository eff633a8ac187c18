//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// hostileWorkflow makes a good plugin produce an output and a bad one judge it.
const hostileWorkflow = `name: "hostile \e[2J"
nodes:
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/tally, config: {file: %q, passes: 1}}
      evaluator: {plugin: test/%s, timeout: %s, config: {do: %q}}
      max_iterations: 2
`

func newHostileWorld(t *testing.T) *killWorld {
	t.Helper()
	w := newKillWorld(t)
	for name := range hostiles {
		installPlugin(t, filepath.Join(w.dir, "plugins"), "test/"+name, "1.0.0", []sdk.Kind{sdk.KindEvaluator})
	}
	return w
}

// hostile writes the workflow of a bad plugin, and how long it may take.
func (w *killWorld) hostile(plugin, do, limit string) {
	w.t.Helper()
	w.workflow(hostileWorkflow, w.tally, plugin, limit, do)
}

// alone is json, and makes sure that no process is left.
func (w *killWorld) alone(v any, args ...string) int {
	w.t.Helper()
	cmd, out := w.start(append(args, "--json")...)
	_ = cmd.Wait()
	waitEmpty(w.t, cmd.Process.Pid)
	if err := json.Unmarshal(out.Bytes(), v); err != nil {
		w.t.Fatalf("%v printed %q: %v", args, out, err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestABadPluginEndsTheRunWithItsNameAndTheCause(t *testing.T) {
	coretest.Long(t)
	w := newHostileWorld(t)
	for _, c := range []struct{ plugin, do, code, cause string }{
		{"exit-at-start", "", "plugin_exited", "exited with status 3; it wrote: no licence"},
		{"garbage-at-start", "", "handshake_invalid", "hello, I am a plugin"},
		{"endless-at-start", "", "handshake_invalid", ""},
		{"liar", "", "manifest_mismatch", "it says name schema-eval, not liar"},
		{"hostile", "exit", "plugin_exited", "exited with status 4; it wrote: out of cheese"},
		{"hostile", "crash", "plugin_exited", "panic: cheese crash"},
		{"hostile", "hang", "plugin_timeout", "1s"},
		{"hostile", "loop", "plugin_timeout", "1s"},
		{"hostile", "error", "internal", "error"},
		{"hostile", "fork", "internal", "operation not permitted"},
		{"hostile", "huge", "message_too_large", "over the cap of 8388608 bytes"},
		{"hostile", "nan", "score_not_finite", "not a number"},
		{"hostile", "not JSON", "response_invalid", "is not JSON"},
		{"hostile", "not UTF-8", "response_invalid", "UTF-8"},
		{"hostile", "deep", "response_invalid", "nests more than 256 deep"},
		{"hostile", "findings", "response_invalid", "more than 1000"},
		{"hostile", "tokens", "response_invalid", "tokens"},
		{"hostile", "cost", "response_invalid", "cost"},
	} {
		t.Run(c.plugin+" "+c.do, func(t *testing.T) {
			w.t = t
			limit := "1h" // an end by the limit isn't the plugin's own end
			if c.code == "plugin_timeout" {
				limit = "1s"
			}
			w.hostile(c.plugin, c.do, limit)
			var got endedRun
			if code := w.alone(&got, "run", "workflow.yaml"); code != exitFailure {
				t.Errorf("exit %d", code)
			}
			if c.code != "" && got.Error.Code != c.code || !strings.Contains(got.Error.Message, c.plugin) || !strings.Contains(got.Error.Message, c.cause) {
				t.Errorf("got %s: %s", got.Error.Code, got.Error.Message)
			}
			var run shownRun
			w.json(&run, "runs", "show", got.RunID)
			run.checkCommitted(t, c.do != "")
		})
	}
}

// checkCommitted checks that a run which a bad plugin ended can be continued, and
// still has the output that was made before: none for a plugin that doesn't start.
func (r shownRun) checkCommitted(t *testing.T, made bool) {
	t.Helper()
	switch {
	case !r.Status.Resumable():
		t.Errorf("it can't be gone on with: %+v", r)
	case !made && len(r.Loops) > 0:
		t.Errorf("it paid for an output that nobody could judge: %+v", r)
	case made && (len(r.Loops) != 1 || len(r.Loops[0].Attempts) == 0 || len(r.Loops[0].Attempts[0].Output) == 0):
		t.Errorf("what was committed is lost: %+v", r)
	}
}

// What the sandbox would refuse does no harm without it either.
func TestABadPluginThatAnswersDoesNoHarm(t *testing.T) {
	coretest.Long(t)
	w := newHostileWorld(t).count()
	for do, want := range map[string]int{"infinite": exitPassed, "flood": exitPassed, "fork": exitPassed, "escapes": exitNotValid} {
		t.Run(do, func(t *testing.T) {
			w.t = t
			w.hostile("hostile", do, "20s")
			var result struct {
				Status core.Status
				Error  core.ErrorInfo
			}
			if code := w.alone(&result, "run", "workflow.yaml"); code != want {
				t.Errorf("exit %d: %+v", code, result)
			}
		})
	}
}

func TestASignalCancelsTheRun(t *testing.T) {
	coretest.Long(t)
	// What is caught here is at its default in a program that is started; what is
	// ignored, as under nohup, stays so.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	w := newHostileWorld(t).count()
	w.hostile("hostile", "hang", "1m")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		_ = os.Remove(w.tally)
		cmd, _ := w.start("run", "workflow.yaml")
		w.awaitTally()
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
		waitEmpty(t, cmd.Process.Pid)
		if run, found := w.recorded(); cmd.ProcessState.ExitCode() != exitCancelled || !found || run.Status != core.StatusCancelled {
			t.Errorf("%s: exit %d, run %+v", sig, cmd.ProcessState.ExitCode(), run)
		}
	}
}

// stubbornWorkflow leaves a plugin idle that doesn't end when it is asked to,
// while a call of another hangs.
const stubbornWorkflow = `state: {output: 1}
nodes:
  - {name: judge, action: reflection.evaluate, with: {evaluator: {plugin: test/stubborn}}}
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/tally, config: {file: %q, passes: 1}}
      evaluator: {plugin: test/hostile, config: {do: hang}}
`

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	coretest.Long(t)
	w := newHostileWorld(t).count()
	w.workflow(stubbornWorkflow, w.tally)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		_ = os.Remove(w.tally)
		cmd, _ := w.start("run", "workflow.yaml")
		w.awaitTally()
		_ = cmd.Process.Signal(sig)
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		for done := false; !done; {
			select {
			case <-ended:
				done = true
			case <-time.After(50 * time.Millisecond): // the command waits for the stubborn plugin
				_ = cmd.Process.Signal(sig)
			}
		}
		waitEmpty(t, cmd.Process.Pid)
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%s twice: %s", sig, cmd.ProcessState)
		}
		if run, found := w.recorded(); !found || !run.Status.Resumable() {
			t.Errorf("%s twice: the run is %+v", sig, run)
		}
	}
}

// awaitTally waits until the generator has been paid for.
func (w *killWorld) awaitTally() {
	w.t.Helper()
	until(w.t, "the run doesn't get under way", func() bool { _, err := os.Stat(w.tally); return err == nil })
}

// shown is what a command prints: all to standard error, and to standard output,
// except a result that is no JSON, which goes to a file as it is.
func (w *killWorld) shown(args ...string) []byte {
	w.t.Helper()
	cmd := exec.Command(w.self, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.env, w.dir, &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	if args[0] == "run" && args[len(args)-1] != "--json" {
		out.Reset()
	}
	return append(errs.Bytes(), out.Bytes()...)
}

func TestNothingThatAPluginSaysSteersTheTerminal(t *testing.T) {
	coretest.Long(t)
	w := newHostileWorld(t)
	for _, c := range [][2]string{{"hostile", "error"}, {"hostile", "escapes"}, {"hostile", "flood"}, {"exit-at-start", ""}} {
		w.hostile(c[0], c[1], "20s")
		for _, args := range [][]string{
			{"run", "workflow.yaml", "--log-level", "trace", "--json"}, {"run", "workflow.yaml", "--log-level", "trace"},
			{"runs", "list"}, {"run", "no\x1b[2Jfile"},
		} {
			shown := w.shown(args...)
			if i := bytes.IndexByte(shown, 0x1b); i >= 0 {
				t.Errorf("%v of %v: it shows %q", args, c, shown[max(0, i-20):min(len(shown), i+20)])
			}
		}
	}
}
