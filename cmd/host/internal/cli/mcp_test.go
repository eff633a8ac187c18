package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// agent is a program that talks to reflectory mcp, which runs within the test.
type agent struct {
	t     *testing.T
	to    io.WriteCloser
	lines *bufio.Reader
	next  int
	stop  func() int
}

// agent starts reflectory mcp and greets it.
func (w *world) agent(args ...string) *agent {
	w.t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	code := make(chan int, 1)
	var errs strings.Builder
	go func() {
		code <- runProgram(context.Background(), append([]string{"mcp"}, args...), in, out, &errs, func(k string) string { return w.env[k] })
		_ = out.Close()
		_ = in.Close()
	}()
	a := &agent{t: w.t, to: to, lines: bufio.NewReader(from)}
	stopped := 0
	a.stop = func() int {
		if _ = to.Close(); stopped == 0 {
			rest, _ := io.ReadAll(a.lines)
			if stopped = 1 + <-code; len(rest) > 0 {
				w.t.Errorf("it says besides: %s", rest)
			}
		}
		return stopped - 1
	}
	w.t.Cleanup(func() {
		if code := a.stop(); code != exitPassed {
			w.t.Errorf("mcp: exit %d: %s", code, errs.String())
		}
	})
	a.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := io.WriteString(to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// ask sends a request and returns its result. Every line that comes must be the protocol's.
func (a *agent) ask(method, params string) json.RawMessage {
	a.t.Helper()
	a.next++
	if _, err := fmt.Fprintf(a.to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.next, method, params); err != nil {
		a.t.Fatal(err)
	}
	line, err := a.lines.ReadBytes('\n')
	var answer struct {
		JSONRPC string
		ID      int
		Result  json.RawMessage
		Error   json.RawMessage
	}
	if err != nil || json.Unmarshal(line, &answer) != nil || answer.JSONRPC != "2.0" || answer.ID != a.next || answer.Error != nil {
		a.t.Fatalf("%s: %v, %s", method, err, line)
	}
	return answer.Result
}

// call calls a tool, which must succeed, and returns its result.
func (a *agent) call(tool, args string) string {
	a.t.Helper()
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(a.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), &r); err != nil || r.IsError {
		a.t.Fatalf("%s: %v %+v", tool, err, r)
	}
	return r.Content[0].Text
}

// TestMCP_OneHasTheStoreForAll: the first mcp opens the store, and a second one and every
// command work over its socket; when it ends, the other takes the store.
func TestMCP_OneHasTheStoreForAll(t *testing.T) {
	w := newPlainWorld(t)
	first := w.agent("--agent", "first")
	first.call("observe", `{"namespace":"team/a","content":"The harbour closes at noon."}`)
	w.ok("memory", "observe", "--namespace", "team/a", "--content", "The ferry is late.")
	second := w.agent("--agent", "second", "--profile", "all")
	wantIn(t, second.call("retrieve", `{"namespace":"team/a","query":"harbour","detail":"full"}`), "closes at noon", `"agent_id":"first"`)
	second.call("observe", `{"namespace":"team/a","content":"The market opens at six."}`)
	wantIn(t, first.call("stats", `{"scope":"memory"}`), `"memories":3`)

	if code := first.stop(); code != exitPassed {
		t.Fatalf("exit %d", code)
	}
	wantIn(t, second.call("stats", `{"scope":"memory"}`), `"memories":3`)
	second.call("observe", `{"namespace":"team/a","content":"The tide is out."}`)
	out, _ := w.ok("memory", "list", "--namespace", "team/a", "--json") // the second one has the store now
	wantIn(t, out, "The tide is out.", "The market opens at six.", `"agent_id": "second"`)
	if code := second.stop(); code != exitPassed {
		t.Fatalf("exit %d", code)
	}
	out, _ = w.ok("memory", "list", "--namespace", "team/a", "--json")
	wantIn(t, out, "The harbour closes at noon.")
}

// TestMCP_UsesTheServer that has the store, and takes the store once the server has ended.
func TestMCP_UsesTheServer(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	a := w.agent()
	a.call("observe", `{"namespace":"team/a","content":"The harbour closes at noon."}`)
	_, body := s.get("/v1/memories?namespace=team/a")
	wantIn(t, body, "The harbour closes at noon.")
	if code := s.stop(); code != exitPassed {
		t.Fatalf("exit %d", code)
	}
	wantIn(t, a.call("retrieve", `{"namespace":"team/a","query":"harbour"}`), "closes at noon")
}

// TestMCP_ALineThatIsNoMessageHarmsNobody: neither the session that sends it, nor those that
// work over the socket of the program that it is sent to.
func TestMCP_ALineThatIsNoMessageHarmsNobody(t *testing.T) {
	w := newPlainWorld(t)
	first, second := w.agent("--agent", "first"), w.agent("--agent", "second")
	for _, a := range []*agent{first, second} {
		for _, line := range []string{"hello", "\ufeff{}", "[]", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "\xff", "{\"a\":\"\x00\"}", strings.Repeat("[", 1000)} {
			if _, err := io.WriteString(a.to, line+"\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := a.lines.ReadString('\n')
			if err != nil || !strings.Contains(answer, `"code":-32`) {
				t.Fatalf("%q: %s, %v", line, answer, err)
			}
		}
	}
	second.call("observe", `{"namespace":"team/a","content":"The harbour closes at noon."}`)
	wantIn(t, first.call("retrieve", `{"namespace":"team/a","query":"harbour"}`), "closes at noon")
	w.ok("memory", "observe", "--namespace", "team/a", "--content", "The ferry is late.")
}

// TestMCP_WhatWasReadIsDone when the input ends at once, by the program that has the store and by
// one that uses its socket.
func TestMCP_WhatWasReadIsDone(t *testing.T) {
	w := newPlainWorld(t)
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	for i := range 20 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":1234567890123456789%d,"method":"tools/call","params":{"name":"observe","arguments":{"namespace":"a","content":"memory %d of RUN"}}}`+"\n", i, i)
	}
	send := func(run string) {
		t.Helper()
		out, _ := w.line(exitPassed, strings.ReplaceAll(in.String(), "RUN", run), "mcp")
		if n := strings.Count(out, `"isError"`); n > 0 || strings.Count(out, "\n") != 21 {
			t.Errorf("%s: %s", run, out)
		}
		wantIn(t, out, `"id":12345678901234567890,`, `"id":123456789012345678919,`)
	}
	send("one")
	first := w.agent()
	send("two")
	wantIn(t, first.call("stats", `{"scope":"memory"}`), `"memories":40`)
}

// TestMCP_ProfilesAreChecked before anything is opened.
func TestMCP_ProfilesAreChecked(t *testing.T) {
	w := newPlainWorld(t)
	_, stderr := w.line(exitUsage, "", "mcp --profile lop")
	wantIn(t, stderr, "--profile", "agent, loop, all", "loop")
}

// TestServe_HasTheToolsOverHTTP, behind the checks of every request.
func TestServe_HasTheToolsOverHTTP(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	token, err := os.ReadFile(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	own := &http.Transport{DisableKeepAlives: true}
	ask := func(change func(*http.Request), body string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Listen+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		if change != nil {
			change(r)
		}
		a, err := own.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header, string(text)
	}
	const observe = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"observe","arguments":{"namespace":"team/a","content":"The tide is out.","detail":"full"}}}`
	status, _, body := ask(nil, observe)
	if wantIn(t, body, "The tide is out.", `"agent_id"`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		body   string
		status int
		want   string
	}{
		"no token":                 {func(r *http.Request) { r.Header.Del("Authorization") }, observe, 401, "unauthenticated"},
		"another origin":           {func(r *http.Request) { r.Header.Set("Origin", "https://elsewhere.example") }, observe, 403, "cross_origin"},
		"another host":             {func(r *http.Request) { r.Host = "rebound.example" }, observe, 403, "host_unknown"},
		"too large":                {nil, `"` + strings.Repeat("x", 1<<20) + `"`, 413, "body_too_large"},
		"a form":                   {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, observe, 415, "content_type_unsupported"},
		"a GET":                    {func(r *http.Request) { r.Method = "GET" }, "", 405, ""},
		"a value that was refused": {nil, strings.Replace(observe, "team/a", "team//secret-name", 1), 200, "namespace_invalid"},
	} {
		status, header, body := ask(c.change, c.body)
		if status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "secret-name") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if status == 401 && !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %s", name, header.Get("WWW-Authenticate"))
		}
	}
}
