//go:build cgo && lua54

package luaeval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestValuesSurviveBothWays(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[[]]`, `{"a":{}}`, `{"a":[]}`, `[{}]`, `true`, `false`, `""`, `"text"`,
		`0`, `-1`, `9223372036854775807`, `-9223372036854775808`, `9007199254740993`,
		`1.5`, `0.1`, `1e+300`, `4.94065645841247e-324`, `1.7976931348623157e+308`, `2.0`, `-0.0`, `0.30000000000000004`,
		`[null]`, `[1,null,3]`, `[null,null]`, `{"list":[null,{"x":1}]}`,
		`"é 日本 😀"`, `"\u0000\u0001\u001f\"\\\b\f\n\r\t"`, `{"":1}`, `{"a":1,"b":2,"é":3}`,
	} {
		t.Run(text, func(t *testing.T) {
			got := mustGenerate(t, `return state.v`, `{"v":`+text+`}`)
			if got != text {
				t.Errorf("%s became %s", text, got)
			}
		})
	}
}

func TestLuaValuesBecomeJSON(t *testing.T) {
	tests := []struct{ code, want string }{
		{`return {}`, `{}`},
		{`return array()`, `[]`},
		{`return array({})`, `[]`},
		{`return array({1, 2})`, `[1,2]`},
		{`return array(array())`, `[]`},
		{`return {1, 2, 3}`, `[1,2,3]`},
		{`return {b = 1, a = 2, aa = 3, B = 4}`, `{"B":4,"a":2,"aa":3,"b":1}`},
		{`table.remove(state.list) return state.list`, `[]`},
		{`return {null, 1, null}`, `[null,1,null]`},
		{`return {x = null}`, `{"x":null}`},
		{`return {x = nil}`, `{}`},
		{`return 10 // 3`, `3`},
		{`return 10 / 2`, `5.0`},
		{`return 1e15`, `1e+15`},
		{`return {[1] = "a", [2.0] = "b"}`, `["a","b"]`},
		{`return {tostring(null), null == null, type(null), state.list[2] == nil}`, `["null",true,"userdata",true]`},
		{`return state.gone == nil and state.list[1] == null`, `true`},
		{`return setmetatable({a = 1}, {__index = {b = 2}, __pairs = error})`, `{"a":1}`},
		{`return #state.text`, `4`},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			if got := mustGenerate(t, tt.code, `{"list":[null],"gone":null,"text":"éé"}`); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestValuesWithoutJSONFormAreNamed(t *testing.T) {
	tests := []struct{ code, says string }{
		{`return {a = {b = {type}}}`, "a function at /a/b/0"},
		{`return {1, 2, x = 3}`, "both string keys and indices"},
		{`return {a = {[1] = 1, [3] = 3}}`, "holes (use null for them) at /a"},
		{`return {[0] = 1}`, "neither a string nor an index"},
		{`return {[1.5] = 1}`, "neither a string nor an index"},
		{`return {[true] = 1}`, "neither a string nor an index"},
		{`local a = array() a.x = 1 return a`, "an array with string keys"},
		{`return {x = 0/0}`, "NaN) at /x"},
		{`return {x = -math.huge}`, "infinite number at /x"},
		{`return "\xff"`, "isn't UTF-8"},
		{`return "\xed\xa0\x80"`, "isn't UTF-8"},
		{`return "\xc0\x80"`, "isn't UTF-8"},
		{`return {["\xff"] = 1}`, "isn't UTF-8"},
		{`local t = {} t.t = t return t`, "nesting deeper than 200"},
		{`return coroutine.create(type)`, "a thread"},
		{`return {a = string.rep("x", 9 * 2^20)}`, "can't be written as JSON: more than 8 MiB at /a"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			_, err := generate(t, tt.code, `{}`)
			wantError(t, err, sdk.Invalid, "lua_result")
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q doesn't say %q", err, tt.says)
			}
		})
	}
}

