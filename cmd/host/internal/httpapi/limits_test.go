package httpapi

import (
	"encoding/json"
	"fmt"
	"testing"
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
