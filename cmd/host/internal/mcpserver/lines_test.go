package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// The lines with which a session begins, and one that shows that it goes on.
const (
	greeting = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	lastPing = `{"jsonrpc":"2.0","id":"last","method":"ping"}` + "\n"
)

// answer is a line that the server writes.
type answer struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// talk sends a text to a server until its end, and returns what the server has answered when it
// ends, without the answer to the greeting.
func talk(t *testing.T, s *Server, text string) (answers []answer) {
	t.Helper()
	var out bytes.Buffer
	ctx := core.WithCaller(context.Background(), core.Operator("tester"))
	if err := s.ServeStdio(ctx, All, io.NopCloser(strings.NewReader(greeting+text)), &out); err != nil {
		t.Fatalf("the server ended with %v", err)
	}
	for line := range strings.Lines(out.String()) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if string(a.ID) != `"hello"` {
			answers = append(answers, a)
		}
	}
	return answers
}

// byID is the answer with an id as JSON.
func byID(answers []answer, id string) *answer {
	for i, a := range answers {
		if string(a.ID) == id {
			return &answers[i]
		}
	}
	return nil
}

// TestLines_RefusesWhatIsNoMessage and goes on: each line is refused once, under its id where it
// has one that counts, and the next request is answered.
func TestLines_RefusesWhatIsNoMessage(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	const parse, invalid = -32700, -32600
	for name, c := range map[string]struct {
		line string
		code int
		id   string
		want string // in the message
	}{
		"text":                        {"this is not json", parse, "null", "byte 2"},
		"half a message":              {`{"jsonrpc":"2.0","id":1,`, parse, "null", "JSON"},
		"two messages":                {`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`, parse, "null", "JSON"},
		"a byte order mark":           {"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, parse, "null", "byte order mark"},
		"UTF-16":                      {"{\x00\"\x00j\x00\"\x00}\x00", parse, "null", "byte 2"},
		"a NUL":                       {"\x00", parse, "null", "byte 1"},
		"a NUL in a text":             {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\x00ng\"}", parse, "null", "JSON"},
		"a single quote":              {`{'jsonrpc':'2.0','id':1,'method':'ping'}`, parse, "null", "JSON"},
		"a comma too many":            {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, parse, "null", "JSON"},
		"NaN":                         {`{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, parse, "null", "JSON"},
		"a header of another framing": {"Content-Length: 40", parse, "null", "JSON"},
		"Latin-1 in an argument":      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"observe\",\"arguments\":{\"content\":\"M\xfcller\"}}}", parse, "7", "/params/arguments/content"},
		"an overlong form":            {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xc0\xaf\"}", parse, "7", "UTF-8"},
		"a surrogate in UTF-8":        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xed\xa0\x80\"}", parse, "7", "UTF-8"},
		"half a character":            {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xf0\x9f\x98\"}", parse, "7", "/x"},
		"a lone surrogate":            {`{"jsonrpc":"2.0","id":7,"method":"\ud800"}`, invalid, "7", "/method"},
		"an empty batch":              {`[]`, invalid, "null", "batch"},
		"a batch":                     {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, "null", "batch"},
		"a text of JSON":              {`"ping"`, invalid, "null", "object"},
		"a number":                    {`7`, invalid, "null", "object"},
		"null":                        {`null`, invalid, "null", "object"},
		"an id of true":               {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, invalid, "null", "id"},
		"an id of null":               {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid, "null", "id"},
		"an id that is a list":        {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, invalid, "null", "id"},
		"an id that is an object":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid, "null", "id"},
		"an id twice":                 {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, invalid, "null", "twice"},
		"a method twice":              {`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, invalid, "7", "twice"},
		"a tool twice":                {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"stats","name":"observe","arguments":{}}}`, invalid, "7", "/params/name"},
		"another version":             {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, invalid, "7", "jsonrpc"},
		"no version":                  {`{"id":7,"method":"ping"}`, invalid, "7", "jsonrpc"},
		"a version that is a number":  {`{"jsonrpc":2.0,"id":7,"method":"ping"}`, invalid, "7", "jsonrpc"},
		"no method":                   {`{"jsonrpc":"2.0","id":7}`, invalid, "7", "method"},
		"a method that is a number":   {`{"jsonrpc":"2.0","id":7,"method":7}`, invalid, "7", "method"},
		"a method of null":            {`{"jsonrpc":"2.0","id":7,"method":null}`, invalid, "7", "method"},
		"parameters that are a text":  {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"x"}`, invalid, "7", "params"},
		"parameters that are a list":  {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`, invalid, "7", "params"},
		"too deep":                    {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, invalid, "7", "deep"},
		"far too deep":                {strings.Repeat("[", 1<<20), parse, "null", "JSON"},
		"too long":                    {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", maxLine) + `"}}`, invalid, "null", "long"},
		"too long, and no JSON":       {strings.Repeat("\x00", maxLine+1), invalid, "null", "long"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := talk(t, s, c.line+"\n"+lastPing)
			last := byID(answers, `"last"`)
			if last == nil || last.Result == nil || len(answers) != 2 {
				t.Fatalf("the session has %d answers: %.300v", len(answers), answers)
			}
			a := byID(answers, c.id)
			if a == nil || a.Error == nil || a.Error.Code != c.code || !strings.Contains(a.Error.Message, c.want) || len(a.Error.Message) > 500 {
				t.Errorf("%+v; want %d for %s with %q", answers, c.code, c.id, c.want)
			}
		})
	}
}

