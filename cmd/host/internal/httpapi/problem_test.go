package httpapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestProblem_SaysWhatIsWrong sends requests that the transport refuses, each for one thing.
func TestProblem_SaysWhatIsWrong(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: -1, Writes: -1, Body: 1000, Headers: 600})
	deep := strings.Repeat(`{"metadata":`, MaxJSONDepth+1) + "1" + strings.Repeat("}", MaxJSONDepth+1)
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		code                       string
	}{
		{"no such path", "GET", "/v1/nothing", "", nil, 404, "route_not_found"},
		{"no such path at all", "POST", "/x", "", nil, 404, "route_not_found"},
		{"method", "PATCH", "/v1/memories", "", nil, 405, "method_not_allowed"},
		{"options", "OPTIONS", "/v1/memories", "", nil, 405, "method_not_allowed"},
		{"no JSON", "POST", "/v1/memories", "{", nil, 400, "json_invalid"},
		{"two values", "POST", "/v1/memories", "{} {}", nil, 400, "json_invalid"},
		{"no object", "POST", "/v1/memories", "[]", nil, 400, "json_invalid"},
		{"null", "POST", "/v1/memories", "null", nil, 400, "json_invalid"},
		{"too deep", "POST", "/v1/memories", deep, nil, 400, "json_too_deep"},
		{"repeated", "POST", "/v1/memories", `{"content":"a","content":"b"}`, nil, 400, "json_name_repeated"},
		{"repeated inside", "POST", "/v1/memories", `{"content":"a","metadata":{"x":{"y":1,"y":2}}}`, nil, 400, "json_name_repeated"},
		{"unknown", "POST", "/v1/memories", `{"Title":"a","content":"a"}`, nil, 422, "field_unknown"},
		{"type", "POST", "/v1/memories", `{"content":7}`, nil, 422, "field_type_invalid"},
		{"fraction", "POST", "/v1/memories", `{"content":"a","priority":1.5}`, nil, 422, "field_range_invalid"},
		{"path field in the body", "POST", "/v1/pending/x/reject", `{"id":"y"}`, nil, 422, "field_in_path"},
		{"path field in the query", "GET", "/v1/memories/x?id=y", "", nil, 422, "field_in_path"},
		{"query of a POST", "POST", "/v1/memories?content=a", `{}`, nil, 400, "query_invalid"},
		{"unknown parameter", "GET", "/v1/memories?namespaces=a", "", nil, 422, "field_unknown"},
		{"repeated parameter", "GET", "/v1/memories?limit=1&limit=2", "", nil, 422, "field_repeated"},
		{"no number", "GET", "/v1/memories?limit=1x", "", nil, 422, "field_type_invalid"},
		{"plus sign", "GET", "/v1/memories?limit=%2B1", "", nil, 422, "field_type_invalid"},
		{"no switch", "GET", "/v1/memories?subtree=1", "", nil, 422, "field_type_invalid"},
		{"bad escape", "GET", "/v1/memories?limit=%zz", "", nil, 400, "query_invalid"},
		{"domain", "GET", "/v1/memories?limit=500", "", nil, 422, "limit_invalid"},
		{"page token", "GET", "/v1/memories?page_token=abc", "", nil, 400, "invalid_page_token"},
		{"absent", "GET", "/v1/runs/0000-none", "", nil, 404, "run_not_found"},
		{"media type", "POST", "/v1/memories", `{}`, []string{"Content-Type", "text/plain"}, 415, "content_type_unsupported"},
		{"no media type", "POST", "/v1/memories", `{}`, []string{"Content-Type", ""}, 415, "content_type_unsupported"},
		{"charset", "POST", "/v1/memories", `{}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "content_type_unsupported"},
		{"encoding", "POST", "/v1/memories", `{}`, []string{"Content-Encoding", "gzip"}, 415, "content_type_unsupported"},
		{"accept", "GET", "/v1/memories", "", []string{"Accept", "text/html, application/json;q=0"}, 406, "not_acceptable"},
		{"key", "POST", "/v1/memories", `{"content":"a"}`, []string{"Idempotency-Key", strings.Repeat("k", MaxKey+1)}, 400, "header_invalid"},
		{"key of a secret", "POST", "/v1/tokens", `{"subject":"a","scopes":["run"],"namespaces":["a"]}`, []string{"Idempotency-Key", "k"}, 422, "idempotency_key_refused"},
		{"two entity tags", "PUT", "/v1/governance/a", `{"assignments":["max_reflection_depth=1"]}`, []string{"If-Match", `"a","b"`}, 400, "header_invalid"},
		{"another's version", "PUT", "/v1/governance/a", `{"assignments":["max_reflection_depth=1"]}`, []string{"If-Match", `"nothing"`}, 412, "precondition_failed"},
		{"no version here", "POST", "/v1/memories", `{"content":"a"}`, []string{"If-Match", `"1"`}, 400, "header_invalid"},
		{"large body", "POST", "/v1/memories", `{"content":"` + strings.Repeat("x", 1000) + `"}`, nil, 413, "body_too_large"},
		{"large headers", "GET", "/v1/memories", "", []string{"X-Long", strings.Repeat("x", 600)}, 431, "headers_too_large"},
		{"host", "GET", "/v1/memories", "", []string{"Host", "evil.example"}, 403, "host_unknown"},
		{"origin", "POST", "/v1/memories", `{}`, []string{"Origin", "http://evil.example"}, 403, "cross_origin"},
		{"site", "POST", "/v1/memories", `{}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{"events without a namespace", "GET", "/v1/events", "", nil, 422, "namespaces_invalid"},
		{"events twice of one", "GET", "/v1/events?namespace=a&namespace=a", "", nil, 422, "namespaces_invalid"},
		{"events of no namespace", "GET", "/v1/events?namespace=a%20b", "", nil, 422, "namespace_invalid"},
		{"events after nothing", "GET", "/v1/events?namespace=a", "", []string{"Last-Event-ID", "1,2"}, 400, "last_event_id_invalid"},
		{"events of no run", "GET", "/v1/runs/0000-none/events", "", nil, 404, "run_not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.request("operator", c.method, c.target, c.body, c.headers...)
			if host := r.Header.Get("Host"); host != "" {
				r.Host = host
			}
			a := serve(s.api.Remote(), r)
			p := a.problem(t)
			if a.StatusCode != c.status || p.Code != c.code {
				t.Errorf("%d %s, want %d %s: %s", a.StatusCode, p.Code, c.status, c.code, a.body)
			}
			if c.status == 422 && (len(p.Errors) != 1 || p.Errors[0].Code != c.code) {
				t.Errorf("errors are %v", p.Errors)
			}
			if l := s.line(); l.Code != c.code || l.Status != c.status || l.TraceID != p.TraceID || l.Level != "info" {
				t.Errorf("the log has %v", l)
			}
		})
	}
}

