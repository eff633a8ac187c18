package jsonconfig_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// sample is a config with every type of key.
type sample struct {
	text  string
	mode  string
	count int
	inner bool
	items []string
}

func parse(data string) (sample, error) {
	s := sample{mode: "graded"}
	o := jsonconfig.Read(json.RawMessage(data))
	o.Take("text", "text", &s.text)
	o.OneOf("mode", &s.mode, "graded", "strict")
	o.Take("count", "a whole number", &s.count)
	inner := o.Object("inner")
	inner.Take("flag", "a boolean", &s.inner)
	inner.Done()
	o.Each("items", func(item *jsonconfig.Object) {
		var name string
		if !item.Take("name", "text", &name) && !item.Has("name") {
			item.Report("name is missing")
		}
		item.Done()
		s.items = append(s.items, name)
	})
	o.Done()
	return s, o.Err("sample config", "fix it")
}

func TestAConfigIsRead(t *testing.T) {
	for data, want := range map[string]sample{
		``:                                       {mode: "graded"},
		`{}`:                                     {mode: "graded"},
		`{"mode":null,"text":null,"inner":null}`: {mode: "graded"},
		`{"text":"a","mode":"strict","count":3,"inner":{"flag":true},"items":[{"name":"x"},{"name":"y"}]}`: {"a", "strict", 3, true, []string{"x", "y"}},
	} {
		got, err := parse(data)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", data, err, diff)
		}
	}
}

// TestTake_TakesEveryWholeNumberAsAnInteger, however it is written, and nothing else.
func TestTake_TakesEveryWholeNumberAsAnInteger(t *testing.T) {
	for number, want := range map[string]int{
		"5": 5, "5.0": 5, "5e0": 5, "50e-1": 5, "5E0": 5, "0.5e1": 5, "1e3": 1000, "-5.000": -5, " 5.0 ": 5, "0.0": 0,
	} {
		if got, err := parse(`{"count":` + number + `}`); err != nil || got.count != want {
			t.Errorf("%s: %d, %v", number, got.count, err)
		}
	}
	for _, other := range []string{"5.5", "1e400", "1e-1", "1e20", `"5"`, `"5.0"`, "true", "[5]", "{}"} {
		if got, err := parse(`{"count":` + other + `}`); err == nil {
			t.Errorf("%s: %d", other, got.count)
		}
	}
	for _, number := range []string{"5.0", "1e3"} {
		if got, err := parse(`{"text":` + number + `}`); err == nil {
			t.Errorf("%s is the text %q", number, got.text)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	for data, want := range map[string][]string{
		`[1]`:            {"the config is a list, not an object"},
		`{"text":"a"} x`: {"the config is not JSON: invalid character 'x' after top-level value"},
		`{"text":`:       {"the config is not JSON: unexpected end of JSON input"},
		`{"text":5,"mode":"Strict","count":1.5,"inner":{"flag":"no","flg":1},"items":[{"nam":"x"},7,{"name":[]}],"txt":1,"zzzzzz":1}`: {
			"text is a number, not text", `mode "Strict" is not one of graded, strict (did you mean "strict"?)`, "count is a number, not a whole number",
			"inner.flag is text, not a boolean", "unknown key inner.flg: did you mean flag?",
			"items[0].name is missing", "unknown key items[0].nam: did you mean name?", "items[1] is a number, not an object", "items[2].name is a list, not text",
			"unknown key txt: did you mean text?", "unknown key zzzzzz: known are count, inner, items, mode, text",
		},
		`{"mode":"other","inner":[],"items":{}}`: {`mode "other" is not one of graded, strict`, "inner is a list, not an object", "items is an object, not a list"},
	} {
		_, err := parse(data)
		e := sdk.AsError(err)
		if e == nil {
			t.Errorf("%s: no error", data)
			continue
		}
		if diff := cmp.Diff(want, e.Details["problems"]); diff != "" || e.Code != sdk.Invalid || e.Reason != "config_invalid" || e.Hint != "fix it" {
			t.Errorf("%s: %v\n%s", data, e, diff)
		}
		if e.Message != "sample config: "+strings.Join(want, "; ") {
			t.Errorf("%s: %s", data, e.Message)
		}
	}
}

func TestALongNameIsNotComparedAndCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if _, err := parse(`{"` + long + `":1}`); err == nil || !strings.Contains(err.Error(), "known are") || len(err.Error()) > 200 {
		t.Errorf("%.300v", err)
	}
}
