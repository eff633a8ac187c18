package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCall_TextThatIsNotUTF8IsRefused wherever a request has text, with its place, and nothing is
// stored: decoding would replace it with U+FFFD.
func TestCall_TextThatIsNotUTF8IsRefused(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: -1, Writes: -1})
	s.send("operator", "POST", "/v1/memories", `{"content":"the first, with é, 😀, \ud83d\ude00 and \ufffd"}`)
	for name, c := range map[string]struct {
		method, target, body string
		headers              []string
		status               int
		code, says, pointer  string
	}{
		"Latin-1 in a body":           {"POST", "/v1/memories", "{\"namespace\":\"b8\",\"content\":\"M\xfcller\"}", nil, 400, "utf8_invalid", "byte 31", "/content"},
		"half a character":            {"POST", "/v1/memories", "{\"content\":\"a\xe2\x82\"}", nil, 400, "utf8_invalid", "byte 14", "/content"},
		"an overlong NUL":             {"POST", "/v1/memories", "{\"content\":\"\xc0\x80\"}", nil, 400, "utf8_invalid", "byte 13", "/content"},
		"a surrogate in UTF-8":        {"POST", "/v1/memories", "{\"content\":\"\xed\xa0\xbd\xed\xb8\x80\"}", nil, 400, "utf8_invalid", "byte 13", "/content"},
		"beyond Unicode":              {"POST", "/v1/memories", "{\"content\":\"\xf4\x90\x80\x80\"}", nil, 400, "utf8_invalid", "byte 13", "/content"},
		"a lone surrogate":            {"POST", "/v1/memories", `{"content":"x\ud800"}`, nil, 400, "utf8_invalid", "byte 14", "/content"},
		"a pair the wrong way round":  {"POST", "/v1/memories", `{"content":"\ude00\ud83d"}`, nil, 400, "utf8_invalid", "byte 13", "/content"},
		"two high halves":             {"POST", "/v1/memories", `{"content":"\uD83D\uD83D"}`, nil, 400, "utf8_invalid", "byte 13", "/content"},
		"in a list":                   {"POST", "/v1/memories", "{\"content\":\"a\",\"tags\":[\"b\",\"\xff\"]}", nil, 400, "utf8_invalid", "byte 29", "/tags/1"},
		"in a batch":                  {"POST", "/v1/memories/batch", "{\"items\":[{\"content\":\"a\"},{\"content\":\"\xff\"}]}", nil, 400, "utf8_invalid", "byte 39", "/items/1/content"},
		"in metadata":                 {"POST", "/v1/memories", `{"content":"a","metadata":{"b":{"c":"\udfff"}}}`, nil, 400, "utf8_invalid", "byte 38", "/metadata/b/c"},
		"in a name":                   {"POST", "/v1/memories", "{\"content\":\"a\",\"metadata\":{\"\xff\":1}}", nil, 400, "utf8_invalid", "byte 29", ""},
		"in another operation":        {"POST", "/v1/reflect", "{\"user_id\":\"anna\",\"focus\":\"\xff\"}", nil, 400, "utf8_invalid", "byte 28", "/focus"},
		"in a workflow":               {"POST", "/v1/runs", "{\"workflow\":{\"text\":\"nodes: [] # \xff\"}}", nil, 400, "utf8_invalid", "byte 34", "/workflow/text"},
		"UTF-16":                      {"POST", "/v1/memories", "\xff\xfe{\x00}\x00", nil, 400, "json_invalid", "byte 1", ""},
		"a byte order mark":           {"POST", "/v1/memories", "\ufeff{\"content\":\"a\"}", nil, 400, "json_invalid", "byte order mark", ""},
		"a query's value":             {"GET", "/v1/memories?namespace=a%ffb", "", nil, 400, "utf8_invalid", "byte 2", "/namespace"},
		"one of a query's values":     {"GET", "/v1/memories?tags=a&tags=%c3", "", nil, 400, "utf8_invalid", "byte 1", "/tags/1"},
		"a query's name":              {"GET", "/v1/memories?n%ff=1", "", nil, 422, "field_unknown", "", "/n\ufffd"},
		"a path":                      {"GET", "/v1/memories/a%ff", "", nil, 400, "utf8_invalid", "byte 2", "/id"},
		"a surrogate in a path":       {"GET", "/v1/memories/%ed%a0%80", "", nil, 400, "utf8_invalid", "byte 1", "/id"},
		"a path before a verb":        {"POST", "/v1/pending/%ff/reject", `{}`, nil, 400, "utf8_invalid", "byte 1", "/id"},
		"a namespace of events":       {"GET", "/v1/events?namespace=%ff", "", nil, 422, "namespace_invalid", "UTF-8", "/namespace"},
		"the key of a request":        {"POST", "/v1/memories", `{"content":"a"}`, []string{"Idempotency-Key", "k\xff"}, 400, "header_invalid", "Idempotency-Key", ""},
		"an entity tag":               {"PUT", "/v1/governance/a", `{"assignments":["max_reflection_depth=1"]}`, []string{"If-Match", "\"\xff\""}, 400, "header_invalid", "If-Match", ""},
		"where a stream is continued": {"GET", "/v1/events?namespace=a", "", []string{"Last-Event-ID", "\xff"}, 400, "last_event_id_invalid", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(s.api.Remote(), s.request("operator", c.method, c.target, c.body, c.headers...))
			p := a.problem(t)
			if a.StatusCode != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
			if c.pointer != "" && (len(p.Errors) != 1 || p.Errors[0].Pointer != c.pointer) && p.Details["pointer"] != c.pointer {
				t.Errorf("no %s in %s", c.pointer, a.body)
			}
		})
	}
	var list struct{ Items []struct{ Content string } }
	if a := s.send("operator", "GET", "/v1/memories?subtree=true", ""); json.Unmarshal([]byte(a.body), &list) != nil || len(list.Items) != 1 || list.Items[0].Content != "the first, with é, 😀, 😀 and \ufffd" {
		t.Errorf("%s", a.body)
	}
}