// TestProblem_HasEveryFault with its place.
func TestProblem_HasEveryFault(t *testing.T) {
	s := newSite(t)
	a := s.send("operator", "POST", "/v1/memories/batch", `{"items":[{"content":1,"tags":["a",2]},{"x/y~z":1}],"more":true}`)
	p := a.problem(t)
	got := map[string]string{}
	for _, e := range p.Errors {
		got[e.Pointer] = e.Code
	}
	want := map[string]string{
		"/items/0/content": "field_type_invalid", "/items/0/tags/1": "field_type_invalid", "/items/1/x~1y~0z": "field_unknown", "/more": "field_unknown", "/items/1/content": "content_invalid",
	}
	if a.StatusCode != 422 || p.Code != "several_problems" || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nwant %v", a.body, want)
	}
	a = s.send("operator", "GET", "/v1/memories?limit=x&subtree=7&states=open", "")
	if p := a.problem(t); len(p.Errors) != 2 || p.Errors[0].Pointer != "/limit" || p.Errors[1].Pointer != "/subtree" {
		t.Errorf("%s", a.body)
	}
	// The domain's own, which come together too.
	a = s.send("operator", "POST", "/v1/memories", `{"content":"","namespace":"a b","priority":99}`)
	if p := a.problem(t); len(p.Errors) < 3 {
		t.Errorf("%s", a.body)
	}
}

// TestProblem_SaysNothingThatWasRefused: a secret in the wrong place comes back in no
// field, and stays out of the log; over the socket the message is complete.
func TestProblem_SaysNothingThatWasRefused(t *testing.T) {
	const canary = "canary-4f9d"
	s := newSite(t)
	for _, c := range []struct{ method, target, body string }{
		{"POST", "/v1/memories", `{"content":"a","namespace":"` + canary + ` x"}`},
		{"POST", "/v1/memories", `{"content":"a","kind":"` + canary + `"}`},
		{"POST", "/v1/memories", `{"content":"a","occurred_at":"` + canary + `"}`},
		{"POST", "/v1/memories", `{"content":"a","metadata":"` + canary + `"}`},
		{"POST", "/v1/memories", `{"content":{"` + "x" + `":"` + canary + `"}}`},
		{"POST", "/v1/memories", `{"content":"` + canary},
		{"GET", "/v1/memories?limit=" + canary, ""},
		{"GET", "/v1/memories?states=" + canary, ""},
		{"GET", "/v1/memories?page_token=" + canary, ""},
		{"GET", "/v1/runs?status=" + canary, ""},
		{"GET", "/v1/memories/" + canary, ""},
		{"PUT", "/v1/governance/a", `{"assignments":["` + canary + `=1"]}`},
		{"PUT", "/v1/governance/a", `{"assignments":["max_reflection_depth=` + canary + `"]}`},
		{"GET", "/v1/events?namespace=" + canary + "%20x", ""},
	} {
		a := s.send("operator", c.method, c.target, c.body)
		p := a.problem(t)
		if strings.Contains(a.body, canary) && p.Status != 404 { // what an id names
			t.Errorf("%s %s %s comes back: %s", c.method, c.target, c.body, a.body)
		}
		if line := s.line().String(); strings.Contains(line, canary) {
			t.Errorf("the log has it: %s", line)
		}
	}
	r := s.request("", "GET", "/v1/runs?status="+canary, "")
	if a := serve(s.api.Local(), r); !strings.Contains(a.body, canary) {
		t.Errorf("over the socket: %s", a.body)
	}
}

