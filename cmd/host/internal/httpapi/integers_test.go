package httpapi

import (
	"encoding/json"
	"testing"
)

// TestCall_TakesEveryWholeNumberAsAnInteger, as the schema says that callers get, and nothing else.
func TestCall_TakesEveryWholeNumberAsAnInteger(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: -1, Writes: -1})
	for number, status := range map[string]int{
		"5": 200, "5.0": 200, "5e0": 200, "50e-1": 200, "5E0": 200, "0.5e1": 200, "5.000000": 200, "500.00e-2": 200,
		"5.5": 422, "5.0000000001": 422, "1e400": 422, "1e-400": 422, `"5"`: 422, `"5.0"`: 422, "true": 422, "[5]": 422, "1e20": 422, "-5.0": 422, "11.0": 422,
	} {
		a := s.send("operator", "POST", "/v1/memories", ` {"content":"of `+"x"+`","priority":`+number+`,"metadata":{"n":5.0}}`)
		var m struct {
			Priority int
			Metadata json.RawMessage
		}
		if a.StatusCode != status || status == 200 && (json.Unmarshal([]byte(a.body), &m) != nil || m.Priority != 5) {
			t.Errorf("%s: %d %s", number, a.StatusCode, a.body)
		}
	}
	for name, c := range map[string]struct{ method, target, body string }{
		"in a list":  {"POST", "/v1/memories/batch", `{"items":[{"content":"a","priority":5.0},{"content":"b","priority":70e-1}]}`},
		"in a query": {"GET", "/v1/memories?limit=5.0", ""},
		"in a power": {"GET", "/v1/memories?limit=1e1", ""},
		"recall":     {"POST", "/v1/recall", `{"query":"a","limit":5.0}`},
	} {
		if a := s.send("operator", c.method, c.target, c.body); a.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if a := s.send("operator", "GET", "/v1/memories?limit=5.5", ""); a.StatusCode != 422 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