func TestInputThatLuaCantHoldIsRefused(t *testing.T) {
	tests := map[string]string{
		`[1,]`:    "no JSON value at byte 4",
		`{"a" 1}`: "no ':'",
		`{"a":1`:  "no ',' or '}'",
		`{1:2}`:   "no key",
		`[1 2]`:   "no ',' or ']'",
		`"x`:      "unfinished string",
		"\"\n\"":  "control character",
		`"\x"`:    "bad escape",
		`"\u12"`:  "escape",
		`1 2`:     "more text",
		`-`:       "bad number",
		`1.`:      "bad number",
		`01`:      "more text",
		`nul`:     "no JSON value",
		``:        "no JSON value",
	}
	e := evaluatorOf(t, `return true`)
	for text, says := range tests {
		_, err := e.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: json.RawMessage(text), State: json.RawMessage(`{}`)})
		if text == "" && err == nil {
			_, err = e.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: json.RawMessage(" ")})
		}
		wantError(t, err, sdk.Invalid, "lua_input")
		if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "'output'") {
			t.Errorf("%.40q: %q doesn't say %q", text, err, says)
		}
	}
}

// A model may write values that Lua can't hold. That is the output's fault, and never ends a
// run; in the state it may be the workflow's own, and is refused.
func TestOutputThatLuaCantHold(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	e := evaluatorOf(t, `return true`)
	for output, path := range map[string]string{
		`12345678901234567890`:                                                 "",
		`{"id":12345678901234567890}`:                                          "/id",
		`{"a":[1,{"b/c~":-9223372036854775809}]}`:                              "/a/1/b~1c~0",
		`[0,9223372036854775808]`:                                              "/1",
		`{"a":"12345678901234567890","b":[-` + strings.Repeat("9", 300) + `]}`: "/b/0",
		`[1.` + strings.Repeat("1", 600) + `]`:                                 "/0",
		`{"n":1e999}`:                                                          "/n",
		`{"n":-1E+400}`:                                                        "/n",
		nested(201):                                                            strings.Repeat("/0", 200),
		`{"a":` + nested(230) + `}`:                                            "/a" + strings.Repeat("/0", 199),
	} {
		// The state has it twice, as in a loop.
		state := `{"reflection_output":` + output + `,"reflection_history":[{"output":` + output + `}]}`
		resp, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output), State: json.RawMessage(state)})
		if err != nil {
			t.Errorf("%.40s: %v", output, err)
			continue
		}
		if v := resp.Verdict; v.Valid || v.Score != 0 || len(v.Errors) != 1 || v.Errors[0].Path != path || v.Errors[0].Code != "lua_input" {
			t.Errorf("%.40s: %+v", output, v)
		}
		// A later attempt is judged, though the history has the earlier one.
		resp, err = e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`7`), State: json.RawMessage(state)})
		if err != nil || !resp.Verdict.Valid {
			t.Errorf("after %.40s: %+v, %v", output, resp, err)
		}
	}
	for _, output := range []string{`9223372036854775807`, `[-9223372036854775808]`, `1.5e300`, `"12345678901234567890"`, nested(200), `1` + strings.Repeat("0", 18)} {
		if resp, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)}); err != nil || !resp.Verdict.Valid {
			t.Errorf("%.40s: %+v, %v", output, resp, err)
		}
	}
	_, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`1`), State: json.RawMessage(`{"id":12345678901234567890}`)})
	wantError(t, err, sdk.Invalid, "lua_input")
}

// identity is prepared once for all inputs of the fuzz target.
const identity = `return state`

// FuzzJSON gives Lua any JSON and takes it back: the same value, or an error.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x",null,true,{}]}`, `[]`, `"\ud83d\ude00\ud800"`, `-1e-7`, `[[[[]]]]`,
		`{"a":null,"b":{"c":[{}]}}`, `{"a":1,"a":2}`, `9223372036854775808`, ` [ 1 , 2 ] `, `"\u00e9"`, `{"x":1.0}`} {
		f.Add([]byte(seed))
	}
	g := generatorOf(f, identity)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		resp, err := g.Generate(context.Background(), &sdk.GenerateRequest{State: data})
		if err != nil {
			if json.Valid(data) && sdk.ReasonOf(err) == "lua_internal" {
				t.Fatal(err)
			}
			return
		}
		want, err := decode(data)
		if err != nil {
			t.Fatalf("%q is no JSON (%v) but became %s", data, err, resp.Output)
		}
		got, err := decode(resp.Output)
		if err != nil {
			t.Fatalf("%q became %q, which is no JSON: %v", data, resp.Output, err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%q became %q", data, resp.Output)
		}
	})
}

// decode reads JSON as Lua sees it: exact numbers, and no nulls in objects.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return seen(v), err
}

func seen(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k, e := range v {
			if v[k] = seen(e); v[k] == nil {
				delete(v, k)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = seen(e)
		}
	}
	return v
}
