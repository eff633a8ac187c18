package mcpeval

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/sdk"
)

// added is the session of a server, with its tools pinned as plugin add does.
func added(t *testing.T, s *Server) *session {
	t.Helper()
	s.Name, s.Version = "mcp/test", "1.0.0"
	one := &session{server: s}
	t.Cleanup(one.end)
	response, err := one.describe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(response.Output, &s.Tools); err != nil {
		t.Fatal(err)
	}
	return one
}

// program is a server of this test binary.
func program(t *testing.T, mode string) *Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Command: []string{self, "serve", mode}, folder: t.TempDir()}
}

func generated(ctx context.Context, s *session, config string) (string, error) {
	c, err := prepare(s, json.RawMessage(config), false)
	if err != nil {
		return "", err
	}
	output, err := c.output(ctx)
	return string(output), err
}

func judged(ctx context.Context, s *session, config string) (sdk.Verdict, error) {
	c, err := prepare(s, json.RawMessage(config), true)
	if err != nil {
		return sdk.Verdict{}, err
	}
	r, err := c.evaluate(ctx, &sdk.EvaluateRequest{})
	if err != nil {
		return sdk.Verdict{}, err
	}
	return r.Verdict, nil
}

func TestOutput_IsWhatTheToolGives(t *testing.T) {
	for _, name := range []string{"PLUGIN_CLIENT_CERT", "REFLECTORY_PLUGIN", "REFLECTORY_PROXY_FD"} {
		t.Setenv(name, "between the host and the plugin")
	}
	t.Setenv("GRANTED_TOKEN", "granted")
	s := added(t, program(t, "good"))
	for config, want := range map[string]string{
		`{"tool": "echo", "arguments": {"text": "a \"b\""}}`:  `"a \"b\""`,
		`{"tool": "echo", "arguments": {"text": " [1, 2] "}}`: `[1, 2]`,
		`{"tool": "echo", "arguments": {"text": "[1, 2"}}`:    `"[1, 2"`,
		`{"tool": "echo", "arguments": {"text": "7"}}`:        `"7"`,
		`{"tool": "echo"}`: `""`,
		`{"tool": "measure", "arguments": {"text": "four"}}`: `{"n":4}`,
		`{"tool": "judge", "arguments": {"text": "good"}}`:   `{"valid": true, "score": 0.5, "feedback": "so so"}`,
		`{"tool": "asks"}`: `"true true true"`,
	} {
		if got, err := generated(t.Context(), s, config); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", config, got, err, want)
		}
	}
	text, err := generated(t.Context(), s, `{"tool": "environment"}`)
	if err != nil || strings.Contains(text, "between the host") || !strings.Contains(text, "GRANTED_TOKEN=granted") {
		t.Errorf("the server's environment: %s, %v", text, err)
	}
}

// TestDefine_OutputsThePin without calling the server.
func TestDefine_OutputsThePin(t *testing.T) {
	s := added(t, program(t, "good"))
	s.end()
	s.server.Command = []string{"/nowhere"}
	p := pluginOf(s)
	for config, says := range map[string]string{`{"tool": "echo", "define": true}`: "", `{"tool": "ecko", "define": true}`: `has no tool "ecko"`} {
		g, err := p.Generator(t.Context(), json.RawMessage(config))
		if says != "" {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", config, err)
			}
			continue
		}
		res, err := g.Generate(t.Context(), &sdk.GenerateRequest{})
		if err != nil || !strings.Contains(string(res.Output), `"inputSchema"`) {
			t.Errorf("%s: %v, %v", config, res, err)
		}
	}
}

func TestVerdict_IsOfTheExpressionOrTheTool(t *testing.T) {
	s := added(t, program(t, "good"))
	tests := []struct {
		config string
		valid  bool
		score  float64
		says   string // of the feedback or the error
	}{
		{`{"tool": "judge", "arguments": {"text": "good"}}`, true, .5, "so so"},
		{`{"tool": "judge", "arguments": {"text": "bad"}}`, false, .5, "so so"},
		{`{"tool": "measure", "arguments": {"text": "four"}, "verdict": "result.structuredContent.n == 4"}`, true, 1, ""},
		{`{"tool": "measure", "arguments": {"text": "fou"}, "verdict": "result.structuredContent.n == 4"}`, false, 0, "see n"},
		{`{"tool": "measure", "arguments": {"text": "fou"}, "verdict": "{'valid': false, 'score': 0.25, 'errors': [{'message': 'short', 'path': '/text'}]}"}`, false, .25, ""},
		{`{"tool": "echo", "arguments": {"text": "x"}, "verdict": "result.text == 'x' && result.content[0].type == 'text' && !result.isError"}`, true, 1, ""},
		{`{"tool": "fails", "verdict": "!result.isError"}`, false, 0, "line 3: no such"},
		{`{"tool": "fails", "verdict": "{'valid': !result.isError, 'feedback': 'it fails'}"}`, false, 0, "it fails"},
		{`{"tool": "fails", "verdict": "result.text == ''"}`, false, 0, "tool_failed: "},
		{`{"tool": "fails"}`, false, 0, "tool_failed: "},
		{`{"tool": "echo", "verdict": "{'fault': 'it is closed', 'valid': false}"}`, false, 0, "tool_failed: "},
		{`{"tool": "echo", "verdict": "result.nothing"}`, false, 0, "verdict_failed: "},
		{`{"tool": "echo", "arguments": {"text": "x"}}`, false, 0, "result_invalid: "},
		{`{"tool": "measure"}`, false, 0, "result_invalid: "},
	}
	for _, tt := range tests {
		v, err := judged(t.Context(), s, tt.config)
		if reason, isError := strings.CutSuffix(tt.says, ": "); isError {
			if sdk.ReasonOf(err) != reason || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: %+v, %v", tt.config, v, err)
			}
			continue
		}
		if err != nil || v.Valid != tt.valid || v.Score != tt.score || !strings.Contains(v.Feedback, tt.says) {
			t.Errorf("%s: %+v, %v", tt.config, v, err)
		}
	}
}

