//go:build linux

package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

const toolsWorkflow = `name: tools
settings: {llm: {provider: openai, base_url: "URL/v1", model: scripted}}
nodes:
  - name: work
    action: reflection.loop
    with:
      generator:
        action: llm.call
        prompt: "Iteration {{ state.reflection_iteration }}"
        tools:
          - {name: first, plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000}}
          - {name: second, plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000}}
          - {name: third, plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000}}
      evaluator: {run: "return state.reflection_iteration >= 3"}
      max_iterations: 5
`

// toolModel asks for two tools at once, then for a third, and then says how many results it has.
func toolModel(r *llmtest.Request) llmtest.Reply {
	told := 0
	for _, m := range r.Messages {
		if m.Role == "tool" && strings.Contains(m.Content, "/tool/") {
			told++
		}
	}
	switch told {
	case 0:
		return llmtest.Calls(llmtest.Call{ID: "a", Name: "first", Arguments: `{"n":1}`}, llmtest.Call{ID: "b", Name: "second", Arguments: `{}`})
	case 2:
		return llmtest.Calls(llmtest.Call{ID: "c", Name: "third", Arguments: `{}`})
	case 3:
		return llmtest.Text("three results")
	}
	return llmtest.Text("the results are lost")
}

// A run whose model uses tools is killed at any moment and resumed: it comes to the same, and no
// call is made again but the one that was under way, which has the same key.
func TestToolsOfAKilledRunAreCalledOnce(t *testing.T) {
	coretest.Long(t)
	server := llmtest.StartFunc(toolModel)
	t.Cleanup(server.Close)
	w := newKillWorld(t).count()
	w.env = append(w.env, "REFLECTORY_LLM_ENDPOINTS="+strings.TrimPrefix(server.URL, "http://"))
	w.workflow("%s", strings.NewReplacer("URL", server.URL, "FILE", w.tally).Replace(toolsWorkflow))
	var whole core.LoopResult
	if code := w.json(&whole, "run", "workflow.yaml"); code != exitPassed || whole.Iteration != 3 || string(whole.Output) != `"three results"` {
		t.Fatalf("undisturbed: exit %d, %+v", code, whole)
	}
	moments := w.moments(server)
	hit, wanted := 0, kills(10)
	for range wanted * 10 {
		_, _ = os.RemoveAll(filepath.Join(w.dir, "data")), os.Remove(w.tally)
		if !w.killedAfter(rand.IntN(moments), server, "run", "workflow.yaml") {
			continue
		}
		asked := len(server.Requests())
		before, found := w.recorded()
		if !found || before.Status == core.StatusPassed {
			continue
		}
		hit++
		var result core.LoopResult
		if code := w.json(&result, "resume", before.ID); code != exitPassed || len(result.History) != 3 {
			t.Fatalf("resume: exit %d, %+v", code, result)
		}
		for _, h := range result.History {
			if string(h.Output) != `"three results"` {
				t.Errorf("iteration %d made %s", h.Iteration, h.Output)
			}
		}
		w.checkToolCalls(before.ID)
		paid := map[string]int{}
		for _, r := range server.Requests()[asked:] {
			paid[r.Header.Get("Idempotency-Key")]++
		}
		for key, n := range paid {
			if n > 1 {
				t.Errorf("%s was asked %d times after the kill", key, n)
			}
		}
		if hit == wanted {
			return
		}
	}
	t.Fatalf("only %d of %d kills met a running host", hit, wanted)
}

// moments is how often the model was asked, and a tool called.
func (w *killWorld) moments(server *llmtest.Server) int {
	notes, _ := os.ReadFile(w.tally) // none yet
	return len(server.Requests()) + len(strings.Fields(string(notes)))
}

// killedAfter kills a command once so many more questions and calls of tools were made, and reports whether
// it was still running.
func (w *killWorld) killedAfter(more int, server *llmtest.Server, args ...string) bool {
	w.t.Helper()
	before := w.moments(server)
	cmd, _ := w.start(args...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for w.moments(server) < before+more {
		select {
		case <-ended:
			return false
		default:
			runtime.Gosched()
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	waitEmpty(w.t, cmd.Process.Pid)
	return cmd.ProcessState.ExitCode() != exitPassed
}

// checkToolCalls checks that each tool was called once in each iteration, but for one call that
// the kill interrupted.
func (w *killWorld) checkToolCalls(run string) {
	w.t.Helper()
	notes, err := os.ReadFile(w.tally)
	if err != nil {
		w.t.Fatal(err)
	}
	made, twice := map[string]int{}, 0
	for key := range strings.FieldsSeq(string(notes)) {
		var text string
		if json.Unmarshal([]byte(key), &text) == nil {
			key = text
		}
		if made[key]++; made[key] > 1 {
			twice++
		}
	}
	if len(made) != 9 || twice > 1 {
		w.t.Errorf("run %s: %d calls of tools, %d of them made twice: %v", run, len(made), twice, made)
	}
}
