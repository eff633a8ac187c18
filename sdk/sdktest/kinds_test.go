package sdktest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// Odd inputs are tried with each kind that a plugin has, not only the first, and the
// plugin's message about them can be read.
func TestInputs_AreTriedOnEveryKind(t *testing.T) {
	p := limited()
	p.Corrector = func(context.Context, json.RawMessage) (sdk.Corrector, error) {
		return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			if strings.HasPrefix(string(req.Output), "[[[") || len(req.Output) > 1<<20 {
				return nil, sdk.Errorf(sdk.Internal, "overrun", "the stack overran")
			}
			return &sdk.CorrectResponse{Output: req.Output}, nil
		}), nil
	}
	files := fixtures()
	for name, file := range files {
		files[name] = &fstest.MapFile{Data: []byte(`{"kind":"evaluator",` + string(file.Data[1:]))}
	}
	files["tests/zz-correct.json"] = &fstest.MapFile{Data: []byte(`{"kind":"corrector","config":{"max":4},"request":{"output":"x"},"want":{"output":"x"}}`)}
	results := check(t, sdktest.InProcess(p), files)
	for _, name := range []string{"input/deep", "input/large"} {
		r := results[name]
		if r.Status != sdktest.Failed || !strings.Contains(r.Detail, "the stack overran") || len(r.Detail) > 300 {
			t.Errorf("%s ended as %q: %s", name, r.Status, r.Detail)
		}
	}
}

// A plugin that returns findings in the order of a map always fails one case, whose
// message says what to do.
func TestSame_FindsTheOrderOfAMap(t *testing.T) {
	p := with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		var v sdk.Verdict
		for message := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true} {
			v.Errors = append(v.Errors, sdk.Finding{Message: message})
		}
		return verdict(v)
	})
	files := fstest.MapFS{"tests/a.json": {Data: []byte(`{"request":{"output":"x"},"want":{"valid":false}}`)}}
	for name, r := range check(t, sdktest.InProcess(p), files) {
		if failed := r.Status == sdktest.Failed; failed != (name == "same") {
			t.Errorf("%s ended as %q: %s", name, r.Status, r.Detail)
		}
		if name == "same" && !strings.Contains(r.Detail, "sort what comes of a map") {
			t.Errorf("same doesn't say what to do: %s", r.Detail)
		}
	}
}
