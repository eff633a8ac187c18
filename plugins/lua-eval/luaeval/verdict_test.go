//go:build cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

func TestReturnValueBecomesVerdict(t *testing.T) {
	one := func(message string) []sdk.Finding { return []sdk.Finding{{Message: message}} }
	tests := []struct {
		name, code string
		want       sdk.Verdict
	}{
		{"a full table", `return {valid=false, score=0.25, errors={"a"}, feedback="more"}`,
			sdk.Verdict{Score: 0.25, Errors: one("a"), Feedback: "more"}},
		{"a table without score that is valid", `return {valid=true}`, sdk.Verdict{Valid: true, Score: 1}},
		{"a table without score that isn't valid", `return {valid=false}`, sdk.Verdict{}},
		{"an empty list of errors", `return {valid=true, errors={}}`, sdk.Verdict{Valid: true, Score: 1}},
		{"errors as tables", `return {valid=false, errors={"a", {message="b", path="/x", schema_path="/y", code="c", type="t", severity="warning"}}}`,
			sdk.Verdict{Errors: []sdk.Finding{{Message: "a"}, {Message: "b", Path: "/x", SchemaPath: "/y", Code: "c", Type: "t", Severity: "warning"}}}},
		{"an output of its own", `return {valid=true, output={n=1}}`, sdk.Verdict{Valid: true, Score: 1, Output: json.RawMessage(`{"n":1}`)}},
		{"a score above 1", `return {valid=true, score=7}`, sdk.Verdict{Valid: true, Score: 1}},
		{"a score below 0", `return {valid=true, score=-7}`, sdk.Verdict{Valid: true}},
		{"an infinite score", `return {valid=true, score=math.huge}`, sdk.Verdict{Valid: true, Score: 1}},
		{"true", `return true`, sdk.Verdict{Valid: true, Score: 1}},
		{"false", `return false`, sdk.Verdict{Errors: one("Validation failed")}},
		{"1", `return 1`, sdk.Verdict{Valid: true, Score: 1}},
		{"the threshold", `return 0.5`, sdk.Verdict{Valid: true, Score: 0.5}},
		{"a number below the threshold", `return 0.3`, sdk.Verdict{Score: 0.3, Errors: one("Score 0.3 below threshold 0.5")}},
		{"a number above 1", `return 42`, sdk.Verdict{Valid: true, Score: 1}},
		{"a number below 0", `return -2`, sdk.Verdict{Errors: one("Score 0 below threshold 0.5")}},
		{"infinity", `return math.huge`, sdk.Verdict{Valid: true, Score: 1}},
		{"minus infinity", `return -math.huge`, sdk.Verdict{Errors: one("Score 0 below threshold 0.5")}},
		{"only the first value counts", `return true, false`, sdk.Verdict{Valid: true, Score: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := judge(t, tt.code, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, resp.Verdict); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnythingElseIsAnInvalidAttemptThatSaysSo(t *testing.T) {
	tests := []struct{ code, says string }{
		{``, "no value"},
		{`return nil`, "no value"},
		{`return null`, "null"},
		{`return "valid"`, "a string"},
		{`return {1, 2}`, "an array"},
		{`return array()`, "an array"},
		{`return {}`, "without a boolean valid"},
		{`return {score=1}`, "without a boolean valid"},
		{`return {valid="yes"}`, "valid is a string"},
		{`return {valid=true, score="1"}`, "score is a string"},
		{`return {valid=true, feedback={}}`, "feedback is an object"},
		{`return {valid=true, errors="bad"}`, "errors is not a list"},
		{`return {valid=false, errors={3}}`, "errors[1] is 3"},
		{`return {valid=false, errors={"a", {code="x"}}}`, "errors[2] has no message"},
		{`return {valid=false, errors={{message=1}}}`, "message is a number"},
		{`return {valid=false, errors={"a", ""}}`, "errors[2] is an empty text"},
		{`return print`, "no value"},
		{`return type`, "a function"},
		{`return coroutine.create(function() end)`, "a thread"},
		{`return {valid=true, output={f=type}}`, "a function at /output/f"},
		{`return {valid=true, errors={"a", nil, "c"}}`, "an array with holes (use null for them) at /errors"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			code := tt.code
			if code == "" {
				code = "local nothing"
			}
			resp, err := judge(t, code, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			v := resp.Verdict
			if v.Valid || v.Score != 0 || len(v.Errors) != 1 || v.Errors[0].Code != "lua_result" {
				t.Fatalf("verdict %+v", v)
			}
			if !strings.Contains(v.Errors[0].Message, tt.says) {
				t.Errorf("message %q doesn't say %q", v.Errors[0].Message, tt.says)
			}
		})
	}
}

func TestEvaluatorSeesItsGlobals(t *testing.T) {
	e := evaluatorOf(t, `
		assert(state.task == "t" and output.name == "Ada" and iteration == 4)
		assert(errors == nil and feedback == nil)
		return true`)
	resp, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{
		Call: sdk.Call{Iteration: 4}, State: json.RawMessage(`{"task":"t"}`), Output: json.RawMessage(`{"name":"Ada"}`),
	})
	if err != nil || !resp.Verdict.Valid {
		t.Fatal(resp, err)
	}
}

func TestMissingStateIsAnEmptyObject(t *testing.T) {
	if got := mustGenerate(t, `return {state = state, output = output == nil}`, ""); got != `{"output":true,"state":{}}` {
		t.Error(got)
	}
}

// A typical first evaluator of a user.
func TestSeedExample(t *testing.T) {
	e := evaluatorOf(t, seedScript)
	for state, valid := range map[string]bool{
		`{"reflection_output":{"name":"Ada"}}`: true, `{"reflection_output":{"name":""}}`: false,
		`{"reflection_output":{}}`: false, `{"reflection_output":{"name":null}}`: false,
	} {
		resp, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{State: json.RawMessage(state)})
		if err != nil {
			t.Fatal(err)
		}
		want := sdk.Verdict{Valid: true, Score: 1}
		if !valid {
			want = sdk.Verdict{Errors: []sdk.Finding{{Message: "name is required"}}}
		}
		if diff := cmp.Diff(want, resp.Verdict); diff != "" {
			t.Error(state, diff)
		}
	}
}

func TestCorrectorSeesErrorsAndFeedback(t *testing.T) {
	p := luaeval.Plugin()
	c, err := p.Corrector(context.Background(), configOf(t, `
		if #errors == 0 then return {none = errors} end
		output[errors[1].path:sub(2)] = feedback .. iteration
		return output`))
	if err != nil {
		t.Fatal(err)
	}
	req := &sdk.CorrectRequest{
		Call: sdk.Call{Iteration: 2}, Output: json.RawMessage(`{"a":1}`),
		Errors: []sdk.Finding{{Message: "required", Path: "/b"}}, Feedback: "fixed",
	}
	for want, errors := range map[string][]sdk.Finding{`{"a":1,"b":"fixed2"}`: req.Errors, `{"none":[]}`: nil} {
		req.Errors = errors
		resp, err := c.Correct(context.Background(), req)
		if err != nil || string(resp.Output) != want {
			t.Errorf("output %s, %v; want %s", resp.Output, err, want)
		}
	}
}

func TestGeneratorWithoutValueFails(t *testing.T) {
	_, err := generate(t, `local x = 1`, `{}`)
	wantError(t, err, sdk.Invalid, "lua_result")
	if got := mustGenerate(t, `return null`, `{}`); got != "null" {
		t.Errorf("null became %s", got)
	}
}

// The hint of a mistake fits what the script was to do: only a judge can return a verdict.
func TestFailureHint_FitsTheScriptsTask(t *testing.T) {
	for _, code := range []string{
		"local x\nreturn x.y", "error('boom')", "error({code=1})", "error()", "assert(false)", "return nosuch()",
		"return {} .. 'x'", "return #nil", "return nil + 1", "return ('x'):nosuch()", "coroutine.wrap(function() error('deep') end)()",
	} {
		_, made := generate(t, code, `{}`)
		_, judged := judge(t, code, `{}`)
		if hint := sdk.AsError(made).Hint; hint == "" || strings.Contains(hint, "valid") || strings.Contains(hint, "return false") {
			t.Errorf("%q as a generator has the hint %q", code, hint)
		}
		if hint := sdk.AsError(judged).Hint; !strings.Contains(hint, "return false") {
			t.Errorf("%q as a judge has the hint %q", code, hint)
		}
	}
}

func TestFailuresNameTheirLine(t *testing.T) {
	tests := []struct {
		name, code, reason string
		class              sdk.Code
		line               int
		says               string
	}{
		{"an error text", "\n\nerror('boom')", "lua_runtime", sdk.Invalid, 3, "code:3: boom"},
		{"an operation", "local x\nreturn x.y", "lua_runtime", sdk.Invalid, 2, "code:2: attempt to index a nil value"},
		{"an error object", "\nerror({code=1})", "lua_runtime", sdk.Invalid, 2, "an error that is a table value at line 2"},
		{"no error object", "\nerror()", "lua_runtime", sdk.Invalid, 2, "an error that is a nil value at line 2"},
		{"a failed assertion", "assert(false)", "lua_runtime", sdk.Invalid, 1, "code:1: assertion failed!"},
		{"an assertion with a text", "\n\nassert(false, 'no name')", "lua_runtime", sdk.Invalid, 3, "code:3: no name"},
		{"an error without a place", "\n\nerror('no name', 0)", "lua_runtime", sdk.Invalid, 3, "no name at line 3"},
		{"an error in a coroutine", "coroutine.wrap(function()\nerror('deep')\nend)()", "lua_runtime", sdk.Invalid, 1, "code:1: code:2: deep"},
		{"an endless loop", "\nlocal x = 1\nwhile true do end", "lua_instructions", sdk.Exhausted, 3, "at line 3"},
		{"a table flood", "local t = {}\nwhile true do t[#t + 1] = {} end", "lua_memory", sdk.Exhausted, 2, "at line 2"},
		{"a caught flood of text", "local s = 'x'\nwhile true do\npcall(function() s = s .. s end) end", "lua_memory", sdk.Exhausted, 3, "at line 3"},
		{"NaN as score", "return {valid=true, score=0/0}", "score_not_finite", sdk.Invalid, 0, "not a number"},
		{"NaN", "return 0/0", "score_not_finite", sdk.Invalid, 0, "not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := judge(t, tt.code, `{}`, "instructions", 200_000, "memory_bytes", 1<<20)
			wantError(t, err, tt.class, tt.reason)
			e := sdk.AsError(err)
			if !strings.Contains(e.Message, tt.says) || e.Hint == "" {
				t.Errorf("message %q (hint %q) doesn't say %q", e.Message, e.Hint, tt.says)
			}
			if line, _ := e.Details["line"].(int); line != tt.line {
				t.Errorf("line %v, want %d", e.Details["line"], tt.line)
			}
		})
	}
}

// What a script raises on purpose may differ the next time; its mistakes won't.
func TestAMistakeOfTheScriptIsPermanentAndWhatItRaisesIsNot(t *testing.T) {
	for code, want := range map[string]bool{
		"error('not yet')":                      false,
		"return error('not yet')":               false,
		"assert(state.draft, 'not yet')":        false,
		"local function f() error({}) end f()":  false,
		"return state.draft.name":               true,
		"return 1 + {}":                         true,
		"return string.rep()":                   true,
		"pcall(error, 'x') return #state.draft": true,
	} {
		_, err := generate(t, code, `{}`)
		wantError(t, err, sdk.Invalid, "lua_runtime")
		if sdk.Permanent(err) != want {
			t.Errorf("%s: permanent %t", code, !want)
		}
	}
}

func TestSyntaxErrorsFailPrepareWithTheirLine(t *testing.T) {
	p := luaeval.Plugin()
	for _, code := range []string{"local x = 1\nreturn ==", "\nif", "\ngoto nowhere", "\nreturn '"} {
		_, err := p.Evaluator(context.Background(), configOf(t, code, "chunk", "judge"))
		wantError(t, err, sdk.Invalid, "lua_syntax")
		e := sdk.AsError(err)
		if e.Details["line"] != 2 || !strings.Contains(e.Message, "judge:2:") {
			t.Errorf("%q: %s %v", code, e.Message, e.Details)
		}
	}
}
