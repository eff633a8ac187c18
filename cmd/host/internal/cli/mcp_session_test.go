//go:build linux

package cli

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// coder is a coding agent: the official library's client, and the program that it starts.
type coder struct {
	t       *testing.T
	session *mcp.ClientSession
	cmd     *exec.Cmd
}

// coder starts the program as a client's settings say.
func (w *killWorld) coder(args ...string) *coder {
	w.t.Helper()
	cmd := exec.Command(w.self, append([]string{"mcp", "--agent", "coder"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.dir, w.t.Output()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "coder", Version: "1"}, nil).Connect(w.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &coder{w.t, session, cmd}
	w.t.Cleanup(func() { _ = session.Close() })
	return c
}

// call calls a tool, which must succeed, and decodes its result.
func (c *coder) call(tool string, args map[string]any, result any) {
	c.t.Helper()
	r, err := c.session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if err := json.Unmarshal([]byte(text), result); r.IsError || err != nil {
		c.t.Fatalf("%s: %v %s", tool, err, text)
	}
}

// reflectedJob is what reflect_status says.
type reflectedJob struct {
	Status          string
	JobID           string `json:"job_id"`
	InsightsCreated int    `json:"insights_created"`
	Insights        []struct {
		MemoryID string `json:"memory_id"`
		Content  string
	}
}

// awaitReflection asks for a reflection until it has ended.
func (c *coder) awaitReflection(id string) (s reflectedJob) {
	c.t.Helper()
	until(c.t, "the reflection ends", func() bool {
		s = reflectedJob{}
		c.call("reflect_status", map[string]any{"job_id": id, "user_id": "anna"}, &s)
		if s.JobID != id {
			c.t.Fatalf("%+v", s)
		}
		return s.Status != "queued" && s.Status != "running"
	})
	return s
}

// work is a session's turns: it observes, retrieves, says how it went and reflects, and returns
// the reflection's job.
func (c *coder) work() string {
	c.t.Helper()
	const namespace = "users/anna"
	for _, content := range []string{"one", "two", "three", "four", "five"} {
		var m struct{ ID string }
		if c.call("observe", map[string]any{"namespace": namespace, "content": "memory " + content}, &m); m.ID == "" {
			c.t.Fatal("what was observed has no id")
		}
	}
	var found struct {
		Turn     int64
		Memories []struct{ ID string }
	}
	if c.call("retrieve", map[string]any{"namespace": namespace, "session": "chat", "query": "memory three"}, &found); len(found.Memories) == 0 {
		c.t.Fatal("nothing is found")
	}
	c.call("feedback", map[string]any{"session": "chat", "turn": found.Turn, "outcome": "success", "used": []string{found.Memories[0].ID}}, &struct{}{})
	var answer struct {
		Status string
		JobID  string `json:"job_id"`
		ETA    int    `json:"eta_seconds"`
	}
	if c.call("reflect", map[string]any{"user_id": "anna", "force": true}, &answer); answer.Status != "queued" || answer.JobID == "" || answer.ETA <= 0 {
		c.t.Fatalf("%+v", answer)
	}
	return answer.JobID
}

// wantReflected checks that a reflection has written what it says, once.
func (w *killWorld) wantReflected(c *coder, s reflectedJob) {
	w.t.Helper()
	if s.Status != "completed" || s.InsightsCreated != 5 || len(s.Insights) != 5 {
		w.t.Errorf("%+v", s)
	}
	for _, insight := range s.Insights {
		var m struct{ Content string }
		if c.call("memory_get", map[string]any{"id": insight.MemoryID}, &m); m.Content != insight.Content {
			w.t.Errorf("%+v is stored as %q", insight, m.Content)
		}
	}
	w.checkReflected(1)
}

// TestMCP_AnAgentsSession by the official library's client, against the program, over standard
// input and output: the server is killed while it reflects. The agent's program takes the
// store, works on, and the same session learns its result.
func TestMCP_AnAgentsSession(t *testing.T) {
	w := reflecting(t)
	server, _ := w.serve()
	c := w.coder()
	id := c.work()
	_ = server.Process.Kill()
	_ = server.Wait()
	s := c.awaitReflection(id)
	w.wantReflected(c, s)
	var stats struct {
		Reflection struct {
			PendingJobs int `json:"pending_jobs"`
			Last        struct {
				JobID    string `json:"job_id"`
				Insights int    `json:"insights_created"`
			} `json:"last_completed_job"`
		}
	}
	c.call("stats", map[string]any{"scope": "reflection", "user_id": "anna"}, &stats)
	if r := stats.Reflection; r.PendingJobs != 0 || r.Last.JobID != id || r.Last.Insights != 5 {
		t.Errorf("%+v", r)
	}
	var none json.RawMessage
	if c.call("reflect_status", map[string]any{"job_id": id, "user_id": "bert"}, &none); string(none) != `{"status":"not_found"}` {
		t.Errorf("%s", none)
	}
}

// TestMCP_AnAgentsProgramIsKilled, which is the server itself: the next one continues with what
// it had begun.
func TestMCP_AnAgentsProgramIsKilled(t *testing.T) {
	w := reflecting(t)
	first := w.coder()
	id := first.work()
	_ = first.cmd.Process.Kill()
	_ = first.session.Close()
	second := w.coder("--profile", "loop")
	w.wantReflected(second, second.awaitReflection(id))
	var queued struct {
		Status string
		JobID  string `json:"job_id"`
		RunID  string `json:"run_id"`
	}
	second.call("run_loop", map[string]any{"workflow": notesWorkflow("notes")}, &queued)
	var ran struct {
		Status string
		Result struct {
			RunID  string `json:"run_id"`
			Status string
		}
	}
	until(t, "the run ends", func() bool {
		second.call("loop_status", map[string]any{"job_id": queued.JobID}, &ran)
		return ran.Status != "queued" && ran.Status != "running"
	})
	if queued.Status != "queued" || ran.Result.RunID != queued.RunID || ran.Result.Status != "passed" {
		t.Errorf("%+v %+v", queued, ran)
	}
}

// TestMCP_GoesOnWithRuns that a server left when it was killed, also if it was an agent's
// program: a command's run has no job that would be taken over.
func TestMCP_GoesOnWithRuns(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t)
	never := make(chan struct{})
	late := llmtest.Text("too late").After(never)
	model := llmtest.New(t, late, late, llmtest.Text("in time").Always())
	defer close(never)
	w.asks(model)
	server, _ := w.serve()
	command, _ := w.start("run", "ask.yaml")
	asked := func(n int) func() bool { return func() bool { return len(model.Requests()) == n } }
	until(t, "the model is asked", asked(1))
	_ = server.Process.Kill()
	_ = server.Wait()
	_ = command.Wait()
	first := w.coder()
	until(t, "the program asks again", asked(2))
	_ = first.cmd.Process.Kill()
	_ = first.session.Close()
	w.coder()
	until(t, "the run ends", func() bool {
		var list struct{ Items []shownRun }
		w.json(&list, "runs", "list")
		return len(list.Items) == 1 && list.Items[0].Status == core.StatusPassed
	})
	if n := len(model.Requests()); n != 3 {
		t.Errorf("the model is asked %d times", n)
	}
}
