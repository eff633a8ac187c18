//go:build cgo && lua54

package luaeval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// A config without quotas has the README's defaults. They end a script by themselves:
// these calls have no deadline.
func TestDefaultQuotasEndAScript(t *testing.T) {
	for code, want := range map[string]struct{ reason, says string }{
		`while true do end`:                          {"lua_instructions", "its 200000000 instructions"},
		`local s = "x" while true do s = s .. s end`: {"lua_memory", "its memory of 67108864 bytes"},
	} {
		_, err := judge(t, code, `{}`)
		wantError(t, err, sdk.Exhausted, want.reason)
		if !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %q doesn't say %q", code, err, want.says)
		}
	}
	if resp, err := judge(t, `return #("x"):rep(2^24) == 2^24`, `{}`); err != nil || !resp.Verdict.Valid {
		t.Errorf("a quarter of the memory: %v, %v", resp, err)
	}
}

// A script with many gotos takes its compiler half a second and does nothing. If each
// evaluation compiled it, the test would take an hour.
func TestAChunkIsCompiledOnce(t *testing.T) {
	e := evaluatorOf(t, "do "+strings.Repeat("goto done ", 32_000)+"::done:: end return true")
	for range coretest.Cases(1_000, 10_000) {
		if resp, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)}); err != nil || !resp.Verdict.Valid {
			t.Fatal(resp, err)
		}
	}
}
