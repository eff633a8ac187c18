package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/cli"
	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// server is a server on a world's store, as reflectory serve starts it.
type server struct {
	w *operationtest.World
	// url is where it listens, and token the operator's.
	url, token string
	stop       func()
}

// serve starts a server. It is to be stopped before the world is left.
func serve(w *operationtest.World) *server {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	out, in := io.Pipe()
	errs := &sharedBuffer{} // the server and its workers write to it
	line := []string{"serve", "--listen", "127.0.0.1:0", "--json"}
	for name, value := range w.Flags() {
		line = append(line, "--"+name, value)
	}
	done := make(chan int, 1)
	go func() {
		app := &cli.App{Stdin: strings.NewReader(""), Stdout: in, Stderr: errs, Getenv: func(string) string { return "" }, Base: w.Config}
		done <- app.Run(ctx, line)
		_ = in.Close()
	}()
	var served struct {
		Listen string `json:"listen"`
		Token  string `json:"token_file"`
	}
	text, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &served)
	}
	if err != nil {
		cancel()
		w.T.Fatalf("the server doesn't start: exit %d: %s: %v", <-done, errs.String(), err)
	}
	token, err := os.ReadFile(served.Token)
	w.Must(err)
	return &server{w: w, url: "http://" + served.Listen, token: strings.TrimSpace(string(token)), stop: func() {
		cancel()
		if code := <-done; code != 0 {
			w.T.Errorf("the server ends with %d: %s", code, errs.String())
		}
	}}
}

// askServedCLI is askCLI where a server has the store.
func askServedCLI(w *operationtest.World, c operationtest.Case, in any) (string, bool) {
	w.T.Helper()
	defer serve(w).stop()
	return askCLI(w, c, in)
}

// askSocket makes the socket's client call the operation.
func askSocket(w *operationtest.World, c operationtest.Case, in any) (string, bool) {
	w.T.Helper()
	s := serve(w)
	defer s.stop()
	remote := client.NewRemote(filepath.Join(w.Folder, "data"), s.version())
	defer func() { w.Must(remote.Close()) }()
	call := operation.Call{Sink: io.Discard}
	if w.Body != nil {
		call.Body = bytes.NewReader(w.Body)
	}
	out, err := remote.Call(core.WithCaller(w.T.Context(), core.Operator(operationtest.Agent)), call, c.Operation, in)
	return w.Answer(out, err), true
}

// askHTTP asks over TCP with the operator's token. A refusal is the problem as it came.
func askHTTP(w *operationtest.World, c operationtest.Case, in any) (string, bool) {
	w.T.Helper()
	s := serve(w)
	defer s.stop()
	return s.ask(s.token, c.Operation, in)
}

// ask asks for an operation with a token.
func (s *server) ask(token, name string, in any) (answer string, said bool) {
	s.w.T.Helper()
	o, err := operation.Find(name)
	s.w.Must(err)
	var brought io.Reader
	if s.w.Body != nil {
		brought = bytes.NewReader(s.w.Body)
	}
	r, err := client.NewRequest(s.w.T.Context(), s.url, &o, in, brought)
	if err != nil { // a value that JSON or a path can't have
		return "", false
	}
	a, body := s.send(r, token)
	if o.Sink && a.StatusCode == http.StatusOK {
		return a.Trailer.Get("Reflectory-Result"), true
	}
	var text bytes.Buffer
	s.w.Must(json.Compact(&text, body))
	return text.String(), true
}