func TestConfig_IsCheckedBeforeTheServerIsCalled(t *testing.T) {
	s := &session{server: &Server{Name: "mcp/test", Command: []string{"/nowhere"}, Tools: map[string]Definition{"echo": {}, "judge": {}}}}
	for config, says := range map[string]string{
		`{}`:                                 "tool is missing: name a tool of server mcp/test, which has echo, judge",
		`{"tool": "ecko"}`:                   `has no tool "ecko"; it has echo, judge`,
		`{"tool": 3}`:                        "tool is a number, not text",
		`{"tool": "echo", "arguments": [1]}`: "arguments is a list, not an object",
		`{"tool": "echo", "verdict": "a +"}`: "verdict: line 1, column",
		`{"tool": "echo", "verdict": "output == 1"}`:    "undeclared reference to 'output'",
		`{"tool": "echo", "verdict": "'x'"}`:            "neither a condition, a score nor an object",
		`{"tool": "echo", "argument": {}}`:              "did you mean arguments?",
		`{"tool": "x", "arguments": 1, "verdict": "("}`: `has no tool "x"; it has echo, judge; arguments is a number, not an object; verdict: line 1`,
	} {
		if _, err := judged(t.Context(), s, config); sdk.ReasonOf(err) != "config_invalid" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", config, err)
		}
	}
	if _, err := generated(t.Context(), s, `{"tool": "echo", "verdict": "true"}`); !strings.Contains(err.Error(), "verdict is for evaluators") {
		t.Error(err)
	}
}

// TestPins_RefuseAnotherDefinition of the tool in use, and show the difference; other tools may change.
func TestPins_RefuseAnotherDefinition(t *testing.T) {
	s := added(t, program(t, "changes"))
	if got, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`); got != `"a"` || err != nil {
		t.Fatal(got, err)
	}
	_, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`)
	if sdk.ReasonOf(err) != "tool_changed" || !strings.Contains(err.Error(), `says what it hears",`) && !strings.Contains(err.Error(), `- "description"`) ||
		!strings.Contains(err.Error(), "and sends it to the owner") || !strings.Contains(sdk.AsError(err).Hint, "add the server again") {
		t.Errorf("%v", err)
	}
	if got, err := generated(t.Context(), s, `{"tool": "measure", "arguments": {"text": "a"}}`); got != `{"n":1}` || err != nil {
		t.Error(got, err)
	}
	for what, change := range map[string]func(d map[string]any){
		"title":                     func(d map[string]any) { d["title"] = "t" },
		"input schema":              func(d map[string]any) { d["inputSchema"] = map[string]any{"type": "object"} },
		"output schema":             func(d map[string]any) { d["outputSchema"] = map[string]any{"type": "object"} },
		"annotations":               func(d map[string]any) { d["annotations"] = map[string]any{"readOnlyHint": true} },
		"a word behind a long text": func(d map[string]any) { d["description"] = strings.Repeat("gives an object ", 500) + "x" },
	} {
		var d map[string]any
		if err := json.Unmarshal(s.server.Tools["measure"].Tool, &d); err != nil {
			t.Fatal(err)
		}
		change(d)
		text, _ := json.Marshal(d)
		other := &Server{Name: "mcp/test", Tools: map[string]Definition{"measure": {SHA256: strings.Repeat("0", 64), Tool: text}}}
		if err := other.check("measure", s.server.Tools); sdk.ReasonOf(err) != "tool_changed" || !strings.Contains(err.Error(), "\n- ") && !strings.Contains(err.Error(), "\n+ ") || len(err.Error()) > 8_000 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.server.check("gone", map[string]Definition{"gone": {}}); sdk.ReasonOf(err) != "tool_changed" || !strings.Contains(err.Error(), "is new") {
		t.Error(err)
	}
	if err := s.server.check("echo", nil); sdk.ReasonOf(err) != "tool_changed" || !strings.Contains(err.Error(), "any more") {
		t.Error(err)
	}
}

