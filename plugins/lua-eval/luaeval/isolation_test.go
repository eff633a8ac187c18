//go:build cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// Each script changes what it can reach and reports what it found. Its second run must
// find the same as its first.
func TestNothingLeaksFromOneEvaluationToTheNext(t *testing.T) {
	scripts := map[string]string{
		"globals":            `local was = secret; secret = output; return {valid = was == nil}`,
		"inputs":             `local was = extra; state.x, extra = 1, state; return {valid = was == nil and state.y == nil}`,
		"library tables":     `local was = string.leak; string.leak = 1; table.insert = nil; math.pi = 3; return {valid = was == nil}`,
		"functions replaced": `local was = type(type); type = function() return "broken" end; return {valid = was == "function"}`,
		"string methods":     `local ok = not pcall(function() return ("x"):leak() end); string.leak = function() end; return {valid = ok}`,
		"random numbers":     `local n = math.random(1 << 60); return {valid = n == tonumber(output) or output == "first", feedback = tostring(n)}`,
		"upvalues":           `count = count or 0; local function up() count = count + 1 return count end; return {valid = up() == 1}`,
		"coroutines":         `local was = co; co = coroutine.create(function() coroutine.yield() end); coroutine.resume(co); return {valid = was == nil}`,
		"registry of names":  `local was = _G[output]; _G[output] = true; return {valid = was == nil}`,
		"array's metatable":  `local a = array(); local ok = not pcall(setmetatable, a, {}); return {valid = ok and getmetatable(a) == "array" and getmetatable("") == "string"}`,
		"errors":             `local was = failed; failed = true; if was then error("leaked") end; return {valid = true}`,
		"metatable of _G":    `local was = getmetatable(_G); setmetatable(_G, {__index = function() return 1 end}); return {valid = was == nil}`,
	}
	for name, code := range scripts {
		t.Run(name, func(t *testing.T) {
			e := evaluatorOf(t, code)
			output := "first"
			for i := range 5 {
				data, _ := json.Marshal(output)
				resp, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: data})
				if err != nil || !resp.Verdict.Valid {
					t.Fatalf("run %d: %+v, %v", i+1, resp, err)
				}
				if resp.Verdict.Feedback != "" {
					output = resp.Verdict.Feedback
				}
			}
		})
	}
}

// The order of pairs and the collector's pace are the same too, because a state begins
// with the same bytes.
func TestARunRepeatsExactly(t *testing.T) {
	g := generatorOf(t, `
		local seen = {}
		local t = {} for i = 1, 100 do t["key" .. i] = i end
		for k in pairs(t) do seen[#seen + 1] = k end
		local weak = setmetatable({}, {__mode = "k"})
		for i = 1, 50000 do weak[{}] = i end
		local left = 0 for _ in pairs(weak) do left = left + 1 end
		seen[#seen + 1] = left
		return seen`)
	var first string
	for i := range 5 {
		resp, err := g.Generate(context.Background(), &sdk.GenerateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = string(resp.Output)
		}
		if string(resp.Output) != first {
			t.Fatalf("run %d differs:\n%s\n%s", i+1, first, resp.Output)
		}
	}
}

// Addresses differ from one process to the next, and so would any text that contains
// them.
func TestNoTextShowsAnAddress(t *testing.T) {
	g := generatorOf(t, `
		local thread = coroutine.create(function() end)
		local named = setmetatable({}, {__name = "point"})
		local own = setmetatable({}, {__tostring = function() return "mine" end})
		local ok, why = pcall(string.format, "%-10p", {})
		return array {
			tostring({}), tostring(tostring), tostring(thread), tostring(named), tostring(own), tostring(null), tostring(array()),
			tostring(nil), tostring(1.5), tostring("x"),
			string.format("%s %5s|%-7s|%.2s %d%% %s %q", {}, print, thread, own, 3, 2, "q"), ("%s"):format(named), tostring(ok), why,
			select(2, pcall(string.format, "%s %s", {})), select(2, pcall(string.format, "%d", {})), select(2, pcall(tostring))}`)
	resp, err := g.Generate(context.Background(), &sdk.GenerateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := `["table","function","thread","point","mine","null","table","nil","1.5","x",` +
		`"table   nil|thread |mi 3% 2 \"q\"","point","false",`
	if !strings.HasPrefix(string(resp.Output), want) || strings.Contains(string(resp.Output), "0x") || !strings.Contains(string(resp.Output), "would show an address") {
		t.Errorf("got %s", resp.Output)
	}
}

// Nothing that a run leaves in memory beyond the image can be seen: the next run with
// as many strings doesn't find the previous run's secret.
func TestAFailedRunLeavesNothing(t *testing.T) {
	e := evaluatorOf(t, `
		if output == "fail" then secret = ("s"):rep(5e6) error(secret) end
		if output == "flood" then local t = {} while true do t[#t + 1] = {} end end
		return {valid = secret == nil}`)
	for _, output := range []string{`"fine"`, `"fail"`, `"fine"`, `"flood"`, `"fine"`} {
		resp, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: json.RawMessage(output)})
		if output == `"fine"` && (err != nil || !resp.Verdict.Valid) {
			t.Fatalf("%v, %v", resp, err)
		}
		if output != `"fine"` && (err == nil || len(err.Error()) > 4096) {
			t.Fatalf("%s: %v", output, err)
		}
	}
}

func TestConcurrentRunsDontMix(t *testing.T) {
	g := generatorOf(t, `for i = 1, 1000 do last = state.n * i end return {n = state.n, last = last}`)
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for i := range 50 {
				n := caller*1000 + i
				resp, err := g.Generate(context.Background(), &sdk.GenerateRequest{State: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
				if want := fmt.Sprintf(`{"last":%d,"n":%d}`, n*1000, n); err != nil || string(resp.Output) != want {
					t.Errorf("%v, %v; want %s", resp, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestACancelledContextRunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := evaluatorOf(t, `return true`).Evaluate(ctx, &sdk.EvaluateRequest{})
	wantError(t, err, sdk.Cancelled, "lua_cancelled")
	if !strings.Contains(err.Error(), "code") {
		t.Errorf("%v doesn't name the script", err)
	}
}
