//go:build linux

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

func TestCallsOfAllKinds(t *testing.T) {
	for name, o := range map[string]process.Options{"tls": {}, "plain text": {PlainText: true}} {
		t.Run(name, func(t *testing.T) {
			i := start(t, o, self(t, "serve"))
			want := []sdk.Kind{sdk.KindCorrector, sdk.KindEvaluator, sdk.KindGenerator}
			if diff := cmp.Diff(want, i.Manifest().Kinds); diff != "" {
				t.Error(diff)
			}
			if err := i.Prepare(t.Context(), sdk.KindEvaluator, do("ok")); err != nil {
				t.Fatal(err)
			}
			verdicts, err := i.Evaluate(t.Context(), do("ok"), []*sdk.EvaluateRequest{{}, {}})
			if err != nil || len(verdicts) != 2 || !verdicts[1].Response.Verdict.Valid {
				t.Errorf("evaluate: %v %v", verdicts, err)
			}
			var chunks strings.Builder
			outputs, err := i.Generate(t.Context(), do(""), []*sdk.GenerateRequest{{Emit: func(s string) { chunks.WriteString(s) }}})
			if err != nil || string(outputs[0].Response.Output) != `"generated"` || chunks.String() != "generated" {
				t.Errorf("generate: %v %v %q", outputs, err, chunks.String())
			}
			repaired, err := i.Correct(t.Context(), do(""), []*sdk.CorrectRequest{{Output: json.RawMessage(`7`)}})
			if err != nil || string(repaired[0].Response.Output) != `7` {
				t.Errorf("correct: %v %v", repaired, err)
			}
		})
	}
}

func TestPluginThatExitsExplainsTheCallsThatItTook(t *testing.T) {
	tests := map[string][]string{
		"exit":  {"exited with status 4", "out of cheese"},
		"crash": {"exited with status 2", "panic: cheese crash"},
	}
	for what, says := range tests {
		t.Run(what, func(t *testing.T) {
			i := start(t, process.Options{}, self(t, "serve"))
			_, err := evaluate(t, i, do(what))
			wantError(t, err, sdk.Unavailable, "plugin_exited", says...)
			<-i.Done()
			wantError(t, i.Cause(), sdk.Unavailable, "plugin_exited", says...)
			_, err = evaluate(t, i, do("ok"))
			wantError(t, err, sdk.Unavailable, "plugin_exited", says...)
		})
	}
}

func TestPluginKilledInACallIsExplained(t *testing.T) {
	i := start(t, process.Options{}, self(t, "serve"))
	pid := pidOf(t, i)
	failed := make(chan error, 1)
	go func() {
		_, err := i.Evaluate(t.Context(), do("hang"), []*sdk.EvaluateRequest{{}})
		failed <- err
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-failed, sdk.Unavailable, "plugin_exited", "by signal 9 (killed)")
	<-i.Done()
	wantNoGroup(t, pid)
}

func TestKillEndsTheWholeGroupForAReason(t *testing.T) {
	dir := shortTempDir(t)
	p := self(t, "serve")
	p.Limits.Processes = 2
	p.Granted.FS = []string{"system"}
	i := start(t, process.Options{TempDir: dir}, p)
	if _, err := evaluate(t, i, do("child")); err != nil {
		t.Fatal(err)
	}
	pid := childOf(t, os.Getpid(), dir)
	if n := len(group(t, pid)); n != 2 {
		t.Fatalf("%d processes in the group, want the plugin and its child", n)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := i.Evaluate(t.Context(), do("hang"), []*sdk.EvaluateRequest{{}})
		failed <- err
	}()
	reason := errors.New("past its deadline")
	i.Kill(reason)
	if !errors.Is(i.Cause(), reason) {
		t.Errorf("cause %v", i.Cause())
	}
	wantError(t, <-failed, sdk.Unavailable, "plugin_exited", "past its deadline")
	wantNoGroup(t, pid)
	wantEmpty(t, dir)
}

func TestCloseIsGracefulIdempotentAndWithoutCause(t *testing.T) {
	dir := shortTempDir(t)
	i := start(t, process.Options{TempDir: dir, Grace: time.Minute}, self(t, "serve"))
	pid := pidOf(t, i)
	if err := errors.Join(i.Close(), i.Close()); err != nil {
		t.Fatal(err)
	}
	<-i.Done()
	if err := i.Cause(); err != nil {
		t.Errorf("cause %v", err)
	}
	wantNoGroup(t, pid)
	wantEmpty(t, dir)
}

func TestPluginThatHangsAtShutdownIsKilledAfterTheGrace(t *testing.T) {
	i := start(t, process.Options{Grace: 100 * time.Millisecond}, self(t, "stubborn"))
	pid := pidOf(t, i)
	began := time.Now()
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("it was killed after %s, before its grace", took)
	}
	wantNoGroup(t, pid)
}

func TestDeadlineLeavesTheInstanceRunning(t *testing.T) {
	p := self(t, "serve")
	p.Limits.Timeout = 50 * time.Millisecond // for calls that have none
	i := start(t, process.Options{}, p)
	_, err := i.Evaluate(t.Context(), do("hang"), []*sdk.EvaluateRequest{{}})
	wantError(t, err, sdk.Timeout, "call_timeout", "probe")
	if _, err := evaluate(t, i, do("ok")); err != nil {
		t.Error(err)
	}
}

