package surfaces

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// document is what is taken from openapi.json.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string
		Parameters  []struct {
			Name, In string
			Required bool
		}
		Responses map[string]any
	}
}

// TestHTTP_EveryRouteAnswersAsItsDocumentSays: with the operator's token, the status is one
// that the document has; without a token, it is 401.
func TestHTTP_EveryRouteAnswersAsItsDocumentSays(t *testing.T) {
	s := start(t, t.TempDir(), "")
	operator, nobody := s.operator(), s.client("")
	var d document
	if err := json.Unmarshal(operator.must(t, "GET", "/v1/openapi.json", nil).Body, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) < 40 {
		t.Fatalf("the document has %d paths", len(d.Paths))
	}
	replace := strings.NewReplacer("{id}", "absent-1", "{namespace}", "team%2Fabsent", "{name}", "acme%2Fabsent")
	for path, methods := range d.Paths {
		for method, op := range methods {
			if strings.HasSuffix(path, "/events") {
				continue // a stream
			}
			at := replace.Replace(path)
			if i := strings.Index(at, "{"); i >= 0 {
				at = at[:i] + "absent-1" + at[strings.Index(at, "}")+1:]
			}
			method = strings.ToUpper(method)
			var body any
			if method == http.MethodPost || method == http.MethodPut {
				body = map[string]any{}
			}
			if op.OperationID != "token_operator" { // which ends the token
				a, err := operator.do(method, at, body)
				if err != nil {
					t.Fatal(err)
				}
				if _, documented := op.Responses[strconv.Itoa(a.Status)]; !documented || a.Status >= 500 {
					t.Errorf("%s %s: %d %s", method, at, a.Status, a.Body)
				}
			}
			if op.OperationID == "openapi" {
				continue
			}
			if a, err := nobody.do(method, at, body); err != nil || a.Status != http.StatusUnauthorized {
				t.Errorf("%s %s without a token: %d %s %v", method, at, a.Status, a.Body, err)
			}
		}
	}
	s.stop()
}

// TestHTTP_RefusesWhatItDoesNotHave with problems that programs can read.
func TestHTTP_RefusesWhatItDoesNotHave(t *testing.T) {
	s := start(t, t.TempDir(), "")
	c := s.operator()
	for _, tt := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{"GET", "/v1/nothing", nil, 404, "route_not_found"},
		{"DELETE", "/v1/memories", nil, 405, "method_not_allowed"},
		{"GET", "/v1/memories?limit=many", nil, 422, "field_type_invalid"},
		{"GET", "/v1/memories?page_token=x", nil, 400, "invalid_page_token"},
		{"POST", "/v1/memories", map[string]any{"contents": "x"}, 422, ""},
		{"GET", "/v1/memories/absent-memory", nil, 404, "memory_not_found"},
	} {
		a, err := c.do(tt.method, tt.path, tt.body)
		if err != nil || a.Status != tt.status || tt.code != "" && a.code() != tt.code || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") {
			t.Errorf("%s %s: %d %s %v", tt.method, tt.path, a.Status, a.Body, err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if a, err := s.client("").do("GET", path, nil); err != nil || a.Status != 200 {
			t.Errorf("%s: %d %v", path, a.Status, err)
		}
	}
	if a, err := s.client("rfl_x_y").do("GET", "/v1/status", nil); err != nil || a.Status != 401 || slices.Contains([]string{"", "internal"}, a.code()) {
		t.Errorf("a bad token: %d %s %v", a.Status, a.Body, err)
	}
	s.stop()
}
