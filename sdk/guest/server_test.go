package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// counter is a plugin whose config says what it does.
func counter() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "counter", Version: "1.0.0"},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			var c struct{ Do string }
			if err := json.Unmarshal(config, &c); err != nil || c.Do == "refuse" {
				return nil, errors.Join(err, errors.New("refused"))
			}
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				switch c.Do {
				case "panic":
					panic("oh")
				case "nan":
					return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: math.NaN()}}, nil
				case "nothing":
					return nil, nil
				case "broken":
					return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Output: json.RawMessage("{")}}, nil
				}
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: 1, Output: req.Output}}, nil
			}), nil
		},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				if req.Emit != nil {
					req.Emit("piece")
				}
				return &sdk.GenerateResponse{Output: json.RawMessage(`1`)}, nil
			}), nil
		},
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	s := newServer(counter(), func(int, string) {})
	for _, tt := range []struct {
		op            abi.Op
		request, want string
	}{
		{abi.OpDescribe, `{}`, `{"manifest":{"name":"counter","version":"1.0.0","contract":1,"kinds":["evaluator","generator"]}}`},
		{0, `{"op":"describe"}`, `{"manifest":{"name":"counter","version":"1.0.0","contract":1,"kinds":["evaluator","generator"]}}`},
		{abi.OpEvaluate, `{"config":{"digest":"a"},"items":[]}`, `"reason":"config_unknown"`},
		{abi.OpPrepare, `{"kind":"evaluator","config":{"digest":"a","json":{}}}`, `{}`},
		{abi.OpEvaluate, `{"config":{"digest":"a"},"items":[{"output":1},{"output":2}]}`, `{"results":[{"response":{"verdict":{"valid":false,"score":1,"output":1}}},{"response":{"verdict":{"valid":false,"score":1,"output":2}}}]}`},
		{abi.OpEvaluate, `{"config":{"digest":"p","json":{"do":"panic"}},"items":[{}]}`, `"reason":"plugin_panic"`},
		{abi.OpEvaluate, `{"config":{"digest":"n","json":{"do":"nan"}},"items":[{}]}`, `"reason":"score_not_finite"`},
		{abi.OpEvaluate, `{"config":{"digest":"0","json":{"do":"nothing"}},"items":[{}]}`, `"reason":"no_response"`},
		{abi.OpEvaluate, `{"config":{"digest":"b","json":{"do":"broken"}},"items":[{}]}`, `"reason":"response_invalid"`},
		{abi.OpPrepare, `{"kind":"evaluator","config":{"digest":"r","json":{"do":"refuse"}}}`, `"reason":"config_invalid"`},
		{abi.OpPrepare, `{"kind":"corrector","config":{"digest":"a","json":{}}}`, `"reason":"kind_unsupported"`},
		{abi.OpGenerate, `{"config":{"digest":"a","json":{}},"items":[{"emit":true}]}`, `{"results":[{"response":{"output":1}}]}`},
		{9, `{}`, `"reason":"contract_mismatch"`},
		{abi.OpEvaluate, `{`, `"reason":"request_invalid"`},
	} {
		if got := string(s.handle(tt.op, []byte(tt.request))); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s", tt.op, tt.request, got)
		}
	}
}

func TestPreparedConfigsAreBounded(t *testing.T) {
	s := newServer(counter(), nil)
	for n := range maxPrepared + 10 {
		if _, err := s.prepare(t.Context(), sdk.KindEvaluator, &abi.Config{Digest: string(rune('A' + n)), JSON: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.prepared) != maxPrepared || s.prepared[0].digest != string(rune('A'+10)) {
		t.Errorf("%d are kept, from %s", len(s.prepared), s.prepared[0].digest)
	}
}

func TestACommandMakesOneCall(t *testing.T) {
	var out, log bytes.Buffer
	if code := command(counter(), strings.NewReader(`{"op":"describe"}`), &out, &log); code != 0 || !strings.Contains(out.String(), `"counter"`) || log.Len() > 0 {
		t.Errorf("%d %s %s", code, out.String(), log.String())
	}
}

func TestLogRecordsAreLines(t *testing.T) {
	var lines []string
	log := slog.New(newLogHandler(func(level int, line string) {
		lines = append(lines, string(rune('0'+level))+" "+line)
	}))
	log.Debug("deep")
	log.With("a", 1).WithGroup("g").Warn("look", "b", "two words")
	log.Error("broken")
	if got := strings.Join(lines, "|"); got != `1 deep|3 look a=1 g.b="two words"|4 broken` {
		t.Error(got)
	}
}

func TestThereIsNoHostOutsideOfAModule(t *testing.T) {
	if _, err := Fetch(abi.HTTPRequest{}); sdk.ReasonOf(err) != "no_host" {
		t.Error(err)
	}
	if _, err := Service("cache", nil); sdk.ReasonOf(err) != "no_host" {
		t.Error(err)
	}
}

func TestACallsContextLeadsToTheHostAndTheRun(t *testing.T) {
	var kept context.Context
	s := newServer(sdk.Plugin{
		Manifest: sdk.Manifest{Name: "asks", Version: "1.0.0"},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				kept = ctx
				value, _, err := sdk.CacheGet(ctx, "k of "+sdk.CallFrom(ctx).RunID)
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Output: value}}, err
			}), nil
		},
	}, nil)
	var asked []string
	s.service = func(name string, request json.RawMessage) (json.RawMessage, error) {
		asked = append(asked, name+" "+string(request))
		return json.RawMessage(`{"found":true,"value":7}`), nil
	}
	got := string(s.handle(abi.OpEvaluate, []byte(`{"config":{"digest":"a","json":{}},"items":[{"run_id":"r1","output":1},{"run_id":"r2","output":2}]}`)))
	if strings.Count(got, `"output":7`) != 2 {
		t.Error(got)
	}
	want := []string{`cache {"op":"get","key":"k of r1"}`, `cache {"op":"get","key":"k of r2"}`}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if _, _, err := sdk.CacheGet(kept, "k"); sdk.ReasonOf(err) != "call_ended" {
		t.Errorf("after the call: %v", err)
	}
	cancelled, cancel := context.WithCancel(kept)
	cancel()
	if _, _, err := sdk.CacheGet(cancelled, "k"); !errors.Is(err, context.Canceled) || len(asked) != 2 {
		t.Errorf("with a context that has ended: %v", err)
	}
}
