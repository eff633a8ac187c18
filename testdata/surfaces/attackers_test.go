package surfaces

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// The attackers are a process of their own with the lowest priority: an attacker would be on
// another machine, so what its requests cost itself must not slow the server down.

// assault is what the attackers are asked to do.
type assault struct {
	// Base is the server's address, and Token the hostile tenant's. Without an address, the attackers
	// attack a server of their own, which refuses everything once it has read it: what that costs is
	// no fault of the server that is measured.
	Base, Token string
	// Others are tokens of more subjects of the same tenant.
	Others []string
	// Case is the name of an attack, or empty for all at once.
	Case string
}

// assaultVariable has an assault, as JSON, for the process of the attackers.
const assaultVariable = "REFLECTORY_TEST_ASSAULT"

func TestMain(m *testing.M) {
	text := os.Getenv(assaultVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var a assault
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		panic(err)
	}
	a.run()
}

// begin starts the attackers. stop ends them, and waits for it.
func (a assault) begin(t testing.TB) (stop func()) {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("nice", "-n", "19", os.Args[0])
	c.Env = append(os.Environ(), assaultVariable+"="+string(text))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("the attackers: %v", err)
		}
	}
}

// run attacks until standard input ends.
func (a assault) run() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // it only ends
		stop()
	}()
	if a.Base == "" {
		own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a broken body is refused too
			http.Error(w, "no", http.StatusForbidden)
		}))
		a.Base = own.URL
	}
	var all sync.WaitGroup
	for name, attack := range attacks(&client{a.Base, a.Token, &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}, a.Others) {
		if a.Case == "" || a.Case == name {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					attack(ctx, n)
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
		}
	}
	<-ctx.Done()
	os.Exit(0) // requests that aren't answered yet are aborted, as by a client that goes away
}

// nested is a schema whose references double at each of 30 levels.
func nested() string {
	defs := map[string]any{"d0": map[string]any{"type": "string"}}
	for i := range 30 {
		ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i)}
		defs[fmt.Sprintf("d%d", i+1)] = map[string]any{"allOf": []any{ref, ref}}
	}
	text, _ := json.Marshal(map[string]any{"$defs": defs, "$ref": "#/$defs/d30"}) // it always can be encoded
	return string(text)
}

// attacks are what a hostile tenant does again and again; n counts the tries. Whether an attack is
// answered or refused doesn't matter to this test.
func attacks(evil *client, others []string) map[string]func(ctx context.Context, n int) {
	post := func(path string, body map[string]any) {
		body["namespace"] = "evil/x"
		_, _ = evil.do("POST", path, body) // any answer will do
	}
	evaluate := func(evaluator, output string) {
		post("/v1/evaluate", map[string]any{"evaluator": evaluator, "output": output})
	}
	lua := func(n int, code string) { evaluate(fmt.Sprintf("type: lua\ncode: |\n  -- %d\n  %s\n", n, code), "x") }
	run := func(name, accept string) {
		post("/v1/runs", map[string]any{"workflow": "name: " + name + "\nnodes:\n  - name: a\n    action: reflection.loop\n    with:\n" +
			"      generator: {type: lua, code: 'return string.rep(\"a\", 1000000)'}\n      evaluator: {type: lua, code: 'return {valid = true}'}\n" +
			"      max_iterations: 1\n      accept: '" + accept + "'\n"})
	}
	get := func(token, path string) {
		_, _ = (&client{evil.base, token, evil.http}).do("GET", path, nil) // any answer will do
	}
	unknown := strings.Builder{}
	for i := range 60_000 {
		fmt.Fprintf(&unknown, `"field-%d":1,`, i)
	}
	body := json.RawMessage(`{` + unknown.String() + `"namespace":"evil/x"}`)
	long := strings.Repeat("a", 100_000)
	return map[string]func(ctx context.Context, n int){
		"Lua tables at the memory limit": func(_ context.Context, n int) {
			lua(n, `local t = {} for i = 1, 1e9 do t[i] = string.rep("a", 1e6) end return {valid = true}`)
		},
		"Lua texts at the memory limit": func(_ context.Context, n int) {
			lua(n, `local s = string.rep("a", 1e6) while true do s = s .. s end`)
		},
		"a Lua loop": func(_ context.Context, n int) { lua(n, `while true do end`) },
		"a schema that doubles": func(_ context.Context, n int) {
			evaluate("type: schema\nschema: "+strings.Replace(nested(), `"string"`, fmt.Sprintf(`"string","maxLength":%d`, n+9), 1)+"\n", "x")
		},
		"a slow pattern": func(_ context.Context, n int) {
			evaluate(fmt.Sprintf("type: schema\nschema: {type: string, maxLength: %d, pattern: '(a?){500}(a?){500}b'}\n", n+200_000), long)
		},
		"a slow expression": func(_ context.Context, n int) {
			run(fmt.Sprint("slow-", n), `output.matches("(a?){1000}(a?){1000}b") || output.matches("(a?){1000}(a?){1000}c")`)
		},
		"unknown fields": func(context.Context, int) { _, _ = evil.do("POST", "/v1/memories", body) }, // any answer will do
		"queued jobs": func(_ context.Context, n int) {
			for i := range 120 {
				run(fmt.Sprintf("queued-%d-%d", n, i), "true")
			}
		},
		"many subjects": func(_ context.Context, n int) {
			var all sync.WaitGroup
			for i, token := range others { // each has a rate of its own
				all.Go(func() {
					c := &client{evil.base, token, evil.http}
					_, _ = c.do("POST", "/v1/memories", map[string]any{"namespace": "evil/x", "content": fmt.Sprint("text ", n, " of ", i)})
					_, _ = c.do("POST", "/v1/recall", map[string]any{"namespace": "evil/x", "query": "a text"})
				})
			}
			all.Wait()
		},
		"streams":          func(ctx context.Context, _ int) { hold(ctx, evil, 1000, streamRequest(evil)) },
		"idle connections": func(ctx context.Context, _ int) { hold(ctx, evil, 2000, "") },
		"logins":           func(context.Context, int) { get("", "/login/oidc") },
		"wrong tokens":     func(context.Context, int) { get("rfl_0_0", "/v1/status") },
		"reads":            func(context.Context, int) { get(evil.token, "/v1/memories?namespace=evil%2Fx") },
	}
}

// hold opens connections, sends the same on each, and closes them a while later.
func hold(ctx context.Context, at *client, n int, first string) {
	var open []net.Conn
	for range n {
		if c, err := net.DialTimeout("tcp", strings.TrimPrefix(at.base, "http://"), time.Second); err == nil {
			_, _ = c.Write([]byte(first)) // the server may have closed it
			open = append(open, c)
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	for _, c := range open {
		_ = c.Close()
	}
}

func streamRequest(c *client) string {
	return "GET /v1/events?namespace=evil%2Fx HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + c.token + "\r\n\r\n"
}
