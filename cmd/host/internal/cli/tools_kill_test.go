//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
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
          - {name: first, plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000, once: ONCE}, idempotent: ONCE}
          - {workflow: second.yaml}
          - {name: third, plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000, once: ONCE}, idempotent: ONCE}
          - {action: memory.recall}
      evaluator: {run: "return state.reflection_iteration >= 3"}
      max_iterations: 5
`

const secondWorkflow = `nodes:
  - {name: note, action: plugin.call, with: {plugin: test/tally, config: {file: FILE, passes: 1, works: 50000000, once: true}}}
`

// toolModel asks for two tools at once, then for two more, and then says how many results it has.
func toolModel(r *llmtest.Request) llmtest.Reply {
	read, lost := 0, 0
	for _, m := range r.Messages {
		if m.Role != "tool" {
			continue
		}
		if read++; strings.HasPrefix(m.Content, "error") {
			lost++
		}
	}
	switch read {
	case 0:
		return llmtest.Calls(llmtest.Call{ID: "a", Name: "first", Arguments: `{"n":1}`}, llmtest.Call{ID: "b", Name: "second", Arguments: `{}`})
	case 2:
		return llmtest.Calls(llmtest.Call{ID: "c", Name: "recall", Arguments: `{"query": "x"}`}, llmtest.Call{ID: "d", Name: "third", Arguments: `{}`})
	}
	return llmtest.Text(fmt.Sprintf("%d results, %d lost", read, lost))
}

// A run whose model uses tools is killed at any moment and resumed. If its tools are idempotent, it comes to
// the same, and each call had its effect once. If they aren't, none is called again: the model reads that the
// result of the call that was under way is lost.
func TestToolsOfAKilledRunAreCalledOnce(t *testing.T) {
	coretest.Long(t)
	t.Run("idempotent", func(t *testing.T) { newKillWorld(t).count().killTools(kills(10), true) })
	t.Run("not idempotent", func(t *testing.T) { newKillWorld(t).count().killTools(kills(10), false) })
}

func (w *killWorld) killTools(wanted int, idempotent bool) {
	w.t.Helper()
	server := llmtest.StartFunc(toolModel)
	w.t.Cleanup(server.Close)
	w.env = append(w.env, "REFLECTORY_LLM_ENDPOINTS="+strings.TrimPrefix(server.URL, "http://"))
	put := strings.NewReplacer("URL", server.URL, "FILE", w.tally, "ONCE", fmt.Sprint(idempotent))
	w.workflow("%s", put.Replace(toolsWorkflow))
	if err := os.WriteFile(filepath.Join(w.dir, "second.yaml"), []byte(put.Replace(secondWorkflow)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	const all = `"4 results, 0 lost"`
	var whole core.LoopResult
	if code := w.json(&whole, "run", "workflow.yaml"); code != exitPassed || whole.Iteration != 3 || string(whole.Output) != all {
		w.t.Fatalf("undisturbed: exit %d, %+v", code, whole)
	}
	moments := w.moments(server)
	hit, lost := 0, 0
	for range wanted * 10 {
		_, _ = os.RemoveAll(filepath.Join(w.dir, "data")), os.Remove(w.tally)
		if !w.killedAfter(rand.IntN(moments), server, "run", "workflow.yaml") {
			continue
		}
		asked := len(server.Requests())
		before, found := w.recorded("--workflow", "tools")
		if !found || before.Status == core.StatusPassed {
			continue
		}
		hit++
		var result core.LoopResult
		if code := w.json(&result, "resume", before.ID); code != exitPassed || len(result.History) != 3 {
			w.t.Fatalf("resume: exit %d, %+v", code, result)
		}
		gone := 0
		for _, h := range result.History {
			if string(h.Output) == `"4 results, 1 lost"` {
				gone++
			} else if string(h.Output) != all {
				w.t.Errorf("iteration %d made %s", h.Iteration, h.Output)
			}
		}
		lost += gone
		w.checkToolCalls(before.ID, gone)
		if gone > 1 || idempotent && gone > 0 {
			w.t.Errorf("run %s lost %d results", before.ID, gone)
		}
		paid := map[string]int{}
		for _, r := range server.Requests()[asked:] {
			paid[r.Header.Get("Idempotency-Key")]++
		}
		for key, n := range paid {
			if n > 1 {
				w.t.Errorf("%s was asked %d times after the kill", key, n)
			}
		}
		if hit == wanted {
			w.t.Logf("%d kills, %d results lost", hit, lost)
			return
		}
	}
	w.t.Fatalf("only %d of %d kills met a running host", hit, wanted)
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

// checkToolCalls checks that each tool had its effect once in each iteration, but for calls whose results
// are lost.
func (w *killWorld) checkToolCalls(run string, lost int) {
	w.t.Helper()
	notes, err := os.ReadFile(w.tally)
	if err != nil {
		w.t.Fatal(err)
	}
	made := map[string]int{}
	for key := range strings.FieldsSeq(string(notes)) {
		var text string
		if json.Unmarshal([]byte(key), &text) == nil {
			key = text
		}
		if made[key]++; made[key] > 1 {
			w.t.Errorf("run %s: %s was done %d times", run, key, made[key])
		}
	}
	if len(made) < 9-lost || len(made) > 9 {
		w.t.Errorf("run %s: %d calls of tools, %d of them lost: %v", run, len(made), lost, made)
	}
}