func TestCancellationReachesABusyPluginOfOneProcessor(t *testing.T) {
	p := self(t, "serve")
	p.Limits.Parallel = 1
	i := start(t, process.Options{}, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	results, err := i.Evaluate(ctx, do("spin"), []*sdk.EvaluateRequest{{}})
	if err == nil { // the plugin's own answer came first
		err = results[0].Err
	}
	// The host's cancellation may reach the plugin before its own deadline does.
	if code := sdk.CodeOf(err); code != sdk.Timeout && code != sdk.Cancelled {
		t.Fatalf("got %v", err)
	}
	// It takes the next call only once it has given that one up.
	if _, err := evaluate(t, i, do("ok")); err != nil {
		t.Error(err)
	}
}

func TestProcessorsFollowTheCallsUnlessTheyAreGranted(t *testing.T) {
	for want, env := range map[string][]string{"1": nil, "2": {"GOMAXPROCS=2"}} {
		p := self(t, "serve")
		p.Env, p.Limits.Parallel = env, 1
		res, err := evaluate(t, start(t, process.Options{}, p), do("processors"))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Verdict.Feedback; got != want {
			t.Errorf("with %v the plugin has %s processors, want %s", env, got, want)
		}
	}
}

func TestHugeAndBrokenResponsesFailTheirCallOnly(t *testing.T) {
	p := self(t, "serve")
	p.Limits.MessageBytes = 1 << 20
	i := start(t, process.Options{}, p)
	_, err := evaluate(t, i, do("huge"))
	wantError(t, err, sdk.Exhausted, "message_too_large")
	_, err = evaluate(t, i, do("panic"))
	wantError(t, err, sdk.Internal, "plugin_panic", "no cheese")
	_, err = evaluate(t, i, do("nan"))
	wantError(t, err, sdk.Invalid, "score_not_finite")
	if _, err := evaluate(t, i, do("ok")); err != nil {
		t.Error(err)
	}
}

func TestLogsKeepLevelsAndFields(t *testing.T) {
	lines := make(chan plugin.LogLine, 1000)
	i := start(t, process.Options{Log: func(l plugin.LogLine) { lines <- l }}, self(t, "serve"))
	if _, err := evaluate(t, i, do("log")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]plugin.LogLine{}
	for len(seen) < 2 {
		select {
		case l := <-lines:
			seen[l.Message] = l
		case <-t.Context().Done():
			t.Fatal("lines are missing")
		}
	}
	low := seen["cheese is low"]
	if low.Level != "warn" || low.Plugin != "probe" || low.Fields["left"] != 3.0 || low.Time.IsZero() {
		t.Errorf("%+v", low)
	}
	if printed := seen["printed"]; printed.Level != "info" {
		t.Errorf("%+v", printed)
	}
}

func TestLogFloodIsCutAndCounted(t *testing.T) {
	var mu sync.Mutex
	var lines, dropped int
	began := time.Now()
	i := start(t, process.Options{Log: func(l plugin.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		lines++
		dropped += l.Dropped
	}}, self(t, "serve"))
	if _, err := evaluate(t, i, do("flood", 5000)); err != nil {
		t.Fatal(err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	seconds := int(time.Since(began)/time.Second) + 1
	if lines > 101*seconds+1 {
		t.Errorf("%d lines in %d s", lines, seconds)
	}
	if lines+dropped < 5000 {
		t.Errorf("%d delivered and %d dropped of 5000", lines, dropped)
	}
}

// What a plugin wrote counts, however late the host comes to read it.
func TestLinesAreReadAfterTheEnd(t *testing.T) {
	const written = 400 // fewer than fill a pipe, so that the plugin can end
	read := make(chan struct{})
	var lines int
	dir := shortTempDir(t)
	i := start(t, process.Options{TempDir: dir, Log: func(l plugin.LogLine) {
		<-read
		lines += 1 + l.Dropped
		if l.Message != "flood" {
			lines-- // it only says how many were dropped
		}
	}}, self(t, "serve"))
	release := sync.OnceFunc(func() { close(read) })
	t.Cleanup(release) // before the instance is closed, which waits for the sink
	pid := childOf(t, os.Getpid(), dir)
	if _, err := evaluate(t, i, do("flood", written)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- i.Close() }()
	wantNoGroup(t, pid)
	<-time.After(400 * time.Millisecond) // twice as long as the host waits for more
	release()
	if err := <-closed; err != nil || lines != written {
		t.Errorf("%d lines of %d: %v", lines, written, err)
	}
}

// Without a sandbox a child can leave the plugin's group, and goes on writing to its pipe.
func TestAChildThatWritesOnDoesNotKeepTheInstance(t *testing.T) {
	coretest.Long(t)
	i := start(t, process.Options{Sandbox: sandbox.Off}, self(t, "serve"))
	got := try(t, i, "drip", "")
	child := number(strings.TrimPrefix(got, "got: "))
	if child == 0 {
		t.Fatal(got)
	}
	defer func() { _ = syscall.Kill(-child, syscall.SIGKILL) }()
	closed := make(chan error, 1)
	go func() { closed <- i.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the instance doesn't end")
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child ended too, so nothing was tested: %v", err)
	}
}

func pidOf(t *testing.T, i plugin.Instance) int {
	t.Helper()
	res, err := evaluate(t, i, do("pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(res.Verdict.Feedback)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