// TestLines_TakesMessagesAsTheyMayBe: white space, the line ends of other systems, and a client's
// own answers and notifications are nothing to complain about.
func TestLines_TakesMessagesAsTheyMayBe(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	for name, c := range map[string]struct {
		text string
		want int // answers
	}{
		"CRLF":                         {strings.TrimSuffix(lastPing, "\n") + "\r\n", 1},
		"no line end":                  {strings.TrimSuffix(lastPing, "\n"), 1},
		"empty lines":                  {"\n\n\r\n  \t\n" + lastPing + "\n", 1},
		"white space":                  {" \t{ \"jsonrpc\" : \"2.0\", \"id\" : \"last\", \"method\" : \"ping\" } \n", 1},
		"more members":                 {`{"jsonrpc":"2.0","id":"last","method":"ping","more":{"a":1}}` + "\n", 1},
		"an unknown notification":      {`{"jsonrpc":"2.0","method":"notifications/none","params":{}}` + "\n" + lastPing, 1},
		"an answer to nothing":         {`{"jsonrpc":"2.0","id":9,"result":{}}` + "\n" + lastPing, 1},
		"an error about an error":      {`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}` + "\n" + lastPing, 1},
		"an error without an id":       {`{"jsonrpc":"2.0","error":{"code":-32600,"message":"what?"}}` + "\n" + lastPing, 1},
		"a strange answer":             {`{"jsonrpc":"2.0","id":true,"result":7}` + "\n" + lastPing, 1},
		"an unknown method":            {`{"jsonrpc":"2.0","id":1,"method":"none"}` + "\n" + lastPing, 2},
		"a cancellation of no request": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345678901234567890}}` + "\n" + lastPing, 1},
		"a cancellation of nothing":    {`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n" + lastPing, 1},
	} {
		t.Run(name, func(t *testing.T) {
			answers := talk(t, s, c.text)
			if last := byID(answers, `"last"`); last == nil || last.Result == nil || len(answers) != c.want {
				t.Errorf("%.300v", answers)
			}
		})
	}
}

