package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// restartable is a subject whose restart loses what was prepared, if configured to.
type restartable struct {
	sdktest.Subject
	restarted *bool
}

func (r restartable) Restart(context.Context) error { *r.restarted = true; return nil }

func TestARestartIsTriedWhereItCanBe(t *testing.T) {
	restarted := false
	sound := restartable{sdktest.InProcess(limited()), &restarted}
	if r := check(t, sound, fixtures())["restart"]; r.Status != sdktest.Passed || !restarted {
		t.Errorf("restarted: %v, %+v", restarted, r)
	}
	restarted = false
	lost := restartable{sdktest.InProcess(with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		if restarted {
			return nil, sdk.Errorf(sdk.NotFound, "config_unknown", "no such config")
		}
		return judge(4, req)
	})), &restarted}
	if r := check(t, lost, fixtures())["restart"]; r.Status != sdktest.Failed {
		t.Errorf("%+v", r)
	}
}

// all is a plugin of every kind. Its outputs are its inputs.
func all() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "all", Version: "1.0.0"},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Valid: true, Score: 1, Output: req.Output})
			}), nil
		},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return &sdk.GenerateResponse{Output: json.RawMessage(`"made"`)}, nil
			}), nil
		},
		Corrector: func(context.Context, json.RawMessage) (sdk.Corrector, error) {
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: json.RawMessage(`"` + req.Feedback + `"`)}, nil
			}), nil
		},
	}
}

func TestEveryKindIsAsked(t *testing.T) {
	for name, r := range check(t, sdktest.InProcess(all()), fstest.MapFS{
		"tests/e.json": {Data: []byte(`{"kind":"evaluator","request":{"output":{"a":1.0}},"want":{"output":{"a":1}}}`)},
		"tests/g.json": {Data: []byte(`{"kind":"generator","request":{},"want":{"output":"made"}}`)},
		"tests/c.json": {Data: []byte(`{"kind":"corrector","request":{"output":1,"feedback":"no"},"want":{"output":"no"}}`)},
	}) {
		if r.Status == sdktest.Failed {
			t.Errorf("%s: %s", name, r.Detail)
		}
	}
}

func TestAPluginWithoutFixturesIsTriedWithAnEmptyConfig(t *testing.T) {
	results := check(t, sdktest.InProcess(all()), nil)
	for name, r := range results {
		if r.Status == sdktest.Failed {
			t.Errorf("%s: %s", name, r.Detail)
		}
	}
	if r := results["batch"]; r.Status != sdktest.Passed {
		t.Errorf("batch: %+v", r)
	}
	if r := check(t, sdktest.InProcess(limited()), nil)["config/taken"]; r.Status != sdktest.Failed {
		t.Errorf("a plugin that takes no empty config: %+v", r)
	}
}

// gone is a plugin that can't even be described.
type gone struct{ sdktest.Subject }

func (gone) Describe(context.Context) (*sdk.Manifest, error) {
	return nil, errors.New("it exited with status 3")
}

func TestAPluginThatDoesNotStartFailsOnce(t *testing.T) {
	for name, r := range check(t, gone{}, fixtures()) {
		if want := map[bool]sdktest.Status{true: sdktest.Failed, false: sdktest.Skipped}[name == "manifest"]; r.Status != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestBadFixturesAreReportedAtOnce(t *testing.T) {
	_, err := sdktest.Load(fstest.MapFS{
		"tests/a.json": {Data: []byte(`{"wants":{}}`)},
		"tests/b.json": {Data: []byte(`{} {}`)},
		"tests/c.json": {Data: make([]byte, sdktest.MaxFixtureBytes+1)},
		"tests/d.json": {Data: []byte(`{"request":{"output":1},"want":{}}`)},
	})
	e := sdk.AsError(err)
	if sdk.ReasonOf(err) != "fixture_invalid" || e.Hint == "" {
		t.Fatalf("got %v", err)
	}
	if problems := e.Details["problems"].([]string); len(problems) != 3 {
		t.Errorf("problems: %q", problems)
	}
}

// mute is a T that keeps its messages.
type mute struct {
	*testing.T
	errors int
}

func (m *mute) Errorf(string, ...any) { m.errors++ }

func TestRunFailsTheTestOfAFaultyPlugin(t *testing.T) {
	m := &mute{T: t}
	p := limited()
	p.Manifest.Version = ""
	sdktest.Run(m, sdktest.InProcess(p), fixtures())
	sdktest.Run(m, sdktest.InProcess(p), fstest.MapFS{"tests/a.json": {Data: []byte(`[]`)}})
	if m.errors != 2 {
		t.Errorf("%d errors", m.errors)
	}
}
