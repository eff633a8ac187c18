package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	core "github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

// secret is the upstream's key, which no client may see.
const secret = "sk-upstream-4fGh7kQ2mN8vB1cX"

// world is a gateway between a client and a scripted upstream.
type world struct {
	*testing.T
	up      *gatewaytest.Upstream
	url     string
	model   gateway.Model
	config  gateway.Config
	replies []*core.Reply
	asked   []*core.Request
	answers map[string]bool
}

// turn is what the answers of a world say of their request.
var turn = core.Turn{Run: "run-1", Session: "s-1", Number: 2, Snapshot: "snap-1"}

func newWorld(t *testing.T, script ...gatewaytest.Reply) *world {
	t.Helper()
	w := &world{T: t, up: gatewaytest.New(script...), answers: map[string]bool{}}
	t.Cleanup(w.up.Close)
	transport := &http.Transport{MaxResponseHeaderBytes: 64 << 10}
	t.Cleanup(transport.CloseIdleConnections)
	w.config = gateway.Config{Models: w, Transport: transport, Failed: func(_ context.Context, err error) { t.Error("an error of the server:", err) }}
	w.model = gateway.Model{Name: "upstream-model", Endpoint: gateway.Endpoint{
		Families: []gateway.Family{gateway.OpenAI, gateway.Anthropic}, Base: w.up.URL, Key: func() (string, error) { return secret, nil },
	}}
	w.serve(core.HoldNothing, nil)
	return w
}

// start starts the server.
func (w *world) start() *world {
	s := httptest.NewServer(gateway.New(w.config))
	w.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	w.url = s.URL
	return w
}

// serve makes the turn: attempts are asked for with findings until accept takes a reply; nil takes the first.
func (w *world) serve(hold core.Hold, accept func(*core.Reply) bool) {
	w.model.Serve = func(ctx context.Context, r *core.Request, up core.Upstream) (*core.Outcome, error) {
		w.asked = append(w.asked, r)
		edits := core.Edits{Model: w.model.Name}
		for n := 1; ; n++ {
			reply, err := up.Ask(ctx, &core.Attempt{Turn: turn, Number: n, Edits: edits, Hold: hold})
			if err != nil {
				return nil, err
			}
			w.replies = append(w.replies, reply)
			if accept == nil || accept(reply) {
				return &core.Outcome{Turn: turn, Attempt: n, Attempts: n, Verdict: "passed"}, nil
			}
			if n == 3 {
				return &core.Outcome{Turn: turn, Attempts: n, Verdict: "failed; score=0.00"}, sdk.Errorf(sdk.Exhausted, "reply_rejected", "no attempt passes")
			}
			edits.Findings = "That reply is wrong: <\"quoted\">."
		}
	}
}

// Find implements [gateway.Models].
func (w *world) Find(_ context.Context, name string) (*gateway.Model, error) {
	if name != "coder" {
		return nil, sdk.Errorf(sdk.NotFound, "model_not_found", "there is no model %s; there are coder", name)
	}
	return &w.model, nil
}

// Names implements [gateway.Models].
func (w *world) Names(context.Context) []string { return []string{"coder"} }

// Answered implements [gateway.Models].
func (w *world) Answered(_ context.Context, id string) (*gateway.Model, error) {
	if !w.answers[id] {
		return nil, sdk.Errorf(sdk.NotFound, "response_not_found", "this gateway gave no response %s", id)
	}
	return &w.model, nil
}

// post sends a request, and returns the answer with its body.
func (w *world) post(path, body string, header ...string) (*http.Response, string) {
	w.Helper()
	return w.do(http.MethodPost, path, body, header...)
}

func (w *world) do(method, path, body string, header ...string) (*http.Response, string) {
	w.Helper()
	if w.url == "" {
		w.start()
	}
	r, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(got) + "<" + err.Error() + ">"
	}
	return resp, string(got)
}

// shapes are the paths and a request of each shape, whose %s is a member more.
var shapes = map[string]struct{ path, up, body string }{
	"chat":      {"/openai/v1/chat/completions", "/chat/completions", `{"model":"coder", "messages":[{"role":"user","content":"Hi"}]%s}`},
	"responses": {"/openai/v1/responses", "/responses", `{"model":"coder", "input":"Hi"%s}`},
	"messages":  {"/anthropic/v1/messages", "/messages", `{"model":"coder", "max_tokens": 10, "messages":[{"role":"user","content":"Hi"}]%s}`},
}