// TestLines_IDsComeBackAsTheyWere, whatever kind of id the protocol allows, in results and errors.
func TestLines_IDsComeBackAsTheyWere(t *testing.T) {
	s := newServerOf(t, operationtest.New(t))
	for _, id := range []string{
		`0`, `-1`, `1`, `9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740993`, `9223372036854775807`, `9223372036854775808`,
		`18446744073709551615`, `123456789012345678901234567890`, `-123456789012345678901234567890`, `1.0`, `1.5`, `-0`, `0.1`, `1e3`, `1E+3`, `10e-1`, `1e400`,
		`""`, `"a"`, `"1"`, `"12345678901234567890"`, `"a\"b\\c"`, `"é😀"`, `"null"`, `"` + strings.Repeat("x", 2000) + `"`,
	} {
		for _, method := range []string{"ping", "none"} {
			answers := talk(t, s, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`+"\n")
			if len(answers) != 1 || string(answers[0].ID) != id || (method == "ping") != (answers[0].Error == nil) {
				t.Errorf("%.100s, %s: %.300v", id, method, answers)
			}
		}
	}
	if a := talk(t, s, `{"jsonrpc":"2.0","id":"\u00e9","method":"ping"}`+"\n"); len(a) != 1 || string(a[0].ID) != `"é"` {
		t.Errorf("%v", a)
	}
}

// TestLines_AnIDInUseIsRefused, and the first request with it still gets its answer.
func TestLines_AnIDInUseIsRefused(t *testing.T) {
	for _, id := range []string{`7`, `"x"`, `12345678901234567890`} {
		release := make(chan struct{})
		s := waitingServer(t, release)
		in, to := io.Pipe()
		from, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- s.ServeStdio(core.WithCaller(t.Context(), core.Operator("x")), All, in, out)
			_ = out.Close()
		}()
		lines := json.NewDecoder(from)
		next := func() (a answer) {
			if err := lines.Decode(&a); err != nil {
				t.Fatal(err)
			}
			return a
		}
		send := func(text string) { _, _ = io.WriteString(to, text) }
		send(greeting)
		next()
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"stats","arguments":{}}}`+"\n", id)
		send(request + request)
		if a := next(); string(a.ID) != "null" || a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "in use") {
			t.Errorf("%+v", a)
		}
		close(release)
		if a := next(); string(a.ID) != id || a.Result == nil {
			t.Errorf("%+v", a)
		}
		send(request) // it is free again
		if a := next(); string(a.ID) != id || a.Result == nil {
			t.Errorf("%+v", a)
		}
		_ = to.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// waitingServer is a server whose tools wait.
func waitingServer(t *testing.T, until <-chan struct{}) *Server {
	t.Helper()
	s, err := New(Config{Requests: httpapi.Requests{}, Client: caller(func(ctx context.Context, c operation.Call, name string, _ any) (any, error) {
		if c.Progress != nil {
			c.Progress(operation.Progress{Done: 1, Total: 2, What: "half of it"})
		}
		select {
		case <-until:
			return struct{}{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lockedBuffer is a buffer that may be written while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestLines_WhatWasReadIsDone and answered, when the input ends right after it.
func TestLines_WhatWasReadIsDone(t *testing.T) {
	w := operationtest.New(t)
	s := newServerOf(t, w)
	var text strings.Builder
	const n = 50
	for i := range n {
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"observe","arguments":{"namespace":"eof/a","content":"memory %d"}}}`+"\n", i, i)
	}
	answers := talk(t, s, text.String())
	for i := range n {
		if a := byID(answers, fmt.Sprint(i)); a == nil || a.Result == nil || bytes.Contains(a.Result, []byte("isError")) {
			t.Errorf("%d: %v", i, a)
		}
	}
	after := talk(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stats","arguments":{"scope":"memory","namespace":"eof/a"}}}`)
	if len(after) != 1 || !strings.Contains(string(after[0].Result), fmt.Sprintf(`"memories":%d`, n)) {
		t.Errorf("%v", after)
	}
}

// TestLines_WaitsForAnswersAsLongAsTheDrainTime, also if it is the context that ends: a call that
// takes longer is stopped, and its client is informed.
func TestLines_WaitsForAnswersAsLongAsTheDrainTime(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"stats","arguments":{}}}` + "\n"
	for name, c := range map[string]struct {
		byContext bool
		takes     time.Duration
		answered  bool
	}{
		"the input ends, in time":    {false, 20 * time.Second, true},
		"the input ends, too late":   {false, time.Hour, false},
		"the context ends, in time":  {true, 20 * time.Second, true},
		"the context ends, too late": {true, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := waitingServer(t, release)
				ctx, cancel := context.WithCancel(core.WithCaller(context.Background(), core.Operator("x")))
				defer cancel()
				in, to := io.Pipe()
				var out lockedBuffer
				ended := make(chan error, 1)
				go func() { ended <- s.ServeStdio(ctx, All, in, &out) }()
				_, _ = io.WriteString(to, greeting+request)
				synctest.Wait()
				if c.byContext {
					cancel()
				} else {
					_ = to.Close()
				}
				time.AfterFunc(c.takes, func() { close(release) })
				begun := time.Now()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != min(c.takes, drainTime) { // the time of the bubble
					t.Errorf("it took %s", took)
				}
				if text := out.String(); strings.Contains(text, `"id":12345678901234567890`) != true || strings.Contains(text, `-32000`) == c.answered {
					t.Errorf("%s", text)
				}
				_ = to.Close()
			})
		})
	}
}

// TestLines_ProgressTokensComeBackAsTheyWere.
func TestLines_ProgressTokensComeBackAsTheyWere(t *testing.T) {
	for _, token := range []string{`1`, `"a"`, `12345678901234567890`, `1.50`, `1e3`, `-0`, `"12345678901234567890"`} {
		release := make(chan struct{})
		close(release)
		answers := talk(t, waitingServer(t, release), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dream","arguments":{"action":"plan"},"_meta":{"progressToken":`+token+`}}}`+"\n")
		var p struct{ ProgressToken json.RawMessage }
		if len(answers) != 2 || answers[0].Method != "notifications/progress" || json.Unmarshal(answers[0].Params, &p) != nil || string(p.ProgressToken) != token {
			t.Errorf("%s: %v", token, answers)
		}
	}
}

// TestLines_CancelsARequestOfAnyID.
func TestLines_CancelsARequestOfAnyID(t *testing.T) {
	for _, id := range []string{`1`, `"a"`, `12345678901234567890`, `1.5`} {
		never := make(chan struct{})
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"stats","arguments":{}}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%[1]s}}`+"\n", id)
		answers := talk(t, waitingServer(t, never), text)
		if len(answers) != 1 || string(answers[0].ID) != id || strings.Contains(fmt.Sprint(answers[0].Error), "-32000") {
			t.Errorf("%s: %v", id, answers)
		}
	}
}

// FuzzLines: whatever a client sends, each line has at most one answer, which is a line of JSON,
// and the server answers the request after it.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		lastPing, greeting, "x", "[]", `{"jsonrpc":"2.0","id":1e5,"method":"ping"}`, `{"jsonrpc":"2.0","id":true}`, "\ufeff{}", "{\"id\":\"\xff\"}",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","id":"\ud800","method":"a"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{},"_meta":{"progressToken":1.0}}}`,
	} {
		f.Add([]byte(seed))
	}
	m := newServer("1", "")
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		c := newLines(io.NopCloser(io.MultiReader(bytes.NewReader(data), strings.NewReader("\n"+`{"jsonrpc":"2.0","id":"the-last","method":"ping"}`))), &out, nil)
		if err := m.Run(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		most, found := bytes.Count(data, []byte("\n"))+2, false
		for line := range bytes.Lines(out.Bytes()) {
			var a answer
			if err := json.Unmarshal(line, &a); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			found = found || string(a.ID) == `"the-last"` && a.Result != nil
			most--
		}
		if !found || most < 0 {
			t.Errorf("%q", out.String())
		}
	})
}

var _ mcp.Transport = (*lines)(nil)
