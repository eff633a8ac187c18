//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// killWorld is a folder with a workflow, plugins and a data folder.
type killWorld struct {
	t         *testing.T
	dir, self string
	env       []string
	// tally is the file in which calls are noted; "" if there is none.
	tally string
	// log is what servers said; to be read once they have ended.
	log bytes.Buffer
}

const tallyWorkflow = `name: tally
nodes:
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/tally, config: {file: %[1]q, passes: %[2]d, works: 1000000}}
      corrector: {plugin: test/tally, config: {file: %[1]q, passes: %[2]d, works: 1000000}}
      evaluator: {plugin: test/tally, config: {file: %[1]q, passes: %[2]d, works: 1000000}}
      max_iterations: 1000
`

func newKillWorld(t *testing.T) *killWorld {
	t.Helper()
	dir := t.TempDir()
	w := &killWorld{t: t, dir: dir, self: filepath.Join(dir, "reflectory")}
	if err := linkFile(filepath.Join(programs, "reflectory"), w.self); err != nil {
		t.Fatal(err)
	}
	lock := installPlugins(t, filepath.Join(dir, "plugins"))
	w.env = []string{"HOME=" + dir, "REFLECTORY_DATA_DIR=" + filepath.Join(dir, "data"), "REFLECTORY_LOCK=" + lock}
	return w
}

// count makes tally note its calls in a file. The sandbox would deny it that, and
// is off.
func (w *killWorld) count() *killWorld {
	w.tally = filepath.Join(w.dir, "tally.txt")
	w.env = append(w.env, "REFLECTORY_SANDBOX=off")
	return w
}

// workflow writes the workflow.
func (w *killWorld) workflow(format string, args ...any) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "workflow.yaml"), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// start starts the program in a session of its own, so that whatever it leaves
// behind can be found in the process table.
func (w *killWorld) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.t.Helper()
	return w.startReading(nil, args...)
}

