package mcpserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// postMessage sends a body to /mcp, and returns the status and the answer.
func postMessage(t *testing.T, s *Server, body string) (int, answer) {
	t.Helper()
	r := httptest.NewRequestWithContext(core.WithCaller(t.Context(), core.Operator("tester")), "POST", "/mcp?profile=all", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	return w.Code, a
}

// observeWith is a call of observe with id 7 and some text as the JSON of its arguments.
func observeWith(arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"observe","arguments":` + arguments + `}}`
}

// TestMessage_OverHTTP is checked as a line is.
func TestMessage_OverHTTP(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	for name, c := range map[string]struct {
		body, id string
		code     int
		says     string
	}{
		"text":                  {"hello", "null", -32700, "byte 1"},
		"nothing after a brace": {"{", "null", -32700, "JSON"},
		"a byte order mark":     {"\ufeff" + observeWith(`{"content":"a"}`), "null", -32700, "byte order mark"},
		"Latin-1":               {observeWith("{\"content\":\"M\xfcller\"}"), "7", -32700, "/params/arguments/content"},
		"half a character":      {observeWith("{\"content\":\"\xf0\x9f\x98\"}"), "7", -32700, "UTF-8"},
		"a lone surrogate":      {strings.Replace(observeWith(`{}`), "observe", `\udead`, 1), "7", -32600, "/params/name"},
		"a batch":               {"[" + observeWith(`{"content":"a"}`) + "]", "null", -32600, "batch"},
		"a tool twice":          {strings.Replace(observeWith(`{"content":"a"}`), `"name":`, `"name":"stats","name":`, 1), "7", -32600, "twice"},
		"arguments twice":       {strings.Replace(observeWith(`{"content":"a"}`), `"name":`, `"arguments":{"content":"b"},"name":`, 1), "7", -32600, "twice"},
		"an id of true":         {strings.Replace(observeWith(`{"content":"a"}`), "7", "true", 1), "null", -32600, "id"},
		"no version":            {strings.Replace(observeWith(`{"content":"a"}`), "2.0", "2", 1), "7", -32600, "jsonrpc"},
	} {
		status, a := postMessage(t, s, c.body)
		if status != http.StatusBadRequest || string(a.ID) != c.id || a.Error == nil || a.Error.Code != c.code || !strings.Contains(a.Error.Message, c.says) {
			t.Errorf("%s: %d %+v %+v", name, status, a, a.Error)
		}
	}
	for _, id := range []string{`1`, `"a"`, `-1`, `9007199254740993`, `12345678901234567890`, `1.5`, `1e3`, `-0`} {
		for _, tool := range []string{"stats", "none"} {
			_, a := postMessage(t, s, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+tool+`"}}`)
			if string(a.ID) != id || (tool == "none") != (a.Error != nil) {
				t.Errorf("%s: %+v", id, a)
			}
		}
	}
}

// TestMessage_ArgumentsAreTheToolsMatter: what is wrong inside them, a model can correct.
func TestMessage_ArgumentsAreTheToolsMatter(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	for arguments, code := range map[string]string{
		`{"content":"x\ud800"}`: "utf8_invalid", `{"content":"a","tags":["\udc00b"]}`: "utf8_invalid", `{"content":"a","metadata":{"\ud83d":1}}`: "utf8_invalid",
		`{"content":"a","content":"b"}`: "json_name_repeated", `{"content":"a","metadata":{"b":1,"b":2}}`: "json_name_repeated",
		`{"content":"a","metadata":{"b":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`: "json_too_deep",
	} {
		answers := talk(t, s, observeWith(arguments))
		status, a := postMessage(t, s, observeWith(arguments))
		for _, a := range append(answers, a) {
			if r := string(a.Result); !strings.Contains(r, `"isError":true`) || !strings.Contains(r, code) || status != http.StatusOK {
				t.Errorf("%s: %d %s %+v", arguments, status, r, a.Error)
			}
		}
	}
	for _, own := range []string{`"action":"plan","action":"run"`, `"action":"plan","action":"plan"`} { // the tool's own argument too
		a := talk(t, s, strings.Replace(observeWith(`{`+own+`}`), "observe", "dream", 1))
		if r := string(a[0].Result); !strings.Contains(r, "json_name_repeated") {
			t.Errorf("%s: %s", own, r)
		}
	}
	after := talk(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stats","arguments":{"scope":"memory"}}}`)
	if !strings.Contains(string(after[0].Result), `"memories":0`) {
		t.Errorf("%s", after[0].Result)
	}
}
