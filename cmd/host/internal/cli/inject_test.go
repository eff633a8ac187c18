package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
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