// TestHostileServers_AreFaults, whose words say what happened, and the next call has a new process.
func TestHostileServers_AreFaults(t *testing.T) {
	old := added(t, program(t, "an old server")).server.Tools
	tests := []struct{ mode, config, reason string }{
		{"no JSON", `{"tool": "echo"}`, "server_failed"},
		{"garbage", `{"tool": "echo"}`, "server_failed"},
		{"a giant result", `{"tool": "echo"}`, "server_failed"},
		{"a deep result", `{"tool": "echo"}`, "result_invalid"},
		{"a very deep result", `{"tool": "echo"}`, "server_failed"},
		{"a large result", `{"tool": "echo", "verdict": "result.text == ''"}`, "result_invalid"},
		{"an unknown content", `{"tool": "echo"}`, "server_failed"},
		{"no content", `{"tool": "echo"}`, "result_invalid"},
		{"a refusal", `{"tool": "echo"}`, "tool_refused"},
		{"a refusal", `{"tool": "echo", "verdict": "!result.isError"}`, "tool_refused"},
		{"a flood", `{"tool": "echo"}`, "server_floods"},
		{"one tool twice", `{"tool": "echo"}`, "tools_invalid"},
		{"pages without end", `{"tool": "echo"}`, "tools_too_many"},
		{"good", `{"tool": "echo"}`, "tool_changed"},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			server := program(t, tt.mode)
			server.Name, server.Tools = "mcp/test", old
			s := &session{server: server}
			t.Cleanup(s.end)
			for range 2 {
				if v, err := judged(t.Context(), s, tt.config); sdk.ReasonOf(err) != tt.reason {
					t.Errorf("%+v, %v", v, err)
				}
			}
		})
	}
	server := program(t, "a refusal")
	server.Name, server.Tools = "mcp/test", old
	s := &session{server: server}
	t.Cleanup(s.end)
	v, err := judged(t.Context(), s, `{"tool": "echo", "verdict": "{'valid': !has(result.error), 'feedback': result.error.message}"}`)
	if err != nil || v.Valid || v.Feedback != "text is missing" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestServersThatEnd_AreStartedAgain, and those that hang are ended with the call.
func TestServersThatEnd_AreStartedAgain(t *testing.T) {
	s := added(t, program(t, "good"))
	for range 2 {
		if _, err := generated(t.Context(), s, `{"tool": "exits"}`); sdk.ReasonOf(err) != "server_failed" {
			t.Error(err)
		}
		if got, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`); got != `"a"` || err != nil {
			t.Error(got, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := generated(ctx, s, `{"tool": "hangs"}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if s.open != nil {
		t.Error("the server that hangs is still there")
	}
	if got, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`); got != `"a"` || err != nil {
		t.Error(got, err)
	}
	old := added(t, program(t, "an old server")).server.Tools
	for _, mode := range []string{"silence", "half a message"} {
		silent := &session{server: program(t, mode)}
		silent.server.Tools = old
		t.Cleanup(silent.end)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := generated(ctx, silent, `{"tool": "echo"}`); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", mode, err)
		}
		cancel()
	}
	absent := &session{server: &Server{Name: "mcp/test", Command: []string{filepath.Join(t.TempDir(), "none")}, Tools: s.server.Tools}}
	if _, err := generated(t.Context(), absent, `{"tool": "echo"}`); sdk.ReasonOf(err) != "server_failed" {
		t.Error(err)
	}
}

// TestHTTP_ReachesAServer by its URL, sees a changed definition in spite of a time to live, and follows no redirect.
func TestHTTP_ReachesAServer(t *testing.T) {
	server := goodServer("changes")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	s := added(t, &Server{URL: web.URL})
	if got, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`); got != `"a"` || err != nil {
		t.Error(got, err)
	}
	if _, err := generated(t.Context(), s, `{"tool": "echo", "arguments": {"text": "a"}}`); sdk.ReasonOf(err) != "tool_changed" {
		t.Error(err)
	}
	away := httptest.NewServer(http.RedirectHandler(web.URL, http.StatusTemporaryRedirect))
	t.Cleanup(away.Close)
	lost := &session{server: &Server{Name: "mcp/test", URL: away.URL, Tools: s.server.Tools}}
	if _, err := generated(t.Context(), lost, `{"tool": "measure"}`); sdk.ReasonOf(err) != "server_failed" {
		t.Error(err)
	}
}

func TestServerFile_IsReadStrictly(t *testing.T) {
	for text, says := range map[string]string{
		`{`: "unexpected EOF", `{"name": "mcp/a", "version": "1.0.0"}`: "neither a command nor a URL",
		`{"name": "mcp/a", "command": ["x"], "url": "http://x"}`: "or both",
		`{"name": "mcp/a", "comand": ["x"]}`:                     "unknown field",
	} {
		file := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Plugin(file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p, err := Plugin("")
	if err != nil || p.Validate() != nil {
		t.Error(err)
	}
	if _, err := p.Evaluator(t.Context(), json.RawMessage(`{"tool": "a"}`)); sdk.ReasonOf(err) != "config_invalid" {
		t.Error(err)
	}
}
