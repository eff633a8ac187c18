package cli

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
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/sdk"
)

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
	if code != exitCancelled || !strings.Contains(errs, "hint: resume with: reflectory resume ") {
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
	if err := w.openHost().Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, _, errs := w.run(t.Context(), "runs", "list", "--lock-wait", "0s")
	if code != exitFailure || !strings.Contains(errs, fmt.Sprint(os.Getpid())) || !strings.Contains(errs, "hint: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs = w.run(t.Context(), "runs", "list", "--lock-wait", "1ms"); code != exitFailure {
		t.Errorf("exit %d: %s", code, errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, _ := w.run(ctx, "memory", "list", "--lock-wait", "1h", "--json")
	if code != exitCancelled || !strings.Contains(out, `"code": "cancelled"`) {
		t.Errorf("cancelled while it waits: exit %d: %s", code, out)
	}
}

// TestAResultIsShownNextToItsError is about a purge that is done although the store's files
// still hold what it removed: it ends with exit code 1, and the decision isn't lost.
func TestAResultIsShownNextToItsError(t *testing.T) {
	failed := sdk.Errorf(sdk.Conflict, "purge_held", "files hold it still")
	decision := &verdict.GateDecision{ID: "d-1", MemoryID: "m-1", NextAction: verdict.NextPurge}
	for _, asJSON := range []bool{false, true} {
		var stdout, stderr bytes.Buffer
		a := &App{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}
		c := a.root()
		a.out.json = asJSON
		v := verb[verdict.GateDecision]{Print: func(out *output, d *verdict.GateDecision) error { return out.say("%s: %s", d.MemoryID, d.NextAction) }}
		code := a.exit(c, v.end(a, decision, failed))
		if code != exitFailure {
			t.Errorf("exit %d", code)
		}
		if !asJSON {
			if stdout.String() != "m-1: purge\n" || stderr.String() != "error: files hold it still\n" {
				t.Errorf("%q, %q", &stdout, &stderr)
			}
			continue
		}
		var shown struct {
			verdict.GateDecision
			Error core.ErrorInfo
		}
		if err := json.Unmarshal(stdout.Bytes(), &shown); err != nil || shown.ID != "d-1" || shown.NextAction != "purge" || shown.Error.Code != "purge_held" {
			t.Errorf("error %v: %s", err, &stdout)
		}
	}
}
