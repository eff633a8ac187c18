package httpapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

// decodedTypes are requests of every shape: with embedded structs, lists of structs, maps, raw JSON and
// pointers.
func decodedTypes() []any {
	return []any{
		&core.ObserveRequest{}, &core.ReflectRequest{}, &core.RecallRequest{}, &core.FeedbackRequest{}, &memory.LinkRequest{},
		&operation.MemoryObserveAll{}, &operation.MemoryList{}, &operation.GovernanceSet{}, &operation.EvidenceDAG{}, &operation.RunStart{},
		&operation.TokenNew{}, &operation.Discover{},
	}
}

// agreeOnDecoding fails if a text that is decoded in one pass is refused, or read as something else, step
// by step. It reports for how many types the one pass was sure.
func agreeOnDecoding(t *testing.T, text string, taken ...string) (sure int) {
	t.Helper()
	for _, of := range decodedTypes() {
		once, steps := reflect.New(reflect.TypeOf(of).Elem()).Interface(), reflect.New(reflect.TypeOf(of).Elem()).Interface()
		if !decodeOnce(MaxJSONDepth, []byte(text), once, taken) {
			continue
		}
		sure++
		var f faults
		if err := f.decodeSteps(MaxJSONDepth, []byte(text), steps, taken); err != nil || len(f) > 0 {
			t.Errorf("%T: in one pass %.200q is decoded, and step by step it is refused: %v %v", of, text, err, f)
		} else if diff := cmp.Diff(steps, once, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%T of %.200q: (-step by step +in one pass):\n%s", of, text, diff)
		}
	}
	return sure
}

// decodedTexts are whether one pass decodes a text for some type.
func decodedTexts() map[string]bool {
	deep := func(n int) string {
		return `{"content":"a","metadata":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "}"
	}
	return map[string]bool{
		`{}`: true, " {\r\n} ": true, `{"content":"a"}`: true, `{"content":"a","tags":["x"],"priority":3,"importance":0.5}`: true,
		`{"content":"a","metadata":{"b":[1,2,{"c":"d"}],"e":1e3}}`: true, `{"items":[{"content":"a"},{"content":"b","tags":[]}]}`: true,
		`{"content":"\"[{","tags":["]]]}}}"]}`: true, `{"content":"\ud83d\ude00"}`: true, `{"cont\u0065nt":"a"}`: true,
		`{"content":"a","importance":1}`: true, `{"content":"a","importance":1e-400}`: true, deep(10): true, deep(MaxJSONDepth - 1): true,

		``: false, ` `: false, `[]`: false, `"a"`: false, `1`: false, `null`: false, `{} {}`: false, `{}x`: false, "\ufeff{}": false, "\v{}": false,
		`{"content":"a",}`: false, `{"content":"a"`: false, `{'content':"a"}`: false, `{"content":"a" // b` + "\n}": false,
		`{"content":"a","content":"b"}`: false, `{"content":"a","c\u006fntent":"b"}`: false, `{"metadata":{"a":1,"a":2}}`: false,
		`{"Content":"a"}`: false, `{"unknown":1}`: false, `{"items":[{"unknown":1}]}`: false, `{"":1}`: false,
		`{"content":1}`: false, `{"content":["a"]}`: false, `{"content":{}}`: false, `{"content":true}`: false, `{"content":null}`: false,
		`{"tags":"a"}`: false, `{"tags":[1]}`: false, `{"tags":{"a":1}}`: false, `{"tags":[null]}`: false, `{"items":[null]}`: false, `{"items":{}}`: false,
		`{"priority":"3"}`: false, `{"priority":3.0}`: false, `{"priority":3.5}`: false, `{"priority":1e1}`: false, `{"priority":9223372036854775808}`: false,
		`{"priority":true}`: false, `{"importance":"0.5"}`: false, `{"importance":1e400}`: false, `{"importance":NaN}`: false, `{"priority":03}`: false,
		`{"subtree":1}`: false, `{"subtree":"true"}`: false, "{\"content\":\"\xff\"}": false, "{\"metadata\":{\"\xff\":1}}": false,
		`{"content":"\ud800"}`: false, `{"metadata":["\udc00\ud800"]}`: false, "{\"content\":\"a\nb\"}": false, `{"content":"\x"}`: false,
		deep(MaxJSONDepth): false, deep(100_000): false, `{"edges":[["a"]]}`: false, `{"edges":[["a","b","c"]]}`: false,
	}
}

func TestDecodeOnce_AgreesWithReadingStepByStep(t *testing.T) {
	for text, want := range decodedTexts() {
		if sure := agreeOnDecoding(t, text); (sure > 0) != want {
			t.Errorf("%.200q is decoded in one pass for %d types, want some: %v", text, sure, want)
		}
	}
	for text, want := range map[string]bool{
		`{"relation":"a","to":"b"}`: true, `{"from":"x","relation":"a"}`: false, `{"fr\u006fm":"x","relation":"a"}`: false, `{"relation":"from"}`: false,
	} {
		if sure := agreeOnDecoding(t, text, "from"); (sure > 0) != want {
			t.Errorf("%q with from in the path is decoded in one pass for %d types, want some: %v", text, sure, want)
		}
	}
}

// FuzzDecodeOnce: what one pass decodes is decoded step by step too, as the same.
func FuzzDecodeOnce(f *testing.F) {
	for text := range decodedTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agreeOnDecoding(t, text) })
}
