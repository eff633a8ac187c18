//go:build linux

package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// streamer is a client with one conversation of a name.
type streamer struct {
	*testing.T
	n     int
	token string
}

const streamedQuestion = "How is the billing service deployed?"

// streamedWays are the ways to ask, and what ends each one's stream. The last is held until it has been checked.
var streamedWays = []struct{ path, body, end string }{
	{chatPath, `{"model":"coder","stream":true,"messages":[{"role":"user","content":%q}]}`, "data: [DONE]"},
	{"/openai/v1/responses", `{"model":"coder","stream":true,"input":%q}`, "response.completed"},
	{"/anthropic/v1/messages", `{"model":"coder","stream":true,"max_tokens":9,"messages":[{"role":"user","content":%q}]}`, "message_stop"},
	{chatPath, `{"model":"coder","stream":true,"messages":[{"role":"user","content":%q}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string"}}}}`, "data: [DONE]"},
}

func (c *streamer) path() string { return streamedWays[c.n%len(streamedWays)].path }
func (c *streamer) end() string  { return streamedWays[c.n%len(streamedWays)].end }

func (c *streamer) body() string {
	return fmt.Sprintf(streamedWays[c.n%len(streamedWays)].body, streamedQuestion)
}

// ask sends a request. begun is called with the first bytes of the answer.
func (c *streamer) ask(listen, path, body string, begun func()) (turn, got string, err error) {
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, "http://"+listen+path, strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Reflectory-Session", fmt.Sprintf("talk-%d", c.n))
	own := &http.Transport{DisableKeepAlives: true}
	a, err := own.RoundTrip(r)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = a.Body.Close() }()
	first := make([]byte, 1)
	if _, err = io.ReadFull(a.Body, first); err != nil {
		return "", "", err
	}
	begun()
	rest, err := io.ReadAll(a.Body)
	if a.StatusCode != http.StatusOK && err == nil {
		err = fmt.Errorf("%d %s%s", a.StatusCode, first, rest)
	}
	return a.Header.Get("Reflectory-Turn"), string(first) + string(rest), err
}

// all has every client do something at once.
func all(clients []*streamer, do func(c *streamer)) {
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { do(c) })
	}
	wg.Wait()
}