// TestProblem_SaysNothingOfTheHost: no path, and nothing of what went wrong inside.
func TestProblem_SaysNothingOfTheHost(t *testing.T) {
	s := newSite(t)
	dir := s.Host.Config.Settings.DataDir.Value
	_, missing := os.Open(filepath.Join(t.TempDir(), "secret-name"))
	remote, local := &request{http: s.request("", "GET", "/", ""), trace: traceparent.Trace{ID: "t"}}, &request{http: s.request("", "GET", "/", ""), trace: traceparent.Trace{ID: "t"}, local: true}
	for name, err := range map[string]error{
		"data folder": sdk.Errorf(sdk.Unavailable, "x", "open %s/store/LOCK: busy", dir).WithHint("look into %s", dir).WithDetail("folder", dir),
		"path error":  sdk.Errorf(sdk.Unavailable, "x", "export: %w", missing).WithDetail("list", []string{dir}),
		"internal":    missing,
		"defect":      sdk.Errorf(sdk.Internal, "defect", "key %s", "secret-name").WithDetail("key", "secret-name"),
	} {
		text := string(jsontext.MustEncode(s.api.problems.of(remote, err)))
		if strings.Contains(text, "secret-name") || strings.Contains(text, dir) {
			t.Errorf("%s: %s", name, text)
		}
		if p := s.api.problems.of(local, err); p.Detail != err.Error() {
			t.Errorf("%s over the socket: %s", name, p.Detail)
		}
	}
}

// TestProblem_HasTheClassesStatus.
func TestProblem_HasTheClassesStatus(t *testing.T) {
	s := newSite(t)
	for _, code := range sdk.Codes() {
		r := &request{http: s.request("", "GET", "/", ""), trace: traceparent.Trace{ID: "t"}}
		w := httptest.NewRecorder()
		s.api.problems.refuse(w, r, sdk.Errorf(code, "", "x").WithDetail(sdk.RetryAfterDetail, int64(2500)))
		if statuses[code] != w.Code || titles[code] == "" {
			t.Errorf("%s: %d", code, w.Code)
		}
		if got, want := w.Header().Get("Retry-After") == "3", w.Code == 429 || w.Code == 503; got != want {
			t.Errorf("%s: Retry-After %q", code, w.Header().Get("Retry-After"))
		}
	}
	if got := statusOf(sdk.Errorf(sdk.Exhausted, "input_too_large", "x"), true); got != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d", got)
	}
}

// TestProblem_HintsAreRoutes: an action that an operation does is spelt as its route, and
// another isn't spelt.
func TestProblem_HintsAreRoutes(t *testing.T) {
	s := newSite(t)
	for want, try := range map[string]*sdk.Action{
		"do: GET /v1/memories?namespace=team%2Fa":        sdk.NewAction("memory list", "namespace", "team/a", "state", nil),
		"do: GET /v1/runs/R1":                            sdk.NewAction("runs show", "run", "R1"),
		"do: GET /v1/memories/M%2F1/explain":             sdk.NewAction("memory explain", "memory", "M/1"),
		"do: GET /v1/runs/{id}":                          sdk.NewAction("runs show", "run", nil),
		"do: GET /v1/governance/a/explain":               sdk.NewAction("governance explain", "namespace", "a"),
		"do: POST /v1/store/check":                       sdk.NewAction("store check", "repair", true),
		"do: GET /v1/audit/entries?stream=namespace%2Fa": sdk.NewAction("audit show", "stream", "namespace/a"),
		"do": sdk.NewAction("plugin add", "path", "x"),
	} {
		if got := s.api.problems.hint("do", try); got != want {
			t.Errorf("%v is %q, want %q", try, got, want)
		}
	}
}

// TestProblem_TraceIsTheCallers if the caller names a valid one.
func TestProblem_TraceIsTheCallers(t *testing.T) {
	s := newSite(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	valid := "00-" + trace + "-00f067aa0ba902b7-01"
	if p := s.send("operator", "GET", "/v1/x", "", "Traceparent", valid).problem(t); p.TraceID != trace {
		t.Errorf("%s", p.TraceID)
	}
	for _, header := range []string{"", "x", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "ff" + valid[2:], valid + "-x"} {
		if p := s.send("operator", "GET", "/v1/x", "", "Traceparent", header).problem(t); p.TraceID == trace || strings.Trim(p.TraceID, "0") == "" {
			t.Errorf("%q gives %s", header, p.TraceID)
		}
	}
}

// TestProblem_ADefectIsAnswered: a panic ends one request, says nothing, and is logged.
func TestProblem_ADefectIsAnswered(t *testing.T) {
	s := newSite(t)
	h := s.api.enter(request{}, func(http.ResponseWriter, *request) { panic("secret") })
	a := serve(h, s.request("operator", "GET", "/v1/status", ""))
	if p := a.problem(t); a.StatusCode != 500 || p.Code != "panic" || strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if l := s.line(); l.Level != "error" || l.Failure == nil {
		t.Errorf("%v", l)
	}
}
