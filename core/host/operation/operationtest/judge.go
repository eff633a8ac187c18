package operationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// A plugin must be a program, and the one program that a test has without a build step is
// its own: started with a variable in its environment, it is the plugin.

const (
	// JudgeYAML is a step of the plugin that this test binary serves.
	JudgeYAML = "plugin: test/judge\nconfig: {want: 2}\n"
	// LostYAML needs no plugin, and its run ends with an error, so that it can be resumed.
	LostYAML = "name: lost\nnodes:\n  - {name: derive, action: memory.reflect, with: {source_ids: [lost-memory], title: t, content: c}}\n"
	// LoopYAML corrects 1 to 2; its schema file, a prompt in the state, plays no part.
	LoopYAML = `name: count
state: {from: 1, kept: true}
nodes:
  - name: count
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {want: "{{ state.from }}"}}
      corrector: {plugin: test/judge, config: {want: 2}}
      evaluator: {plugin: test/judge, config: {want: 2}}
`
)

// servesJudge makes the test's program act as the plugin.
const servesJudge = "REFLECTORY_TEST_JUDGE"

// ServeJudge must be called first by a TestMain: if the program was started as the
// plugin, it serves the plugin and exits.
func ServeJudge() {
	if os.Getenv(servesJudge) != "" {
		process.Main(judge())
		os.Exit(0)
	}
}

// prompt is the metadata that says that the prompt of a config was sent to a model; nil if it has none.
func prompt(config json.RawMessage) map[string]string {
	var c struct {
		Prompt string `json:"prompt"`
	}
	if json.Unmarshal(config, &c) != nil || c.Prompt == "" {
		return nil
	}
	return map[string]string{sdk.MetadataPrompt: sdk.EncodePrompt([]sdk.PromptMessage{{Role: "user", Content: c.Prompt}})}
}

// pieces are what a generator whose config has pieces writes, Times times. Its output is how it was
// asked for: "in pieces", or "whole".
type pieces struct {
	Pieces []string `json:"pieces"`
	Times  int      `json:"times"`
}

// inPieces are the pieces of a config; nil if it has none.
func inPieces(config json.RawMessage) *pieces {
	p := pieces{Times: 1}
	if json.Unmarshal(config, &p) != nil || len(p.Pieces) == 0 {
		return nil
	}
	return &p
}

func (p *pieces) generate(req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	how := "whole"
	if req.Emit != nil {
		how = "in pieces"
		for range p.Times {
			for _, piece := range p.Pieces {
				req.Emit(piece)
			}
		}
	}
	return &sdk.GenerateResponse{Output: jsontext.MustEncode(how)}, nil
}

// judge is a plugin that accepts exactly the output that its config wants. It generates
// and corrects to that; a correction with errors returns their messages.
func judge() sdk.Plugin {
	wanted := func(config json.RawMessage) (json.RawMessage, error) {
		var c struct {
			Want json.RawMessage `json:"want"`
		}
		return c.Want, json.Unmarshal(config, &c)
	}
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "judge", Version: "1.0.0"},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			want, err := wanted(config)
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				if p := inPieces(config); p != nil {
					return p.generate(req)
				}
				return &sdk.GenerateResponse{Output: want, Metadata: prompt(config)}, nil
			}), err
		},
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) {
			want, err := wanted(config)
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				if req.RunID != "" || len(req.Errors) == 0 {
					return &sdk.CorrectResponse{Output: want}, nil
				}
				var texts []string
				for _, f := range req.Errors {
					texts = append(texts, f.Message)
				}
				return &sdk.CorrectResponse{Output: jsontext.MustEncode(texts)}, nil
			}), err
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			want, err := wanted(config)
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if string(req.Output) == string(want) {
					return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
				}
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{{Message: "not " + string(want)}}}}, nil
			}), err
		},
	}
}

// installJudge pins the plugin in the world's lock.
func (w *World) installJudge() {
	w.T.Helper()
	program, err := os.Executable()
	w.Must(err)
	w.File("plugins/test/judge/"+install.PackageFile,
		"name: test/judge\nversion: 1.0.0\nkinds: [generator, evaluator, corrector]\nentry: [sh, run.sh]\ncapabilities: {fs: [system]}\n")
	w.File("plugins/test/judge/run.sh", fmt.Sprintf("%s=1 exec '%s'\n", servesJudge, program))
	place := install.Place{Lock: filepath.Join(w.Folder, install.LockFile), Dir: filepath.Join(w.Folder, "plugins")}
	_, err = install.Add(w.T.Context(), filepath.Join(place.Dir, "test", "judge"), install.AddOptions{Place: place, InPlace: true})
	w.Must(err)
}
