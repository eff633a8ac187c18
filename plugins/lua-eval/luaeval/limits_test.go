//go:build cgo && lua54

package luaeval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// A config that names no quota has the README's, and they end a script by
// themselves: these calls have no deadline.
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

// A script of many gotos is slow to compile and does nothing. The shortest of
// several times is compared, so that a busy machine doesn't matter.
func TestAChunkIsCompiledOnce(t *testing.T) {
	code := "do " + strings.Repeat("goto done ", 10_000) + "::done:: end return true"
	shortest := func(times int, f func()) time.Duration {
		least := time.Hour
		for range times {
			begin := time.Now()
			f()
			least = min(least, time.Since(begin))
		}
		return least
	}
	var e sdk.Evaluator
	compiling := shortest(3, func() { e = evaluatorOf(t, code) })
	judging := shortest(5, func() {
		if resp, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)}); err != nil || !resp.Verdict.Valid {
			t.Fatal(resp, err)
		}
	})
	if t.Logf("compiled in %s, judged in %s", compiling, judging); judging > compiling/2 {
		t.Errorf("an evaluation takes %s, compiling %s: it compiles again", judging, compiling)
	}
}
