package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// tally is a plugin that notes each generation and correction in a file before it answers,
// so that a test can count the calls that were paid for. Its attempts pass at
// the iteration that its config names.
func tally() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "tally", Version: "1.0.0"},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			t, err := newTallyman(config)
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				output := jsontext.MustEncode(req.IdempotencyKey)
				if answer := reflected(req.State); answer != nil {
					output = answer
				}
				return &sdk.GenerateResponse{Output: output}, t.note(req.IdempotencyKey)
			}), err
		},
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) {
			t, err := newTallyman(config)
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: jsontext.MustEncode(req.IdempotencyKey)}, t.note(req.IdempotencyKey)
			}), err
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			t, err := newTallyman(config)
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				t.work()
				if t.Fails {
					return nil, sdk.Errorf(sdk.Invalid, "broken", "the evaluator can't judge this")
				}
				v := sdk.Verdict{Valid: req.Iteration >= t.Passes, Score: float64(req.Iteration) / float64(t.Passes)}
				return &sdk.EvaluateResponse{Verdict: v}, nil
			}), err
		},
	}
}

// reflected answers what a reflection asks: three questions, and two insights for each; nil
// is for another state.
func reflected(state json.RawMessage) json.RawMessage {
	var ask reflection.Ask
	switch _ = json.Unmarshal(state, &ask); ask.Task {
	case reflection.TaskQuestions:
		return json.RawMessage(`{"questions": ["one?", "two?", "three?"]}`)
	case reflection.TaskInsights:
		insight := func(n string) map[string]any {
			return map[string]any{"content": ask.Question + " " + n, "sources": []string{ask.Memories[0].ID}}
		}
		return jsontext.MustEncode(map[string]any{"insights": []any{insight("first"), insight("second")}})
	}
	return nil
}

type tallyman struct {
	File   string        `json:"file"`
	Passes int           `json:"passes"`
	Works  time.Duration `json:"works"`
	Fails  bool          `json:"fails"`
	Once   bool          `json:"once"`  // a key that is noted isn't noted again: the plugin honours it
	Holds  string        `json:"holds"` // a file: the number of notes at which a call waits for a larger one
	Kills  bool          `json:"kills"` // it kills its host as soon as it has noted a call
}

func newTallyman(config json.RawMessage) (t tallyman, err error) {
	return t, json.Unmarshal(config, &t)
}

func (t *tallyman) work() {
	if t.Works > 0 {
		<-time.After(t.Works)
	}
}

func (t *tallyman) note(key string) error {
	if t.File == "" {
		return nil
	}
	if known, _ := os.ReadFile(t.File); t.Once && bytes.Contains(known, []byte(key+"\n")) {
		return nil
	}
	f, err := os.OpenFile(t.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(key + "\n"); err != nil {
		return err
	}
	if host, _ := os.FindProcess(os.Getppid()); t.Kills && host != nil {
		_ = host.Kill()
	}
	t.work()
	t.hold()
	return f.Close()
}

func (t *tallyman) hold() {
	for t.Holds != "" {
		text, _ := os.ReadFile(t.Holds)
		most, _ := strconv.Atoi(string(text)) // 0 while it is written
		if notes, _ := os.ReadFile(t.File); bytes.Count(notes, []byte("\n")) < most {
			return
		}
		<-time.After(time.Millisecond)
	}
}
