package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestMistakes_AllAreNamed with their places: mistakes of a request that can't be decoded, and values
// out of bounds in its other fields.
func TestMistakes_AllAreNamed(t *testing.T) {
	s := newSite(t)
	for _, m := range operationtest.AllMistakes() {
		t.Run(m.Operation, func(t *testing.T) {
			rt := s.api.routes[m.Operation]
			wrong := jsontext.Members(json.RawMessage("{" + m.Wrong + "}"))[0]
			members := slices.DeleteFunc(jsontext.Members(json.RawMessage(m.Request)), func(of jsontext.Member) bool { return of.Key == wrong.Key })
			members = append(members, wrong, jsontext.Member{Key: "nonsense", Value: json.RawMessage("1")})
			want := []string{m.WrongPlace, "/nonsense"}
			for _, place := range m.Places {
				if !strings.HasPrefix(place+"/", m.WrongPlace+"/") {
					want = append(want, place)
				}
			}
			a := s.send("operator", rt.Method, targetOf(rt, &members), bodyOf(rt, members))
			if a.StatusCode != http.StatusUnprocessableEntity {
				t.Fatalf("%d: %s", a.StatusCode, a.body)
			}
			var got []string
			for _, fault := range a.problem(t).Errors {
				got = append(got, fault.Pointer)
			}
			for _, place := range want {
				if !slices.Contains(got, place) {
					t.Errorf("nothing names %s: %s", place, a.body)
				}
			}
		})
	}
}

// targetOf is the path of a request with the members that it takes, and its query.
func targetOf(rt *route, members *[]jsontext.Member) string {
	path, query := rt.Path, url.Values{}
	*members = slices.DeleteFunc(*members, func(m jsontext.Member) bool {
		in := strings.Contains(path, "{"+m.Key+"}")
		path = strings.ReplaceAll(path, "{"+m.Key+"}", url.PathEscape(plainText(m.Value)))
		return in
	})
	if !rt.inQuery() {
		return path
	}
	for _, m := range *members {
		var list []json.RawMessage
		if json.Unmarshal(m.Value, &list) != nil {
			list = []json.RawMessage{m.Value}
		}
		for _, item := range list {
			query.Add(m.Key, plainText(item))
		}
	}
	return path + "?" + query.Encode()
}

func bodyOf(rt *route, members []jsontext.Member) string {
	if rt.inQuery() {
		return ""
	}
	return string(jsontext.JoinMembers(members))
}

// plainText is a JSON value as a query has it.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// TestMistakes_NothingIsSaidOfUnreadFields: what is wrong only since another field couldn't be decoded
// isn't wrong.
func TestMistakes_NothingIsSaidOfUnreadFields(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		path, body string
		want       []string
	}{
		{"/v1/memories", `{"content": 5}`, []string{"/content"}},
		{"/v1/memories", `{"content": "x", "namespace": 5}`, []string{"/namespace"}},
		{"/v1/memories", `{"content": "x", "Priority": 11}`, []string{"/Priority"}},
		{"/v1/memories", `{"content": "x", "priority": "11", "importance": 7}`, []string{"/priority", "/importance"}},
		{"/v1/memories", `{"content": "x", "tags": ["a", 5, " "]}`, []string{"/tags/1", "/tags/2"}},
		{"/v1/memories/batch", `{"items": [{"content": 5}, {"content": ""}, 7]}`, []string{"/items/0/content", "/items/2", "/items/1/content"}},
		{"/v1/reflections", `{"source_ids": 5, "title": "t", "content": "c"}`, []string{"/source_ids"}},
		{"/v1/reflections", `{"source_ids": ["m", 5, 6], "title": "t", "content": "c"}`, []string{"/source_ids/1", "/source_ids/2"}},
		{"/v1/recall", `{"query": ["x"], "limit": 5.0}`, []string{"/query"}},
		{"/v1/discover", `{"intent": 5, "Intent": "x"}`, []string{"/intent", "/Intent"}},
		{"/v1/evidence/dag", `{"workflow": "w", "entry": ["a"], "exits": ["b"], "edges": [["a", "b", "c"]], "memories": {"m": ["a"]}}`, []string{"/edges/0"}},
		{"/v1/evidence/omega", `{"memory_id": "m", "upstream_status": "0.5"}`, []string{"/upstream_status"}},
	} {
		var got []string
		for _, fault := range s.send("operator", "POST", c.path, c.body).problem(t).Errors {
			got = append(got, fault.Pointer)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}

// TestDiscover_NamesRequests: whatever is asked, each request that an answer names is one of an operation.
func TestDiscover_NamesRequests(t *testing.T) {
	s := newSite(t)
	var routes []string
	for _, o := range operation.Table() {
		routes = append(routes, o.Method+" "+strings.NewReplacer("{", "<", "}", ">").Replace(o.Path))
	}
	named := 0
	for _, intent := range coretest.Intents(t, "../../../../core/host/operation/testdata/intents.txt") {
		body := s.send("operator", "POST", "/v1/discover", string(jsontext.MustEncode(map[string]string{"intent": intent}))).body
		var answer struct {
			Candidates, Nearest []struct {
				Usage struct{ Call string } `json:"usage_template"`
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		for _, r := range append(answer.Candidates, answer.Nearest...) {
			named++
			method, rest, _ := strings.Cut(r.Usage.Call, " ")
			path, _, _ := strings.Cut(rest, " ")
			path, _, _ = strings.Cut(path, "?")
			if !slices.Contains(routes, method+" "+path) {
				t.Errorf("%s: %q is no request", intent, r.Usage.Call)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d requests are named", named)
	}
}
