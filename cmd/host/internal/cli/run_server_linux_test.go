//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

var attempts = regexp.MustCompile(`\d+ attempts`)

// interrupted runs the workflow, interrupts it in the middle as Ctrl-C does, and returns
// what it printed and said, without ids and counts of attempts.
func (w *killWorld) interrupted(env ...string) string {
	w.t.Helper()
	_ = os.Remove(w.tally)
	var out, errs bytes.Buffer
	cmd := exec.Command(w.self, "run", "workflow.yaml")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(w.env[:len(w.env):len(w.env)], env...), w.dir, &out, &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.awaitTally()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	_ = cmd.Wait()
	said := errs.String()
	if i := strings.Index(said, "run "); i > 0 {
		said = said[i:] // before it are the steps that it reached
	}
	said = attempts.ReplaceAllString(said, "N attempts") // a signal may arrive after another one
	return fmt.Sprintf("exit %d\n%s%s", cmd.ProcessState.ExitCode(), each.ReplaceAllString(out.String(), "EACH"), each.ReplaceAllString(said, "EACH"))
}

// TestRun_InterruptedOverAServerEndsAsWithoutOne: the run is cancelled and recorded as such,
// the command says how to continue it, and the server keeps working.
func TestRun_InterruptedOverAServerEndsAsWithoutOne(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t).count()
	w.workflow(tallyWorkflow, w.tally, 1000)
	want := w.interrupted()
	if !strings.HasPrefix(want, "exit 130\n") || !strings.Contains(want, "resume with: reflectory resume EACH") {
		t.Fatalf("without a server: %s", want)
	}
	cmd, at := w.serve()
	token, err := os.ReadFile(at.Token)
	if err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"over the socket":  nil,
		"over the network": {"REFLECTORY_SERVER=" + at.URL, "REFLECTORY_TOKEN=" + string(token)},
	} {
		if got := w.interrupted(env...); got != want {
			t.Errorf("%s: %s\nwithout: %s", name, got, want)
		}
		if run, found := w.recorded(); !found || run.Status != core.StatusCancelled {
			t.Errorf("%s: the run is %s", name, run.Status)
		}
	}
	w.terminate(cmd, cmd.Process)
}

// TestRun_ASecretIsTheServersOwn: what the caller has in its environment isn't sent, and
// what is missing is refused by name, with where to set it.
func TestRun_ASecretIsTheServersOwn(t *testing.T) {
	const canary = "sk-canary-7f3a91"
	w := newKillWorld(t)
	w.workflow("settings: {llm: {provider: openai, model: m, base_url: \"http://127.0.0.1:1/v1\", api_key_env: %s}}\n"+
		"nodes: [{name: asks, action: llm.call, with: {prompt: hello}}]\n", "MODEL_KEY")
	cmd, _ := w.serve()
	w.env = append(w.env, "MODEL_KEY="+canary)
	var refused struct {
		Error struct{ Code, Message, Hint string }
	}
	if code := w.json(&refused, "run", "workflow.yaml"); code != exitFailure || refused.Error.Code != "secret_missing" ||
		!strings.Contains(refused.Error.Message, "MODEL_KEY") || !strings.Contains(refused.Error.Hint, "set MODEL_KEY where the server is started") {
		t.Errorf("exit %d, %+v", code, refused)
	}
	w.terminate(cmd, cmd.Process)
	w.workflow("settings: {llm: {provider: openai, model: m, base_url: \"http://127.0.0.1:1/v1\", api_key_env: %s}}\n"+
		"nodes: [{name: asks, action: llm.call, with: {prompt: hello}}]\n", "REFLECTORY_TOKEN")
	w.env = append(w.env, "REFLECTORY_TOKEN="+canary)
	if code := w.json(&refused, "run", "workflow.yaml"); code != exitDenied || refused.Error.Code != "secret_denied" {
		t.Errorf("a variable of the program: exit %d, %+v", code, refused)
	}
	for _, dir := range []string{"data"} {
		_ = filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, _ os.DirEntry, _ error) error {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(canary)) {
				t.Errorf("%s has the secret", path)
			}
			return nil
		})
	}
	if bytes.Contains(w.log.Bytes(), []byte(canary)) {
		t.Errorf("the server's log has the secret: %s", w.log.String())
	}
}

// TestRun_AServersOtherPluginIsRefused if the caller's lock pins another package under the
// name that the workflow uses. Packages that are the same, or aren't used, don't matter.
func TestRun_AServersOtherPluginIsRefused(t *testing.T) {
	w := newWorld(t).unconfined()
	tally := w.file("tally.yaml", fmt.Sprintf(strings.ReplaceAll(tallyWorkflow, "works: 1000000", "works: 0"), "", 1))
	notes := w.file("notes.yaml", notesWorkflow("notes"))
	w.serve()
	same := installPlugins(t, filepath.Join(w.dir, "same"))
	other := filepath.Join(w.dir, "other")
	installPlugins(t, other)
	installPlugin(t, other, "test/tally", "1.0.1", []sdk.Kind{sdk.KindGenerator, sdk.KindCorrector, sdk.KindEvaluator})
	caller := func(lock string) *world {
		c := &world{t: t, dir: w.dir, env: map[string]string{}}
		for name, value := range w.env {
			c.env[name] = value
		}
		c.env["REFLECTORY_LOCK"] = lock
		return c
	}
	caller(same).ok("run", tally)
	there := caller(filepath.Join(other, "reflectory.lock"))
	there.ok("run", notes)
	code, message, _ := there.refusal(exitFailure, "run "+tally)
	if code != "lock_differs" || !strings.Contains(message, "test/tally") {
		t.Errorf("%s: %s", code, message)
	}
}
