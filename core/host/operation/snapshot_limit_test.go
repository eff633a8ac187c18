package operation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
)

// TestSnapshot_ALimitOf0IsNotAMissingOne: a workflow that writes 0 doesn't want the default.
func TestSnapshot_ALimitOf0IsNotAMissingOne(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		policy        string
		blocks, chars int
		refused       string
	}{
		{`{}`, 12, 8000, ""},
		{`{"max_chars": null, "max_blocks": null}`, 12, 8000, ""},
		{`{"max_chars": 500}`, 12, 500, ""},
		{`{"max_chars": 500.0, "max_blocks": 5.0}`, 5, 500, ""},
		{`{"max_blocks": 1}`, 1, 8000, ""},
		{`{"max_tokens": 90}`, 12, 0, ""},
		{`{"max_tokens": 90, "max_chars": null}`, 12, 0, ""},
		{`{"max_tokens": 90, "max_chars": 0}`, 12, 0, ""},
		{`{"max_tokens": 90, "max_chars": 500}`, 12, 500, ""},
		{`{"max_chars": 0}`, 0, 0, "policy.max_chars is 0; leave it out for 8,000, or set max_tokens to limit the prompt by tokens only"},
		{`{"max_chars": 0, "max_tokens": 0}`, 0, 0, "policy.max_chars is 0; "},
		{`{"max_chars": 0, "max_tokens": null}`, 0, 0, "policy.max_chars is 0; "},
		{`{"max_chars": 0, "mode": "single"}`, 0, 0, "policy.max_chars is 0; "},
		{`{"max_chars": -1}`, 0, 0, "policy.max_chars is -1 "},
		{`{"max_chars": -1, "max_tokens": 90}`, 0, 0, "policy.max_chars is -1 "},
		{`{"max_blocks": 0}`, 0, 0, "policy.max_blocks is 0 (least 1, "},
		{`{"max_blocks": 0, "max_chars": 500}`, 0, 0, "policy.max_blocks is 0 (least 1, "},
		{`{"max_blocks": 0, "max_tokens": 90}`, 0, 0, "policy.max_blocks is 0 (least 1, "},
		{`{"max_blocks": -1}`, 0, 0, "policy.max_blocks is -1 (least 1, "},
	} {
		run := try[operation.RunEnded](w, "run_start", &operation.RunStart{Namespace: here, Workflow: fmt.Sprintf(
			"nodes:\n  - name: tell\n    action: inject.snapshot\n    with: {query: boats, policy: %s}\n", c.policy)})
		if c.refused != "" {
			if run.Error == nil || !strings.Contains(run.Error.Message, c.refused) {
				t.Errorf("%s isn't refused: %+v", c.policy, run.Error)
			}
			continue
		}
		made, err := w.Host.Runs.Progress(w.Ctx, run.ID)
		w.Must(err)
		if run.Error != nil || len(made.Visits) == 0 {
			t.Errorf("%s is refused: %+v", c.policy, run.Error)
			continue
		}
		var built inject.Built
		w.Must(json.Unmarshal(made.Visits[0].Result, &built))
		if p := built.PolicyApplied; p.MaxBlocks != c.blocks || p.MaxChars != c.chars {
			t.Errorf("%s: %d blocks and %d characters are applied, want %d and %d", c.policy, p.MaxBlocks, p.MaxChars, c.blocks, c.chars)
		}
	}
}
