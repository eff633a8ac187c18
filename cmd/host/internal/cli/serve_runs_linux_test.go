//go:build linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// asks writes ask.yaml, a workflow that asks a model.
func (w *killWorld) asks(model *llmtest.Server) {
	w.t.Helper()
	w.env = append(w.env, "REFLECTORY_LLM_ENDPOINTS="+strings.TrimPrefix(model.URL, "http://"))
	ask := fmt.Sprintf("settings: {llm: {provider: ollama, model: m, base_url: %q}}\nnodes: [{name: n, action: llm.call, with: {prompt: p}}]\n", model.URL)
	if err := os.WriteFile(filepath.Join(w.dir, "ask.yaml"), []byte(ask), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestServe_KilledInTheMiddleOfFiftyRuns: while five commands wait for their model, everything
// else works, including 45 further runs of jobs. Then the server is killed, and the next one
// continues each run, of a command or of a job, until it has ended once.
func TestServe_KilledInTheMiddleOfFiftyRuns(t *testing.T) {
	coretest.Long(t)
	const asking, noting = 5, 45
	w := newKillWorld(t)
	never := make(chan struct{})
	replies := make([]llmtest.Reply, asking, asking+1)
	for i := range replies {
		replies[i] = llmtest.Text("too late").After(never)
	}
	model := llmtest.New(t, append(replies, llmtest.Text("in time").Always())...)
	defer close(never)
	w.asks(model)
	cmd, at := w.serve()
	var commands []*exec.Cmd
	for range asking {
		c, _ := w.start("run", "ask.yaml")
		commands = append(commands, c)
	}
	until(t, "the model is asked", func() bool { return len(model.Requests()) == asking })

	workflows := make([]string, noting)
	for i := range workflows {
		workflows[i] = notesWorkflow(fmt.Sprintf("note-%d", i))
	}
	queued := w.queueRuns(at, workflows[:8])
	for _, q := range queued {
		w.awaitEnd(at, q.JobID)
	}
	w.took("memory", "recall", "note")
	runs := func() map[core.Status]int {
		var list struct{ Items []shownRun }
		w.json(&list, "runs", "list", "--limit", "200")
		count := map[core.Status]int{}
		for _, r := range list.Items {
			count[r.Status]++
		}
		return count
	}
	if got := runs(); got[core.StatusRunning] != asking || got[core.StatusPassed] != 8 {
		t.Fatalf("while %d runs wait for their model there are %v", asking, got)
	}
	queued = append(queued, w.queueRuns(at, workflows[8:])...)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, c := range commands {
		_ = c.Wait() // each says that it lost the server
	}
	if len(queued) != noting {
		t.Fatalf("%d of %d are acknowledged", len(queued), noting)
	}

	cmd, at = w.serve()
	for _, q := range queued {
		w.awaitEnd(at, q.JobID)
	}
	until(t, "the runs of commands go on", func() bool { return runs()[core.StatusPassed] == asking+noting })
	ends := w.jobEnds()
	for _, q := range queued {
		if ends[q.JobID] != 1 {
			t.Errorf("job %s has %d ends", q.JobID, ends[q.JobID])
		}
	}
	if n := len(model.Requests()); n != 2*asking {
		t.Errorf("the model is asked %d times", n)
	}
	w.terminate(cmd, cmd.Process)
}