// send sends a request with a token.
func (s *server) send(r *http.Request, token string) (*http.Response, []byte) {
	s.w.T.Helper()
	r.Header.Set("Authorization", "Bearer "+token)
	r.Close = true
	a, err := http.DefaultTransport.RoundTrip(r)
	s.w.Must(err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	s.w.Must(err)
	return a, body
}

// version is the server's.
func (s *server) version() string {
	s.w.T.Helper()
	r, err := http.NewRequestWithContext(s.w.T.Context(), http.MethodGet, s.url+"/v1/nothing", nil)
	s.w.Must(err)
	a, _ := s.send(r, s.token)
	return a.Header.Get(client.VersionHeader)
}

// differsInBytes compares answers.
func differsInBytes(_, got, want string) string {
	if got != want {
		return "they differ"
	}
	return ""
}

// Over HTTP, a refusal says the same with other members: the message is detail, an action
// is the end of the hint as a route, and of the details problems and pointer are errors.

// The reasons for which a body over HTTP leaves something out, with … in its place. A proxy
// or a log would keep what was a secret in a wrong field; the caller has the value, and errors
// has its place.
const (
	ofValue = "it repeats a value that was refused"
	ofWord  = "the value that was refused is a word of the message"
)

// differsOverHTTP compares an answer over HTTP with a Go program's.
func differsOverHTTP(key, got, want string) string {
	var problem client.Problem
	var refusal struct {
		Error *core.ErrorInfo `json:"error"`
	}
	if json.Unmarshal([]byte(got), &problem) != nil || !strings.HasPrefix(problem.Type, "urn:reflectory:problem:") ||
		json.Unmarshal([]byte(want), &refusal) != nil || refusal.Error == nil {
		return differsInBytes(key, got, want)
	}
	left := &redactions{}
	var how []string
	check := func(what string, ok bool) {
		if !ok {
			how = append(how, what+" differs")
		}
	}
	e := refusal.Error
	check("code", problem.Code == e.Code)
	check("message", left.alike(problem.Detail, e.Message))
	check("hint", left.hint(problem.Hint, e.Hint, e.Try))
	check("details", left.details(problem.Details, e.Details))
	check("errors", left.errors(problem.Errors, e))
	_, listed := redacted[key]
	if !left.any && listed || left.any && !listed && !strings.HasSuffix(key, "/denied by a policy") { // whose file a hint names
		how = append(how, fmt.Sprintf("something is left out: %t, and in redacted: %t", left.any, listed))
	}
	return strings.Join(how, ", ")
}

// redactions compare texts with what is left of them.
type redactions struct{ any bool }

const leftOut = "…"

// alike reports whether a text is another one, with parts left out.
func (l *redactions) alike(got, want string) bool {
	if got == want {
		return true
	}
	if !strings.Contains(got, leftOut) {
		return false
	}
	l.any = true
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(got), leftOut, ".*") + "$").MatchString(want)
}

// hint compares a hint, whose action is a route over HTTP, if there is one for it.
func (l *redactions) hint(got, want string, try *sdk.Action) bool {
	words, route, routed := got, "", false
	if at := routeInHint.FindStringIndex(got); try != nil && at != nil {
		words, route, routed = got[:at[0]], got[at[0]:], true
	}
	return l.alike(strings.TrimSuffix(words, ": "), want) && (!routed || strings.Contains(route, "/v1/"))
}

// routeInHint is a route at the end of a hint.
var routeInHint = regexp.MustCompile(`(GET|POST|PUT|DELETE) /v1/\S*$`)

func (l *redactions) details(got, want map[string]any) bool {
	rest := map[string]any{}
	for name, value := range want {
		if name != "pointer" && (name != "problems" || !haveCodes(value)) {
			rest[name] = value
		}
	}
	return l.value(got, rest)
}

// haveCodes reports whether problems are errors, and not faults of a file with their lines.
func haveCodes(problems any) bool {
	list, _ := problems.([]any)
	if len(list) == 0 {
		return false
	}
	first, _ := list[0].(map[string]any)
	return first["code"] != nil
}

