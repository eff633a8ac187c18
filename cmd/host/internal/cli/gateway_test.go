package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
)

// askModel asks a server's gateway, and returns the status and the answer.
func (s *serving) askModel(path, token, body string) (int, string) {
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
