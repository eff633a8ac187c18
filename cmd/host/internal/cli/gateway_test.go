package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core/coretest"
)

// askModel asks a server's gateway with more headers, and returns the status and the answer.
func (s *serving) askModel(path, token, body string, header ...string) (int, string) {
	s.t.Helper()
	method := "POST"
	if body == "" {
		method = "GET"
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.Listen+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("X-Api-Key", token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	own := &http.Transport{DisableKeepAlives: true}
	a, err := own.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// modelWorld has an upstream, and settings of a gateway in front of it.
func modelWorld(t *testing.T, models string) (*world, *gatewaytest.Upstream) {
	w, up := newPlainWorld(t), gatewaytest.New(gatewaytest.Reply{Text: "hello there"})
	t.Cleanup(up.Close)
	at := strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")
	w.file("reflectory.yaml", fmt.Sprintf("settings: {llm: {model: base, base_url: %q, api_key_env: LLM_KEY, endpoints: [%q]}}\n", up.URL, at))
	if models != "" {
		w.file("gateway.yaml", models)
	}
	w.env["LLM_KEY"] = "sk-upstream-0123456789abcdef"
	return w, up
}

func chatOf(model string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Hi"}]}`, model)
}

const chatPath = "/openai/v1/chat/completions"

// TestGateway_Serves a model by its own name to a token that is for it, and tells the family's errors to
// others. The upstream gets its own key and name, and nothing of the token.
func TestGateway_Serves(t *testing.T) {
	w, up := modelWorld(t, "models:\n  coder: {upstream: {model: big}}\n  other: {}\n  far: {namespace: lab}\n  claude: {upstream: {provider: anthropic}}\npass: ['llama*']\n")
	token := func(line string) string {
		return w.parsed(exitPassed, "token new agent --namespace team --json "+line)["token"].(string)
	}
	all, coder, reads := token("--scope model"), token("--scope model --model coder"), token("--scope memory:read")
	for _, noAuth := range []bool{false, true} {
		var args []string
		if noAuth {
			args = []string{"--no-auth"}
		}
		s := w.serve(args...)
		for what, c := range map[string]struct {
			path, token, body string
			status            int
			want              string
		}{
			"a model":                {chatPath, coder, chatOf("coder"), 200, "hello there"},
			"another":                {chatPath, all, chatOf("other"), 200, "hello there"},
			"one that passes":        {chatPath, all, chatOf("llama3.2"), 200, "hello there"},
			"one that isn't its":     {chatPath, coder, chatOf("other"), 403, "permission_error"},
			"a pattern's, not its":   {chatPath, coder, chatOf("llama3.2"), 403, "model_denied"},
			"elsewhere":              {chatPath, all, chatOf("far"), 403, "namespace_denied"},
			"unknown":                {chatPath, all, chatOf("gpt-9"), 404, "claude, coder, far, other"},
			"unknown, of few":        {chatPath, coder, chatOf("gpt-9"), 404, "there are coder"},
			"of settings.llm":        {chatPath, all, chatOf("base"), 404, "model_not_found"},
			"of another shape":       {chatPath, all, chatOf("claude"), 404, "/anthropic/v1/messages"},
			"no token":               {chatPath, "", chatOf("coder"), 401, "authentication_error"},
			"a token of the family":  {"/anthropic/v1/messages", "", "{}", 401, `"type":"error"`},
			"another scope":          {chatPath, reads, chatOf("coder"), 403, "scope_denied"},
			"an upstream's key":      {chatPath, w.env["LLM_KEY"], chatOf("coder"), 401, "unauthenticated"},
			"no JSON":                {chatPath, coder, "{", 400, "invalid_request_error"},
			"no path":                {"/openai/v1/embeddings", coder, "{}", 404, "path_unknown"},
			"the list":               {"/openai/v1/models", coder, "", 200, `"coder"`},
			"one of the list":        {"/openai/v1/models/other", coder, "", 403, "model_denied"},
			"somebody's response":    {"/openai/v1/responses/resp_1", all, "", 404, "response_not_found"},
			"what the API has, else": {"/v1/tokens", coder, "", map[bool]int{false: 401, true: 403}[noAuth], "urn:reflectory:problem"},
		} {
			status, got := s.askModel(c.path, c.token, c.body)
			if status != c.status || !strings.Contains(got, c.want) {
				t.Errorf("%s, without credentials %v: %d %s; want %d %s", what, noAuth, status, got, c.status, c.want)
			}
		}
		if code := s.stop(); code != exitPassed {
			t.Errorf("the server ends with %d", code)
		}
	}
	for _, r := range up.Requests() {
		if r.Header.Get("Authorization") != "Bearer "+w.env["LLM_KEY"] || strings.Contains(fmt.Sprint(r.Header, r.Body), "rfl_") {
			t.Errorf("the upstream got %v", r.Header)
		}
	}
	if n := len(up.Requests()); n != 6 || !strings.Contains(up.Requests()[0].Body+up.Requests()[1].Body+up.Requests()[2].Body, `"big"`) {
		t.Errorf("the upstream got %d requests", n)
	}
}

// TestGateway_ClientCredentials go to the upstream of the model that takes them and nowhere else, and stay there.
func TestGateway_ClientCredentials(t *testing.T) {
	w, up := modelWorld(t, "models:\n  own: {upstream: {credentials: client}}\n  coder: {}\n")
	token := w.parsed(exitPassed, "token new agent --namespace team --scope model --json")["token"].(string)
	const own = "Bearer subscription-0123456789abcdef"
	s := w.serve()
	for _, c := range []struct {
		what, model string
		header      []string
		status      int
		sent        string // as Authorization, "" if nothing is sent
	}{
		{"its own", "own", []string{"Reflectory-Token", token, "Authorization", own}, 200, own},
		{"for another model", "coder", []string{"Reflectory-Token", token, "Authorization", own}, 200, "Bearer " + w.env["LLM_KEY"]},
		{"no token", "own", []string{"Authorization", own}, 401, ""},
		{"the token in its place", "own", []string{"Authorization", "Bearer " + token}, 401, ""},
		{"another's token", "own", []string{"Reflectory-Token", "rfl_wrong", "Authorization", own}, 401, ""},
	} {
		before := len(up.Requests())
		status, got := s.askModel(chatPath, "", chatOf(c.model), c.header...)
		if status != c.status || strings.Contains(got, "subscription") {
			t.Errorf("%s: %d %s", c.what, status, got)
		}
		sent := ""
		for _, r := range up.Requests()[before:] {
			sent += r.Header.Get("Authorization")
		}
		if sent != c.sent {
			t.Errorf("%s: %q is sent", c.what, sent)
		}
	}
	s.stop()
	err := filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("subscription-0123")) {
			t.Errorf("%s has the client's key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGateway_WithoutAFile serves the model of settings.llm, and says where.
func TestGateway_WithoutAFile(t *testing.T) {
	w, _ := modelWorld(t, "")
	token := w.parsed(exitPassed, "token new agent --namespace team --scope model --json")["token"].(string)
	s := w.serve()
	if status, got := s.askModel(chatPath, token, chatOf("base")); status != 200 || !strings.Contains(got, "hello there") {
		t.Errorf("%d %s", status, got)
	}
	if status, got := s.askModel(chatPath, token, chatOf("coder")); status != 404 || !strings.Contains(got, "there are base") {
		t.Errorf("%d %s", status, got)
	}
	_, metrics := s.get("/metrics")
	for _, want := range []string{
		`reflectory_http_requests_total{class="4xx",method="POST",route="/openai/v1/"} 1`, `reflectory_gateway_request_seconds_count 2`,
		`reflectory_runs_total{status="passed"} 1`, `reflectory_iterations_total{outcome="accepted"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestGateway_BudgetsOutliveTheServer: a token's and a model's, over a restart.
func TestGateway_BudgetsOutliveTheServer(t *testing.T) {
	w, up := modelWorld(t, "models:\n  coder: {upstream: {price: {in: 1, out: 1}}}\n  small: {budget: {tokens: 1}}\n  free: {}\n")
	token := func(line string) string {
		return w.parsed(exitPassed, "token new agent --namespace team --scope model --json "+line)["token"].(string)
	}
	few, cheap, dear, each, all := token("--budget tokens=1/day"), token("--budget usd=0.000000001/day"), token("--budget usd=100/day"), token("--budget tokens=1/request"), token("")
	for start, c := range []map[string]int{
		{few + " coder": 200, cheap + " coder": 200, dear + " coder": 200, each + " coder": 200, dear + " free": 403, all + " small": 200},
		{few + " coder": 429, few + " free": 429, cheap + " coder": 429, dear + " coder": 200, each + " coder": 200, all + " small": 429, all + " free": 200},
	} {
		s := w.serve()
		for asked, want := range c {
			by, model, _ := strings.Cut(asked, " ")
			if status, got := s.askModel(chatPath, by, chatOf(model)); status != want {
				t.Errorf("start %d, %s: %d %s; want %d", start, model, status, got, want)
			}
		}
		s.stop()
	}
	if len(up.Requests()) == 0 {
		t.Error("nothing was asked")
	}
}

// TestGateway_Workflow: a workflow is a model of every shape, whole and as a stream, and its run is the token's.
func TestGateway_Workflow(t *testing.T) {
	coretest.Long(t)
	w, _ := modelWorld(t, "models:\n  echo: {workflow: echo.yaml, budget: {tokens: 1000}}\n  wrong: {workflow: wrong.yaml}\n")
	w.env["REFLECTORY_LOCK"] = installPlugins(t, filepath.Join(w.dir, "plugins"))
	w.file("echo.yaml", "nodes:\n  - {name: seen, action: memory.observe, with: {content: 'asked: {{ state.input }}'}}\n  - {name: a, action: lua.run, with: {code: \"return {said = 'You said ' .. state.input}\"}}\n")
	w.file("wrong.yaml", "nodes: [{name: a, action: lua.run, with: {code: \"error('no')\"}}]\n")
	token := w.parsed(exitPassed, "token new agent --namespace team --scope model")["token"].(string)
	each := w.parsed(exitPassed, "token new agent --namespace team --scope model --budget tokens=5/request")["token"].(string)
	s := w.serve()
	const answer = `{\"said\":\"You said Hi ä\"}`
	for n, c := range []struct{ path, body, token, want string }{
		{chatPath, `{"model":"echo","messages":[{"role":"user","content":"Hi ä"}]}`, token, answer},
		{chatPath, `{"model":"echo","stream":true,"messages":[{"role":"user","content":"Hi ä"}]}`, token, answer},
		{chatPath, `{"model":"echo","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi ä"}]}`, token, `"usage":{`},
		{"/openai/v1/responses", `{"model":"echo","input":"Hi ä"}`, token, answer},
		{"/openai/v1/responses", `{"model":"echo","input":"Hi ä","stream":true}`, token, answer},
		{"/anthropic/v1/messages", `{"model":"echo","max_tokens":9,"messages":[{"role":"assistant","content":"x"},{"role":"user","content":"Hi ä"}]}`, token, answer},
		{"/anthropic/v1/messages", `{"model":"echo","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi ä"}]}`, token, answer},
		{"/anthropic/v1/messages/count_tokens", `{"model":"echo","messages":[{"role":"user","content":"Hi"}]}`, token, "not_found_error"},
		{"/openai/v1/responses", `{"model":"echo","input":"Hi","previous_response_id":"resp_1"}`, token, "keeps no responses"},
		{chatPath, chatOf("wrong"), token, "run_failed"},
		{chatPath, chatOf("echo"), each, "budget_per_request"},
	} {
		if _, got := s.askModel(c.path, c.token, c.body); !strings.Contains(got, c.want) || strings.HasPrefix(got, "data: ") && !strings.HasSuffix(got, "data: [DONE]\n\n") {
			t.Errorf("%d: %s; want %s", n, got, c.want)
		}
	}
	var runs, memories struct{ Items []map[string]any }
	for what, into := range map[string]any{"runs list --namespace team": &runs, "memory list --namespace team": &memories} {
		out, _ := w.line(exitPassed, "", what+" --json")
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(runs.Items) != 8 || len(memories.Items) != 7 || runs.Items[7]["workflow"] != "echo" {
		t.Errorf("%d runs %v, %d memories", len(runs.Items), runs.Items[0], len(memories.Items))
	}
}

// TestGateway_IsSeen by status, doctor and completion.
func TestGateway_IsSeen(t *testing.T) {
	w, _ := modelWorld(t, "models:\n  coder: {}\n  other: {}\n")
	s := w.serve()
	models := func() any { return w.parsed(exitPassed, "status")["server"].(map[string]any)["models"] }
	if got := fmt.Sprint(models()); got != "[coder other]" {
		t.Error(got)
	}
	w.file("gateway.yaml", "models:\n  other: {}\n")
	if got := fmt.Sprint(models()); got != "[other]" {
		t.Errorf("after a change: %s", got)
	}
	s.stop()
	out, _ := w.ok("doctor")
	wantIn(t, out, "gateway", "it serves other")
	delete(w.env, "LLM_KEY")
	out, _ = w.ok("doctor")
	wantIn(t, out, "set LLM_KEY")
	if out, _ := w.ok("__complete", "token", "new", "x", "--model", ""); !strings.HasPrefix(out, "other\n") {
		t.Error(out)
	}
	w.file("gateway.yaml", "models: 5\n")
	code, out, _ := w.run(t.Context(), "doctor")
	if wantIn(t, out, "models must be a mapping"); code == exitPassed {
		t.Error("doctor passes")
	}
	if out, _ := w.ok("config", "schema", "gateway"); !strings.Contains(out, `"requests_per_minute"`) {
		t.Error(out)
	}
}
