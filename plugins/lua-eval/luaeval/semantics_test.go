//go:build cgo && lua54

package luaeval_test

import "testing"

// The sandbox's own library functions give the same results as Lua's. The expected
// values come from PUC Lua 5.4.4.
func TestOwnFunctionsAnswerAsLuasDo(t *testing.T) {
	tests := []struct{ code, want string }{
		{`return {("hello world"):find("o w")}`, `[5,7]`},
		{`return {("hello"):find("l+")}`, `[3,4]`},
		{`return {("a.b"):find(".", 2, true)}`, `[2,2]`},
		{`return {("abc"):find("", 10)}`, `{}`},
		{`return {("abc"):find("", 4)}`, `[4,3]`},
		{`return {("key = value"):match("^(%w+)%s*=%s*(%w+)$")}`, `["key","value"]`},
		{`return {("  trim  "):match("^%s*(.-)%s*$")}`, `["trim"]`},
		{`return {("f(a(b)c)d"):match("%b()")}`, `["(a(b)c)"]`},
		{`return {("THE (quick) fox"):find("%f[%a]%a+%f[%A]", 5)}`, `[6,10]`},
		{`return {([[say "it's"]]):match("([\"'])(.-)%1")}`, `["\"","it's"]`},
		{`return {("hello"):match("()ll()")}`, `[3,5]`},
		{`return {("x]y"):match("[]]"), ("a-z"):match("[a%-]+"), ("^"):match("[%^x]")}`, `["]","a-","^"]`},
		{`return {("\0a"):match("%z"), ("abc"):match("[^%a]")}`, `["\u0000"]`},
		{`local t = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[k] = v end return t`, `{"a":"1","b":"2"}`},
		{`local n = 0 for _ in ("abc"):gmatch("") do n = n + 1 end return n`, `4`},
		{`return {("hello world"):gsub("o", "0")}`, `["hell0 w0rld",2]`},
		{`return {("hello"):gsub("", "-")}`, `["-h-e-l-l-o-",6]`},
		{`return {("abc"):gsub("%w", "%0%0", 2)}`, `["aabbc",2]`},
		{`return {("$name"):gsub("%$(%w+)", {name = "Ada"})}`, `["Ada",1]`},
		{`return {("abc"):gsub("b", function() return nil end)}`, `["abc",1]`},
		{`return {("abc"):gsub("^a", "%%")}`, `["%bc",1]`},
		{`return select(2, pcall(string.gsub, "x", "x", "%2"))`, `"invalid capture index %2 in replacement string"`},
		{`return select(2, pcall(string.find, "x", "["))`, `"malformed pattern (missing ']')"`},
		{`return select(2, pcall(string.find, "x", "%"))`, `"malformed pattern (ends with '%')"`},
		{`return {("ab"):rep(3, ","), ("x"):rep(0), ("x"):rep(-1), (""):rep(5), ("x"):rep(1, "y")}`, `["ab,ab,ab","","","","x"]`},
		{`return table.concat({1, 2.5, "x"}, "-")`, `"1-2.5-x"`},
		{`return table.concat({1, 2, 3}, ",", 2, 3)`, `"2,3"`},
		{`local t = {1, 3} table.insert(t, 2, 2) table.insert(t, 4) return t`, `[1,2,3,4]`},
		{`return select(2, pcall(function() table.insert({1}, 5, 2) end))`, `"code:1: bad argument #2 to 'insert' (position out of bounds)"`},
		{`local t = {1, 2, 3} return {table.remove(t, 1), table.remove(t), #t}`, `[1,3,1]`},
		{`return table.move({1, 2, 3}, 1, 3, 2)`, `[1,1,2,3]`},
		{`return table.move({1, 2, 3}, 2, 3, 1)`, `[2,3,3]`},
		{`return table.move({1, 2}, 1, 2, 1, array())`, `[1,2]`},
		{`local t = {3, 1, 2, 1} table.sort(t) return t`, `[1,1,2,3]`},
		{`local t = {"b", "a", "C"} table.sort(t, function(a, b) return a > b end) return t`, `["b","a","C"]`},
		{`local t = {} for i = 1, 1000 do t[i] = (i * 7919) % 1009 end table.sort(t)
			for i = 2, 1000 do assert(t[i - 1] <= t[i]) end return true`, `true`},
		{`return {pcall(error, "x", 0)}`, `[false,"x"]`},
		{`return {pcall(function() return 1, 2 end)}`, `[true,1,2]`},
		{`return {xpcall(function(a) error(a, 0) end, function(m) return m .. "!" end, "x")}`, `[false,"x!"]`},
		{`return {xpcall(function(...) return ... end, error, 1, 2)}`, `[true,1,2]`},
		{`local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) error({b}) end)
			local first = co(1) local ok, e = pcall(co, 5) return {first, ok, e[1]}`, `[2,false,5]`},
		{`local co = coroutine.create(function() pcall(coroutine.yield, 1) return 2 end)
			return {coroutine.resume(co), select(2, coroutine.resume(co)), coroutine.resume(co)}`, `[true,2,false,"cannot resume dead coroutine"]`},
		{`local log = {} local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() log[1] = "closed" end}) coroutine.yield() end)
			coroutine.resume(co) return {coroutine.close(co), log[1], coroutine.status(co)}`, `[true,"closed","dead"]`},
		{`return select(2, pcall(coroutine.close, coroutine.running()))`, `"cannot close a running coroutine"`},
		{`local t = setmetatable({}, {__index = {a = 1}}) return {t.a, getmetatable(t).__index.a}`, `[1,1]`},
		{`return select(2, pcall(setmetatable, setmetatable({}, {__metatable = 1}), {}))`, `"cannot change a protected metatable"`},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			if got := mustGenerate(t, tt.code, `{}`); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