// value compares JSON values.
func (l *redactions) value(got, want any) bool {
	switch want := want.(type) {
	case string:
		text, is := got.(string)
		return is && l.alike(text, want)
	case []any:
		list, is := got.([]any)
		return is && slices.EqualFunc(list, want, l.value)
	case map[string]any:
		object, is := got.(map[string]any)
		if !is || len(object) != len(want) {
			return false
		}
		for name, value := range want {
			if !l.value(object[name], value) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// errors compares the list of all that is wrong, which refusals of the class invalid have.
func (l *redactions) errors(got []client.Fault, e *core.ErrorInfo) bool {
	if len(got) == 0 {
		return true // of another class
	}
	type fault struct{ Code, Message, Hint string }
	var problems []fault
	if text, err := json.Marshal(e.Details["problems"]); err != nil || json.Unmarshal(text, &problems) != nil {
		return false
	}
	if len(problems) == 0 || problems[0].Code == "" { // of a file, which details have
		problems = []fault{{e.Code, e.Message, ""}}
	}
	return slices.EqualFunc(got, problems, func(f client.Fault, p fault) bool {
		if l.alike(f.Detail, p.Message) {
			return f.Code == p.Code
		}
		words := routeInHint.ReplaceAllString(strings.TrimSuffix(f.Detail, ")"), "")
		return f.Code == p.Code && l.alike(strings.TrimSuffix(words, ": "), p.Message+" ("+p.Hint)
	})
}

// TestSurfacesRefuseOthersAlike makes each operation's valid request as callers who may not
// make it, by a Go program and over HTTP with a token: one whose scope is another one, and
// one who reaches another namespace.
func TestSurfacesRefuseOthersAlike(t *testing.T) {
	coretest.Long(t)
	for _, o := range operationtest.Table(t) {
		if asJobs[o.Name] {
			continue
		}
		for who, request := range map[string]access.Request{
			"no scope":  {Subject: "other", Scopes: []core.Scope{otherScope(o.Scope)}, Namespaces: []string{"**"}},
			"elsewhere": {Subject: "other", Scopes: core.Scopes(), Namespaces: []string{operationtest.Elsewhere + "/**"}},
		} {
			t.Run(o.Name+"/"+who, func(t *testing.T) {
				var token string
				var caller core.Caller
				c := operationtest.Case{Operation: o.Name, Make: withToken(func(w *operationtest.World) any {
					in := w.ValidRequest(o.Name)
					issued, err := w.Host.Access.Issue(w.Ctx, request)
					w.Must(err)
					token = string(issued.Secret)
					caller, err = w.Host.Access.Authenticate(w.Ctx, token)
					w.Must(err)
					return in
				})}
				if who == "elsewhere" && unsaid["served "+o.Name] != "" {
					return
				}
				world := c.Worlds(t)
				w, in := world(t)
				want := operationtest.AskAs(w, caller, o.Name, in)
				w, in = world(t)
				s := serve(w)
				defer s.stop()
				got, said := s.ask(token, o.Name, in)
				key := "http " + o.Name + "/" + who
				if how := differsOverHTTP(key, got, want); !said || how != "" {
					t.Errorf("it answers\n%s\nand a Go program is answered\n%s\n%s", got, want, how)
				}
				if who == "no scope" && outcome(t, want) != "scope_denied" {
					t.Errorf("it is answered %s", want)
				}
			})
		}
	}
}

// otherScope is a scope that isn't this one.
func otherScope(s core.Scope) core.Scope {
	if s == core.ScopeRun {
		return core.ScopeMemoryRead
	}
	return core.ScopeRun
}

// asJobs are the operations that aren't answered with their result over TCP: they take as
// long as a model or a whole store does.
var asJobs = map[string]bool{
	"audit_verify": true, "audit_verify_segment": true, "correct": true, "dream_apply": true, "dream_plan": true, "dream_run": true, "evaluate": true, "gate_run": true, "memory_reembed": true,
	"memory_sweep": true, "policy_replay": true, "run_replay": true, "run_resume": true, "run_start": true, "store_backup": true,
	"store_prune": true,
}

// redacted are the refusals that leave something out over HTTP, with the reason. Denials by a
// policy aren't listed: the hint of each names the policy's file.
var redacted = map[string]string{
	"http discover/no intent":           ofValue,
	"http dream_dates/no time":          ofValue,
	"http dream_conflicts/namespace":    ofValue,
	"http dream_list/namespace":         ofValue,
	"http dream_plan/decay":             ofValue,
	"http dream_run/mode":               ofValue,
	"http dream_run/namespace":          ofValue,
	"http evidence_dag/cycle":           ofValue,
	"http governance_explain/namespace": ofValue,
	"http governance_get/namespace":     ofValue,
	"http governance_set/fields":        ofValue,
	"http governance_set/namespace":     ofValue,
	"http governance_unset/field":       ofValue,
	"http job_enqueue/namespace":        ofValue,
	"http policy_push/candidate":        ofValue,
	"http job_enqueue/type":             ofValue,
	"http job_list/namespace":           ofValue,
	"http job_list/type and status":     ofValue,
	"http reflection_enqueue/fields":    ofValue,
	"http reflection_enqueue/user":      ofValue,
	"http stats/namespace":              ofValue,
	"http session_list/namespace":       ofValue,
	"http stats/scope":                  ofValue,
	"http stats/user":                   ofValue,
	"http knowledge_list/namespace":     ofValue,
	"http knowledge_recall/namespace":   ofValue,
	"http memory_feedback/not offered":  ofValue,
	"http memory_feedback/outcome":      ofValue,
	"http memory_link/relation":         ofValue,
	"http memory_list/kind and state":   ofValue,
	"http memory_list/namespace":        ofValue,
	"http memory_observe/fields":        ofValue,
	"http memory_observe/namespace":     ofValue,
	"http memory_observe_all/item":      ofValue,
	"http memory_pending/namespace":     ofValue,
	"http memory_recall/filter":         ofValue,
	"http plugin_logs/after":            ofValue,
	"http plugin_logs/name":             ofValue,
	"http run_list/namespace":           ofValue,
	"http run_list/status":              ofValue,
	"http snapshot_build/blocks":        ofValue,
	"http snapshot_build/fields":        ofValue,
}

// sharedBuffer is a buffer that several goroutines write to.
type sharedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