// startReading starts it with an input; nil is none.
func (w *killWorld) startReading(input *os.File, args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(w.self, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.env, w.dir, &out, w.t.Output()
	if input != nil {
		cmd.Stdin = input
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd, &out
}

// json runs the program to its end and decodes what it prints.
func (w *killWorld) json(v any, args ...string) int {
	w.t.Helper()
	cmd, out := w.start(append(args, "--json")...)
	_ = cmd.Wait()
	if err := json.Unmarshal(out.Bytes(), v); err != nil {
		w.t.Fatalf("%v printed %q: %v", args, out, err)
	}
	return cmd.ProcessState.ExitCode()
}

// session lists the processes of a session, by the process table.
func session(t *testing.T, id int) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range dirs {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest) // state, ppid, pgrp, session
		if len(fields) > 3 && fields[3] == strconv.Itoa(id) && fields[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitEmpty waits until a session has no process left.
func waitEmpty(t *testing.T, id int) {
	t.Helper()
	until(t, fmt.Sprintf("no process outlives the host %d", id), func() bool { return len(session(t, id)) == 0 })
}

type shownRun struct {
	ID     string      `json:"run_id"`
	Status core.Status `json:"status"`
	Loops  []struct {
		Attempts []core.Attempt `json:"attempts"`
	} `json:"loops"`
}

// recorded is the newest run and its attempts, as far as they are stored.
func (w *killWorld) recorded(filter ...string) (shownRun, bool) {
	w.t.Helper()
	var list struct {
		Items []struct {
			ID string `json:"run_id"`
		}
	}
	if w.json(&list, append([]string{"runs", "list"}, filter...)...); len(list.Items) == 0 {
		return shownRun{}, false
	}
	var run shownRun
	if code := w.json(&run, "runs", "show", list.Items[0].ID); code != 0 {
		w.t.Fatalf("runs show: exit %d", code)
	}
	if run.Status == core.StatusRunning {
		w.t.Errorf("run %s is shown as running, and nobody runs it", run.ID)
	}
	return run, true
}

// kills is how many moments are tried: some, or 200 in make stress.
func kills(some int) int {
	if os.Getenv("REFLECTORY_STRESS") != "" {
		return 200
	}
	return some
}

func TestAHostKilledAtAnyMomentLosesNothingAndLeavesNothing(t *testing.T) {
	coretest.Long(t)
	t.Run("counting what is paid for", func(t *testing.T) { newKillWorld(t).count().killMany(kills(20)) })
	t.Run("sandboxed", func(t *testing.T) { newKillWorld(t).killMany(kills(20) / 2) })
}

// Who looks at a run has the store alone, so that no program runs it any more.
func TestAKilledRunIsShownAsInterrupted(t *testing.T) {
	w := newKillWorld(t).count()
	w.workflow(tallyWorkflow, w.tally, 1000)
	cmd, _ := w.start("run", "workflow.yaml")
	w.awaitTally() // the run is recorded before its generator is asked
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	waitEmpty(t, cmd.Process.Pid)
	run, found := w.recorded()
	if !found || run.Status != core.StatusInterrupted {
		t.Fatalf("the run is shown as %q", run.Status)
	}
	var list struct {
		Items []struct {
			ID string `json:"run_id"`
		}
	}
	if w.json(&list, "runs", "list", "--status", "interrupted"); len(list.Items) != 1 || list.Items[0].ID != run.ID {
		t.Errorf("the runs that were interrupted are %+v", list.Items)
	}
}

// killMany kills running hosts, so many times.
func (w *killWorld) killMany(kills int) {
	const passes = 12
	w.t.Helper()
	w.workflow(tallyWorkflow, w.tally, passes)
	began := time.Now()
	var whole core.LoopResult
	if code := w.json(&whole, "run", "workflow.yaml"); code != exitPassed || whole.Iteration != passes {
		w.t.Fatalf("undisturbed: exit %d, %s after %d iterations: %v", code, whole.Status, whole.Iteration, whole.Errors)
	}
	length := time.Since(began)
	hit := 0
	for range kills * 10 {
		if hit == kills {
			return
		}
		_ = os.RemoveAll(filepath.Join(w.dir, "data"))
		_ = os.Remove(w.tally)
		if w.killed(&length, "run", "workflow.yaml") {
			hit++
			w.checkResume(passes)
		}
	}
	w.t.Fatalf("only %d of %d kills met a running host", hit, kills)
}

// checkResume resumes the killed run and checks that its history is whole.
func (w *killWorld) checkResume(passes int) {
	w.t.Helper()
	before, found := w.recorded()
	if !found || before.Status == core.StatusPassed {
		return // killed before its first commit, or after its last
	}
	var result core.LoopResult
	if code := w.json(&result, "resume", before.ID); code != exitPassed || len(result.History) != passes {
		w.t.Fatalf("resume: exit %d, %+v", code, result)
	}
	for i, h := range result.History {
		if h.Iteration != i+1 {
			w.t.Fatalf("the history has a gap at %d: %+v", i+1, h)
		}
	}
	if len(before.Loops) > 0 {
		for i, a := range before.Loops[0].Attempts {
			if string(result.History[i].Output) != string(a.Output) {
				w.t.Fatalf("attempt %d was committed as %s and is now %s", i+1, a.Output, result.History[i].Output)
			}
		}
	}
	w.checkTally()
}

// checkTally checks that at most one call was paid for twice.
func (w *killWorld) checkTally() {
	w.t.Helper()
	if w.tally == "" {
		return
	}
	notes, err := os.ReadFile(w.tally)
	if err != nil {
		w.t.Fatal(err)
	}
	count, repeated := map[string]int{}, 0
	for key := range strings.FieldsSeq(string(notes)) {
		if count[key]++; count[key] > 1 {
			repeated++
		}
	}
	if repeated > 1 {
		w.t.Fatalf("%d calls were repeated: %v", repeated, count)
	}
}

func TestAPluginKilledInACallDoesNotEndTheRun(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t).count()
	const passes = 8
	holds := filepath.Join(w.dir, "holds")
	holdAt := func(notes string) {
		if err := os.WriteFile(holds, []byte(notes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holdAt("3")
	w.workflow(strings.ReplaceAll(tallyWorkflow, "works: 1000000", "holds: %[3]q"), w.tally, passes, holds)
	cmd, out := w.start("run", "workflow.yaml", "--json")
	for _, notes := range []int{3, 6} {
		until(t, "a call is held", func() bool {
			text, _ := os.ReadFile(w.tally)
			return bytes.Count(text, []byte("\n")) >= notes
		})
		plugins := slices.DeleteFunc(session(t, cmd.Process.Pid), func(pid int) bool { return pid == cmd.Process.Pid })
		if len(plugins) == 0 || syscall.Kill(plugins[0], syscall.SIGKILL) != nil {
			t.Errorf("no plugin to kill: %v", plugins)
		}
		holdAt(map[int]string{3: "6", 6: "1000"}[notes])
	}
	_ = cmd.Wait()
	waitEmpty(t, cmd.Process.Pid)
	var result core.LoopResult
	if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.Status != core.StatusPassed || result.Iteration != passes {
		t.Fatalf("the run ended otherwise: %s", out)
	}
}
