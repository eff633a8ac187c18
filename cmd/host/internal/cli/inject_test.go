package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/inject"
)

// TestInject_CountsTheTokensOfAVocabulary: a policy that names one bounds the tokens that its models
// read, not an estimate of them.
func TestInject_CountsTheTokensOfAVocabulary(t *testing.T) {
	w := newWorld(t)
	build := func(session, policy string) *inject.Built {
		file := filepath.Join(t.TempDir(), "turn.json")
		request := `{"session": "` + session + `", "turn": 1, "policy": ` + policy + `, "blocks": [
			{"block_id": "word", "category": "workflow", "priority": 9, "payload": "antidisestablishmentarianism"},
			{"block_id": "birthday", "category": "workflow", "priority": 1, "payload": "` + strings.Repeat("お誕生日おめでとう。", 9) + `"}]}`
		if err := os.WriteFile(file, []byte(request), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := w.ok("inject", "build", "--namespace", "team/a", "--file", file, "--json")
		built := &inject.Built{}
		if err := json.Unmarshal([]byte(out), built); err != nil {
			t.Fatal(err)
		}
		return built
	}
	for session, c := range map[string]struct {
		policy       string
		tokens, used int
	}{
		"estimate":   {`{"max_tokens": 30}`, 30, 2},
		"vocabulary": {`{"max_tokens": 30, "tokenizer": "o200k_base"}`, 30, 2},
		"whole":      {`{"max_tokens": 6, "tokenizer": "o200k_base"}`, 6, 1},
		"too_many":   {`{"max_tokens": 5, "tokenizer": "o200k_base"}`, 0, 0},
	} {
		built := build(session, c.policy)
		if *built.TokensInjected != c.tokens || len(built.BlocksUsed) != c.used {
			t.Errorf("%s: %d tokens in %d blocks, not %d in %d", session, *built.TokensInjected, len(built.BlocksUsed), c.tokens, c.used)
		}
	}
}

// TestInject_ALimitOf0IsNotAMissingOne: a file that says 0 doesn't want the default.
func TestInject_ALimitOf0IsNotAMissingOne(t *testing.T) {
	w := newWorld(t)
	for i, c := range []struct {
		policy        string
		blocks, chars int
		refused       string
	}{
		{`{}`, 12, 8000, ""},
		{`{"max_chars": null, "max_blocks": null}`, 12, 8000, ""},
		{`{"max_chars": 500.0, "max_blocks": 5e0, "max_tokens": 90.0}`, 5, 500, ""},
		{`{"max_chars": 0, "max_tokens": 90}`, 12, 0, ""},
		{`{"max_chars": null, "max_tokens": 90}`, 12, 0, ""},
		{`{"max_chars": 0}`, 0, 0, "policy.max_chars is 0; leave it out for 8,000, or set max_tokens to limit the prompt by tokens only"},
		{`{"max_chars": 0.0, "max_tokens": 0}`, 0, 0, "policy.max_chars is 0; "},
		{`{"max_blocks": 0}`, 0, 0, "policy.max_blocks is 0 (least 1, "},
		{`{"max_blocks": 0e1, "max_tokens": 90}`, 0, 0, "policy.max_blocks is 0 (least 1, "},
		{`{"max_chars": 5.5}`, 0, 0, "policy.max_chars has 5.5 where a whole number must be"},
	} {
		file := filepath.Join(t.TempDir(), "turn.json")
		if err := os.WriteFile(file, []byte(`{"session": "s-`+strconv.Itoa(i)+`", "turn": 1, "policy": `+c.policy+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, complaint := w.run(t.Context(), "inject", "build", "--namespace", "team/a", "--file", file, "--json")
		built := &inject.Built{Snapshot: &inject.Snapshot{}}
		if c.refused != "" {
			if code != 1 || !strings.Contains(out+complaint, c.refused) {
				t.Errorf("%s: %d %s%s", c.policy, code, out, complaint)
			}
		} else if err := json.Unmarshal([]byte(out), built); err != nil || built.PolicyApplied.MaxBlocks != c.blocks || built.PolicyApplied.MaxChars != c.chars {
			t.Errorf("%s: %d %s%s", c.policy, code, out, complaint)
		}
	}
}
