package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestSnapshot_ALimitOf0IsNotAMissingOne: a caller who writes 0 doesn't want the default.
func TestSnapshot_ALimitOf0IsNotAMissingOne(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: -1, Writes: -1})
	for i, c := range []struct {
		policy        string
		blocks, chars int // 0 blocks: it is refused
	}{
		{`{}`, 12, 8000},
		{`{"max_chars":null,"max_blocks":null}`, 12, 8000},
		{`{"max_chars":5.0,"max_blocks":5.0}`, 5, 5},
		{`{"max_chars":50e-1,"max_tokens":5.0}`, 12, 5},
		{`{"max_tokens":5.0}`, 12, 0},
		{`{"max_tokens":5,"max_chars":null}`, 12, 0},
		{`{"max_tokens":5,"max_chars":0}`, 12, 0},
		{`{"max_tokens":5,"max_chars":0.0}`, 12, 0},
		{`{"max_chars":0}`, 0, 0},
		{`{"max_chars":0.0}`, 0, 0},
		{`{"max_chars":0e3}`, 0, 0},
		{`{"max_chars":-0}`, 0, 0},
		{`{"max_chars":0,"max_tokens":0}`, 0, 0},
		{`{"max_chars":0,"max_tokens":null}`, 0, 0},
		{`{"max_blocks":0}`, 0, 0},
		{`{"max_blocks":0.0}`, 0, 0},
		{`{"max_blocks":0,"max_tokens":5}`, 0, 0},
		{`{"max_blocks":0,"max_chars":0}`, 0, 0},
		{`{"max_blocks":-1}`, 0, 0},
		{`{"max_chars":5.5}`, 0, 0},
		{`{"max_chars":"5"}`, 0, 0},
	} {
		status := 200
		if c.blocks == 0 {
			status = 422
		}
		a := s.send("operator", "POST", "/v1/snapshots", fmt.Sprintf(`{"session":"s-%d","turn":1,"policy":%s}`, i, c.policy))
		var built struct {
			Policy struct {
				Blocks int `json:"max_blocks"`
				Chars  int `json:"max_chars"`
			} `json:"policy_applied"`
		}
		if a.StatusCode != status || status == 200 && json.Unmarshal([]byte(a.body), &built) != nil || built.Policy.Blocks != c.blocks || built.Policy.Chars != c.chars {
			t.Errorf("%s: %d %s", c.policy, a.StatusCode, a.body)
		}
	}
}

// TestLimits_RefusalsNameTheirKey: who is refused at a limit reads which key of reflectory.yaml raises it.
func TestLimits_RefusalsNameTheirKey(t *testing.T) {
	of := func(subject string) core.Caller { return core.Caller{Subject: subject, Namespaces: []string{"team"}} }
	open := func(l Limits, second string) error {
		s := newStreams(l)
		if _, _, err := s.open(of("a")); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.open(of(second))
		return err
	}
	for key, err := range map[string]error{
		"body":            unread(&http.MaxBytesError{Limit: 1}, time.Second, "body"),
		"import_body":     unread(&http.MaxBytesError{Limit: 1}, time.Second, "import_body"),
		"body_time":       unread(os.ErrDeadlineExceeded, time.Second, "body"),
		"headers":         checkHeaders(&request{http: httptest.NewRequest("GET", "/v1/memories", nil)}, 1, "headers"),
		"json_depth":      checkText([]byte(`{"a":{"b":{}}}`), 2),
		"subject_streams": open(Limits{Streams: 2, SubjectStreams: 1}, "a"),
		"streams":         open(Limits{Streams: 1, SubjectStreams: 1}, "b"),
		"requests":        tooOften("requests", "requests", "a", time.Second, nil),
		"writes":          tooOften("writes", "requests that write", "a", time.Second, nil),
		"gateway":         foreignFull(&request{http: httptest.NewRequest("GET", "/v1/memories", nil)}, "gateway"),
		"failed_logins":   tooOften("failed_logins", "wrong credentials", "a", time.Second, nil),
	} {
		e := sdk.AsError(err)
		if e == nil || e.Details["limit"] != key || !strings.Contains(e.Hint, "limits."+key+" in reflectory.yaml") {
			t.Errorf("%s: %v, hint %q, details %v", key, err, e.Hint, e.Details)
		}
	}
}
