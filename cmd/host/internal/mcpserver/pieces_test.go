package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
)

// writing is a workflow whose loop passes once its generator is asked for pieces.
const writing = `name: write
nodes:
  - name: draft
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {pieces: ["a word ", "and another. "], times: 2}}
      evaluator: {plugin: test/judge, config: {want: in pieces}}
      max_iterations: 1000
`

// heardProgress is what a client hears.
type heardProgress struct {
	mu  sync.Mutex
	all []*mcp.ProgressNotificationParams
}

func (h *heardProgress) hear(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, r.Params)
}

func (h *heardProgress) list() []*mcp.ProgressNotificationParams {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

// TestProgress_HasThePiecesOfOutputs that a model writes while loop_status waits, for a client that gave a token;
// otherwise the model isn't asked for any.
func TestProgress_HasThePiecesOfOutputs(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *Server, Profile, core.Caller, ...hearing) *mcp.ClientSession{"stdio": overStdio, "HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) { progressHasPieces(t, connect) })
	}
}

func progressHasPieces(t *testing.T, connect func(*testing.T, *Server, Profile, core.Caller, ...hearing) *mcp.ClientSession) {
	w := operationtest.NewWithJudge(t, mem.Open())
	p, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	w.Must(p.Start(w.Ctx))
	t.Cleanup(func() { w.Must(p.Stop(context.WithoutCancel(w.Ctx))) })
	var heard heardProgress
	session := connect(t, newServerOf(t, w), All, core.Operator(operationtest.Agent), heard.hear)
	for _, token := range []any{nil, "token"} {
		workflow := writing
		if token == nil { // then it ends by itself
			workflow = strings.Replace(writing, "1000", "20", 1)
		}
		q := result[operation.JobQueued](t, session, &mcp.CallToolParams{Name: "run_loop", Arguments: map[string]any{"workflow": workflow, "namespace": operationtest.Here}})
		status := &mcp.CallToolParams{Name: "loop_status", Arguments: map[string]any{"job_id": q.JobID, "wait": 60}}
		if token != nil {
			status.SetProgressToken(token)
		}
		r := result[operation.JobResult](t, session, status)
		if want := map[bool]string{true: `"exhausted"`, false: `"passed"`}[token == nil]; !strings.Contains(string(r.Result), want) {
			t.Errorf("token %v: it ended with %s", token, r.Result)
		}
	}
	all := heard.list()
	if len(all) == 0 || all[0].ProgressToken != "token" || all[0].Progress <= 0 || !strings.HasPrefix(all[0].Message, "draft: iteration ") || !strings.Contains(all[0].Message, ": a word ") {
		t.Errorf("%+v", all)
	}
}

// TestProgress_OfATaskHasThePiecesOfOutputs, without another call of the client.
func TestProgress_OfATaskHasThePiecesOfOutputs(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	p, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	w.Must(p.Start(w.Ctx))
	t.Cleanup(func() { w.Must(p.Stop(context.WithoutCancel(w.Ctx))) })
	heard := make(chan string, 100)
	session := overStdio(t, newServerOf(t, w), All, core.Operator(operationtest.Agent), func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		heard <- r.Params.Message
	})
	params := &mcp.CallToolParams{Name: "run_loop", Arguments: map[string]any{"workflow": writing, "namespace": operationtest.Here}}
	params.Meta = mcp.Meta{mcp.MetaKeyClientCapabilities: map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}
	params.SetProgressToken("token")
	_, err = session.CallTool(t.Context(), params)
	w.Must(err)
	for message := range heard {
		if strings.HasPrefix(message, "draft: iteration ") && strings.Contains(message, ": a word ") {
			return
		}
	}
}

// result calls a tool, which must not refuse.
func result[Out any](t *testing.T, session *mcp.ClientSession, params *mcp.CallToolParams) (out Out) {
	t.Helper()
	r, err := session.CallTool(t.Context(), params)
	if err != nil || r.IsError {
		t.Fatalf("%s: %+v, %v", params.Name, r, err)
	}
	text, err := jsontext.Encode(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestProgress_GrowsWithEachMessage, whatever the pieces are: messages come twice a second at most, are short, show
// what people don't see, and leave out no piece but of a text that is too long.
func TestProgress_GrowsWithEachMessage(t *testing.T) {
	now := time.Time{}.Add(time.Hour)
	var last float64
	var messages []string
	p := &progress{now: func() time.Time { return now }, send: func(done, total float64, message string) {
		if done <= last {
			t.Errorf("%g after %g of %g: %s", done, last, total, message)
		}
		last = done
		messages = append(messages, message)
	}}
	piece := func(iteration, offset int, text string) {
		p.event(core.OutputChunk{Visit: 1, Node: "n", Iteration: iteration, Offset: offset, Text: text})
	}
	p.event(core.IterationStarted{Node: "n", Iteration: 1, Max: 2})
	piece(1, 0, "one ")
	piece(1, 4, "two ")
	now = now.Add(progressPause)
	piece(1, 8, "three")
	p.report(1, 2, "too soon")
	now = now.Add(progressPause)
	p.rest() // nothing is left
	piece(2, 0, "a\u2060b")
	piece(2, 3, strings.Repeat("ö", 5000))
	now = now.Add(progressPause)
	p.rest()
	piece(2, 5003, "lost by the next attempt")
	piece(3, 0, "c")
	now = now.Add(progressPause)
	p.rest()
	now = now.Add(progressPause)
	p.event(core.AttemptJudged{Node: "n", Max: 2, Attempt: &core.Attempt{Iteration: 2}})
	want := []string{
		"n: iteration 1 of 2", "n: iteration 1: one two three", "n: iteration 2: a[U+2060]b", "n: iteration 2: …" + strings.Repeat("ö", maxPiece-1), "n: iteration 3: c",
		"n: iteration 2 of 2 has its verdict",
	}
	for i, m := range messages {
		if i >= len(want) || m != want[i] {
			t.Errorf("message %d is %d characters: %.100s", i, utf8.RuneCountInString(m), m)
		}
	}
	if len(messages) != len(want) {
		t.Errorf("%d messages, want %d", len(messages), len(want))
	}
}
