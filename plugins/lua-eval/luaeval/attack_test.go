//go:build cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// An attack is a script that tries to run for ever, to take all memory, or to continue
// after its end. reasons are the errors with which it may end.
type attack struct {
	name, code string
	reasons    string
}

// The errors with which an attack may end.
const (
	steps  = "lua_instructions"
	memory = "lua_memory"
	script = "lua_runtime"
	late   = "lua_timeout"
)

var attacks = []attack{
	{"endless loop", `while true do end`, steps},
	{"endless goto", `::again:: goto again`, steps},
	{"endless repeat in an expression", `local function f() return f() end return f()`, steps},
	{"endless numeric for", `for i = 1, math.huge do end`, steps},
	{"nested pcall loops", `while true do pcall(function() while true do pcall(function() while true do end end) end end) end`, steps},
	{"pcall of pcall", `local function f() while true do pcall(pcall, f) end end f()`, steps},
	{"xpcall handler loops", `while true do xpcall(error, function() while true do end end) end`, steps},
	{"xpcall handler that fails", `while true do xpcall(error, function() error("again") end) end`, steps},
	{"xpcall handler meets the end", `xpcall(function() while true do end end, function() while true do end end)`, steps},
	{"string.rep of 2 GB", `return #string.rep("x", 2^31)`, memory},
	{"string.rep of nothing for ever", `return #string.rep("", 1 << 62) + #("x"):rep(1 << 62)`, memory},
	{"string.rep overflow", `return string.rep("abc", math.maxinteger, "abc")`, memory},
	{"caught string.rep", `while true do pcall(string.rep, "x", 1 << 40) end`, memory},
	{"doubling concat", `local s = "x" while true do s = s .. s end`, memory},
	{"caught doubling concat", `local s = "x" while true do pcall(function() while true do s = s .. s end end) end`, memory},
	{"table flood", `local t = {} for i = 1, math.huge do t[i] = {} end`, memory},
	{"caught table flood", `local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = {i} end end) end`, memory + " " + steps},
	{"string key flood", `local t, i = {}, 0 while true do i = i + 1 t["k" .. i] = i end`, memory + " " + steps},
	{"deep recursion", `local function f() return 1 + f() end return f()`, script + " " + memory},
	{"caught deep recursion", `local function f() return 1 + f() end while true do pcall(f) end`, steps + " " + memory},
	{"deep recursion through pcall", `local function f() return pcall(f) end while true do f() end`, steps},
	{"deep recursion through metamethods", `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + 1] end return t[1]`, script + " " + steps},
	{"deep recursion through gsub", `local function f(s) return (s:gsub(".", f)) end return f("x")`, script},
	{"pathological pattern", `return string.find(("a"):rep(40), ("a?"):rep(40) .. ("a"):rep(40) .. "b")`, steps},
	{"pathological lazy pattern", `return (("a"):rep(5000)):match(".-.-.-.-.-b")`, steps},
	{"pathological greedy pattern", `return (("a"):rep(5000)):match(".*.*.*.*.*b")`, steps},
	{"pathological gmatch", `for _ in (("a"):rep(5000)):gmatch(".-.-.-.-b") do end`, steps},
	{"pathological gsub", `return (("a"):rep(5000)):gsub("(.-)(.-)(.-)(.-)b", "%1")`, steps},
	{"pathological balance", `local s = ("("):rep(200000) return s:find("%b()")`, steps},
	{"pathological back reference", `return (("a"):rep(20000)):find("(.*)(.*)%1%2b")`, steps},
	{"pathological set", `return (("a"):rep(100000)):find("[" .. ("b"):rep(100000) .. "]")`, steps},
	{"pattern nested too deep", `return string.rep("x", 300):match(string.rep("(x", 300))`, script},
	{"gsub callback loops", `return (("x"):rep(1e5)):gsub("x", function() while true do end end)`, steps},
	{"gsub callback catches", `while true do pcall(string.gsub, "xx", "x", function() while true do end end) end`, steps},
	{"giant format widths", `return string.format("%999999999d", 1)`, script},
	{"format floods", `local t = {} while true do t[#t + 1] = string.format("%99.99f", 1e308) end`, memory + " " + steps},
	{"quoting a huge string", `local s = ("\0"):rep(1 << 24) while true do s = string.format("%q", s) end`, memory},
	{"upper of a huge string", `local s = ("x"):rep(1 << 24) while true do s = s:upper() end`, memory + " " + steps},
	{"comparing huge strings", `local a = ("x"):rep(1 << 23) .. "a" local b = ("x"):rep(1 << 23) .. "b" while a < b do end`, late + " " + steps},
	{"comparing huge texts of zero bytes", `local a = ("\0"):rep(28 << 20) local b = a .. "b" while a < b do end`, late + " " + steps},
	{"comparing what a coroutine made", `coroutine.wrap(function() a = ("\0"):rep(28 << 20) b = a .. "b" end)() while a < b do end`, late + " " + steps},
	{"counting a huge text", `local s = ("x"):rep(30 << 20) while true do utf8.len(s) utf8.offset(s, #s) tonumber(s) end`, steps},
	{"reading a huge format", `local s = ("<"):rep(30 << 20) while true do string.packsize(s) string.unpack(s, "") end`, steps},
	{"packing a huge text", `while true do string.pack("c33554432", "") end`, memory + " " + steps},
	{"looking through an emptied table", `local t = {} for i = 1, 1e6 do t[i .. ""] = 1 end for k in pairs(t) do t[k] = nil end while not next(t) do end`, memory + " " + late + " " + steps},
	{"errors that name a function among many", `for i = 1, 1e5 do _G["x" .. i] = i end while true do pcall(string.rep) end`, late + " " + steps},
	{"coroutine flood", `local t = {} while true do t[#t + 1] = coroutine.create(function() coroutine.yield() end) coroutine.resume(t[#t]) end`, memory + " " + steps},
	{"short coroutines", `while true do coroutine.wrap(function() for i = 1, 20 do end end)() end`, steps},
	{"coroutine loops", `while true do coroutine.resume(coroutine.create(function() while true do end end)) end`, steps},
	{"wrapped coroutine loops", `while true do pcall(coroutine.wrap(function() while true do end end)) end`, steps},
	{"nested coroutines", `local function f() return coroutine.wrap(f)() end return f()`, script},
	{"caught nested coroutines", `local function f() return pcall(coroutine.wrap(f)) end while true do f() end`, steps},
	{"nested closing of coroutines", `
		local chain
		for i = 1, 1000 do
			local inner = chain
			chain = coroutine.create(function()
				local x <close> = setmetatable({}, {__close = function() if inner then assert(coroutine.close(inner)) end end})
				coroutine.yield()
			end)
			coroutine.resume(chain)
		end
		local ok, message = coroutine.close(chain)
		error(message)`, script},
	{"__index loops", `return setmetatable({}, {__index = function() while true do end end}).x`, steps},
	{"__index cycle", `local t = {} setmetatable(t, {__index = t}) return t.x`, script},
	{"__tostring loops", `return tostring(setmetatable({}, {__tostring = function() while true do end end}))`, steps},
	{"__close loops", `while true do pcall(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) end) end`, steps},
	{"__close replaces the error", `while true do pcall(function() local x <close> = setmetatable({}, {__close = function() error("mine") end}) while true do end end) end`, steps},
	{"__close after memory", `while true do pcall(function() local x <close> = setmetatable({}, {__close = function() error("mine") end}) local s = "x" while true do s = s .. s end end) end`, memory + " " + steps},
	{"__gc", `setmetatable({}, {__gc = function() while true do end end})`, script},
	{"__gc later", `local m = {} local t = setmetatable({}, m) m.__gc = function() while true do end end while true do t = {} end`, steps},
	{"__len lies", `return table.concat(setmetatable({}, {__len = function() return 1 << 60 end, __index = function() return "" end}))`, steps},
	{"table.insert with a lying __len", `table.insert(setmetatable({}, {__len = function() return 1 << 60 end}), 1, 0)`, steps},
	{"table.remove with a lying __len", `table.remove(setmetatable({}, {__len = function() return 1 << 60 end}), 1)`, steps},
	{"table.move for ever", `table.move({}, 1, 1 << 60, 2)`, steps},
	{"table.concat of a huge table", `local t = {} for i = 1, 1e6 do t[i] = "x" end while true do table.concat(t, ("y"):rep(10)) end`, steps},
	{"table.sort with a lying __len", `table.sort(setmetatable({}, {__len = function() return (1 << 31) - 2 end}), rawequal)`, steps},
	{"table.sort of a huge table", `local t = {} for i = 1, 1e6 do t[i] = math.random() end while true do table.sort(t) end`, steps},
	{"table.unpack of too much", `return table.unpack({}, 1, 1e8)`, script},
	{"select of too much", `local function f(...) return f(1, ...) end return f()`, late + " " + steps},
	{"error object with metamethods", `error(setmetatable({}, {__tostring = function() while true do end end, __name = 1}))`, script},
	{"string.dump", `return string.dump(function() end)`, script},
	{"load of bytecode", `return load("\27Lua")`, script},
	{"a cycle as output", `local t = {} t[1] = t return t`, "lua_result"},
	{"an output of exponential size", `local t = {} for i = 1, 60 do t = {t, t} end return t`, "lua_result " + steps},
	{"a huge output", `return {x = ("x"):rep(10 << 20)}`, "lua_result"},
}

