//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// slowModel replies in one piece to who doesn't stream, once it may, and otherwise in pieces, of which it sends the
// later ones once it may.
type slowModel struct {
	asked          chan bool // whether the reply is to be streamed
	answer, goesOn chan struct{}
	first, later   []string
}

// ServeHTTP implements [http.Handler].
func (m *slowModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Stream bool `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.asked <- request.Stream
	if !request.Stream {
		<-m.answer
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"first"},"finish_reason":"stop"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(pieces []string) {
		for _, piece := range pieces {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece)
		}
		_ = http.NewResponseController(w).Flush()
	}
	send(m.first)
	<-m.goesOn
	send(m.later)
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// TestServe_PiecesReachWhoFollows a run, while the model writes, as the output will be: without the key that the
// endpoint repeats. What nobody followed when it was asked for isn't streamed.
func TestServe_PiecesReachWhoFollows(t *testing.T) {
	coretest.Long(t)
	const key = "sk-1234567890abcdefghij"
	m := &slowModel{
		asked: make(chan bool, 9), answer: make(chan struct{}), goesOn: make(chan struct{}),
		first: []string{"Größe: ", key[:9]}, later: []string{key[9:], " is", " it."},
	}
	model := httptest.NewServer(m)
	t.Cleanup(model.Close)
	w := newKillWorld(t)
	w.env = append(w.env, "REFLECTORY_LLM_ENDPOINTS="+strings.TrimPrefix(model.URL, "http://"), "MY_KEY="+key)
	cmd, at := w.serve()
	q := w.queueRuns(at, []string{fmt.Sprintf(`name: write
settings: {llm: {provider: openai, model: m, base_url: %q, api_key_env: MY_KEY}}
nodes:
  - name: draft
    action: reflection.loop
    with: {generator: {action: llm.call, prompt: p}, evaluator: {type: schema, schema: {type: object}}, max_iterations: 2}
`, model.URL)})[0]
	if <-m.asked {
		t.Error("a reply that nobody follows is streamed")
	}
	answer := w.ask(at, "GET", "/v1/runs/"+q.RunID+"/events", nil)
	if answer == nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%+v", answer)
	}
	defer answer.Body.Close()
	close(m.answer)
	var text, event string
	var events []string
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if name, is := strings.CutPrefix(lines.Text(), "event: "); is {
			event = name
			events = append(events, event)
		}
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || event != "run.piece" {
			continue
		}
		if text == "" {
			close(m.goesOn) // the reader has a piece before there is more
		}
		var p client.StreamPiece
		if err := json.Unmarshal([]byte(data), &p); err != nil || p.Iteration != 2 || p.Node != "draft" || p.Offset != len([]rune(text)) {
			t.Errorf("%v: %s", err, data)
		}
		text += p.Text
	}
	if !<-m.asked || !slices.Contains(events, "run.ended") || events[len(events)-1] != "bye" {
		t.Errorf("%v", events)
	}
	var run struct {
		Status core.Status
		Loops  []struct{ Attempts []core.Attempt }
	}
	w.json(&run, "runs", "show", q.RunID)
	if want := "Größe: [redacted] is it."; text != want || run.Status != core.StatusExhausted || string(run.Loops[0].Attempts[1].Output) != fmt.Sprintf("%q", want) {
		t.Errorf("the pieces are %q, and the run is %+v", text, run)
	}
	w.terminate(cmd, cmd.Process)
}