// TestGateway_AKilledServer in the middle of 100 streams: no client takes its stream for a whole one, the same request
// again is the same turn, the runs end as interrupted, and what the turns show later is learned.
func TestGateway_AKilledServer(t *testing.T) {
	coretest.Long(t)
	const count = 100
	release := make(chan struct{})
	up := gatewaytest.New(gatewaytest.Reply{Text: `"It is deployed with make ship-billing."`, Wait: release, WaitAfter: 7})
	t.Cleanup(up.Close)
	w := newKillWorld(t)
	w.env = append(w.env, "LLM_KEY=sk-upstream-0123456789abcdef")
	at := strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")
	for name, text := range map[string]string{
		"reflectory.yaml": fmt.Sprintf("settings: {llm: {provider: ollama, model: base, base_url: %q, api_key_env: LLM_KEY, endpoints: [%q]}}\n", up.URL, at),
		"gateway.yaml":    "models:\n  coder: {recall: {max_tokens: 200}}\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd, served := w.serve()
	w.took("memory", "observe", "--namespace", "team", "--content", "The billing service is deployed with make ship-billing.")
	clients := make([]*streamer, count)
	for n := range clients {
		if clients[n] = (&streamer{T: t, n: n}); n >= 4 { // a subject may send 100 requests a second
			clients[n].token = clients[n%4].token
			continue
		}
		var made struct{ Token string }
		w.json(&made, "token", "new", fmt.Sprintf("agent-%d", n), "--namespace", "team", "--scope", "model")
		clients[n].token = made.Token
	}

	var begun atomic.Int64
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		until(t, "all streams begin", func() bool { return begun.Load() == count*3/4 && len(up.Requests()) == count })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	all(clients, func(c *streamer) {
		_, got, err := c.ask(served.Listen, c.path(), c.body(), func() { begun.Add(1) })
		if err == nil || strings.Contains(got, c.end()) {
			t.Errorf("client %d takes it for a whole stream: %s", c.n, got)
		}
	})
	<-killed
	close(release)

	_, served = w.serve()
	all(clients, func(c *streamer) {
		turn, got, err := c.ask(served.Listen, c.path(), c.body(), func() {})
		if err != nil || turn != "1" || !strings.Contains(got, c.end()) || !strings.Contains(got, "ship") {
			t.Errorf("client %d, again: turn %s, %v, %s", c.n, turn, err, got)
		}
	})
	const asked = `{"role":"user","content":"` + streamedQuestion + `"}`
	for _, next := range []struct{ messages, turn string }{
		{asked + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"run","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"{\"exit_code\":2}"}`, "1"},
		{asked + `,{"role":"user","content":"What now?"}`, "2"},
	} {
		all(clients, func(c *streamer) {
			if turn, _, err := c.ask(served.Listen, chatPath, `{"model":"coder","messages":[`+next.messages+`]}`, func() {}); err != nil || turn != next.turn {
				t.Errorf("client %d is in turn %s, want %s: %v", c.n, turn, next.turn, err)
			}
		})
	}

	var runs struct {
		Items []core.Run
	}
	until(t, "all runs end", func() bool {
		w.json(&runs, "runs", "list", "--workflow", "gateway/coder", "--status", "cancelled", "--limit", "200")
		return len(runs.Items) >= count
	})
	for _, r := range runs.Items {
		if r.StopReason != "interrupted" {
			t.Errorf("run %s stops because of %q", r.ID, r.StopReason)
		}
	}
	var sessions struct {
		Items []struct {
			Session   string
			NextTurn  int64 `json:"next_turn"`
			Feedbacks int
		}
	}
	w.json(&sessions, "session", "list", "--limit", "200")
	for _, s := range sessions.Items {
		if s.NextTurn != 3 || s.Feedbacks != 1 {
			t.Errorf("%+v", s)
		}
	}
	if len(runs.Items) != count || len(sessions.Items) != count {
		t.Errorf("%d runs and %d sessions", len(runs.Items), len(sessions.Items))
	}
}

// TestGateway_ManyStreams: 200 streams at once come whole, each to its own client.
func TestGateway_ManyStreams(t *testing.T) {
	coretest.Long(t)
	const count = 200
	w, up := modelWorld(t, "models:\n  coder: {recall: {max_tokens: 200}}\n")
	w.file("reflectory.yaml", fmt.Sprintf("settings: {llm: {provider: ollama, model: base, base_url: %q, endpoints: [%q]}}\n", up.URL, strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")))
	release := make(chan struct{})
	up.Set(gatewaytest.Reply{Text: `"It is deployed with make ship-billing."`, Wait: release, WaitAfter: 7})
	clients := make([]*streamer, count)
	for n := range clients {
		if clients[n] = (&streamer{T: t, n: n}); n >= 8 { // a subject may send 100 requests a second
			clients[n].token = clients[n%8].token
			continue
		}
		clients[n].token = w.parsed(exitPassed, fmt.Sprintf("token new agent-%d --namespace team --scope model --json", n))["token"].(string)
	}
	served := w.serve()
	go func() {
		until(t, "all streams begin", func() bool { return len(up.Requests()) == count })
		close(release)
	}()
	all(clients, func(c *streamer) {
		turn, got, err := c.ask(served.Listen, c.path(), c.body(), func() {})
		if err != nil || turn != "1" || !strings.Contains(got, c.end()) || !strings.Contains(got, "ship") {
			t.Errorf("client %d: turn %s, %v, %s", c.n, turn, err, got)
		}
	})
	if n := len(up.Requests()); n != count {
		t.Errorf("the upstream got %d requests", n)
	}
}