// Each attack is ended by its quotas, in a small state. Only attacks that spend their
// time in few instructions get a deadline.
func TestAttacksEndWithAClearError(t *testing.T) {
	for i := 0; i < len(attacks); i += coretest.Cases(11, 1) {
		a := attacks[i]
		t.Run(a.name, func(t *testing.T) {
			ctx := t.Context()
			if strings.Contains(a.reasons, late) {
				limited, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = limited
			}
			quota := 8_000_000
			if a.reasons == steps { // as good as a larger one: nothing else ends it
				quota = 1_000_000
			}
			g := generatorOf(t, a.code, "instructions", quota)
			for range 2 { // the state that was attacked is used again
				_, err := g.Generate(ctx, &sdk.GenerateRequest{})
				if err == nil || !strings.Contains(a.reasons, sdk.ReasonOf(err)) {
					t.Fatalf("ended with %s (%v), want %s", sdk.ReasonOf(err), err, a.reasons)
				}
			}
		})
	}
}

// A deadline ends what no quota ends. How long this takes is a figure of make bench.
func TestAttacksEndAtTheirDeadline(t *testing.T) {
	for i := 0; i < len(attacks); i += coretest.Cases(11, 1) {
		a := attacks[i]
		t.Run(a.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			g := generatorOf(t, a.code, "instructions", 1_000_000_000_000)
			_, err := g.Generate(ctx, &sdk.GenerateRequest{})
			if err == nil || !strings.Contains(a.reasons+" lua_timeout", sdk.ReasonOf(err)) {
				t.Fatalf("ended with %s (%v), want %s or lua_timeout", sdk.ReasonOf(err), err, a.reasons)
			}
		})
	}
}

// Other calls succeed while an attack runs, and so does the next call with the same
// script.
func TestAttacksHarmNobodyElse(t *testing.T) {
	victim := evaluatorOf(t, `if output == "attack" then while true do pcall(string.rep, "x", 1 << 20) end end return true`)
	call := func(ctx context.Context, output string) (*sdk.EvaluateResponse, error) {
		return victim.Evaluate(ctx, &sdk.EvaluateRequest{Output: json.RawMessage(output)})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var attackers sync.WaitGroup
	for range 2 {
		attackers.Go(func() {
			_, err := call(ctx, `"attack"`)
			if sdk.ReasonOf(err) != "lua_cancelled" {
				t.Errorf("the attack ended with %v", err)
			}
		})
	}
	for range 100 {
		if resp, err := call(context.Background(), `"fine"`); err != nil || !resp.Verdict.Valid {
			t.Fatalf("a call beside the attack: %v, %v", resp, err)
		}
	}
	cancel()
	attackers.Wait()
	if resp, err := call(context.Background(), `"fine"`); err != nil || !resp.Verdict.Valid {
		t.Fatalf("the next call: %v, %v", resp, err)
	}
}
