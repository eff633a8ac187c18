package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// modelExamination is the result of doctor llm.
type modelExamination struct {
	examination
	BaseURL string `json:"base_url"`
	Model   string `json:"model"`
	// Refuses is what settings.llm.dialect should say that the model refuses.
	Refuses []string `json:"refuses"`
	// Tokens is what the questions have cost, and File where the dialect was written; "" is nowhere.
	Tokens int64  `json:"tokens"`
	File   string `json:"file,omitempty"`
}

// doctorLLM is the command doctor llm, with its flags.
type doctorLLM struct {
	app                                *App
	provider, baseURL, model, variable string
	write                              bool
	// file is where settings.llm is written, and written whether the model's settings are in it.
	file    string
	written bool
}

func doctorLLMCommand(a *App) *cobra.Command {
	d := doctorLLM{app: a}
	c := &cobra.Command{
		Use: "llm [WORKFLOW]", Short: "Find what a model and its endpoint can do, and how to ask them",
		Long: fmt.Sprintf(`Ask a model about %d small questions, and say what it and its endpoint do and don't do: JSON by a
schema, streams, system messages, sampling, the limits of replies and prompts, reasoning,
several questions at a time, unknown models, and what they count. A fault that can be lived
with becomes a part of the dialect: what isn't sent, or is said in other words.

The model is the one of settings.llm in a workflow, or else in reflectory.yaml. Flags name
another one. The questions cost about %d tokens.

With --write the dialect is written into that file, as settings.llm.dialect. All else in it
stays as it is.

Exit codes: 0 if the model can be used, 3 if something doesn't work.`, probeCount, probeTokens),
		Example: "  reflectory doctor llm\n  reflectory doctor llm workflow.yaml --write\n  reflectory doctor llm --base-url http://127.0.0.1:11434 --provider ollama --model llama3.2",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return d.run(c.Context(), strings.Join(args, ""))
		},
	}
	f := c.Flags()
	f.StringVar(&d.provider, "provider", "", "what the endpoint speaks: openai, ollama or anthropic")
	f.StringVar(&d.baseURL, "base-url", "", "the endpoint")
	f.StringVar(&d.model, "model", "", "the model's name")
	f.StringVar(&d.variable, "api-key-env", "", "the environment variable with the endpoint's key")
	f.BoolVar(&d.write, "write", false, "write the dialect into the file that names the model")
	return c
}

func (d *doctorLLM) run(ctx context.Context, workflowFile string) error {
	llm, err := d.connection(workflowFile)
	if err != nil {
		return err
	}
	h, err := d.app.openHost(ctx)
	if err != nil {
		return err
	}
	examiner := newModelExaminer(llm, func(ctx context.Context, config map[string]any, emit func(string)) (*sdk.GenerateResponse, error) {
		need := host.Need{LLM: jsontext.MustEncode(config["llm"]), Namespace: d.app.config.Namespace.Value}
		return h.Plugins.AskModel(ctx, need, probeTime, config, emit)
	})
	if !d.app.out.json {
		fmt.Fprintf(d.app.Stderr, "asking %v at %v: about %d questions, %d tokens%s\n", llm["model"], llm["base_url"], probeCount, probeTokens, costOf(llm))
	}
	examiner.examine(ctx)
	result := modelExamination{
		examination: examination{OK: true, Parts: examiner.parts}, Refuses: append([]string{}, examiner.refuses...), Tokens: examiner.used.Tokens(),
		BaseURL: fmt.Sprint(llm["base_url"]), Model: fmt.Sprint(llm["model"]),
	}
	for _, p := range result.Parts {
		result.OK = result.OK && p.State != partFail
	}
	if d.write && len(examiner.answered) > 0 {
		if result.File, err = d.save(result.Refuses); err != nil {
			return err
		}
	}
	d.app.out.term.Clear()
	return exitNotValidUnless(result.OK, d.print(result))
}

// costOf is what the questions cost at most, if the price is known.
func costOf(llm map[string]any) string {
	price, _ := llm["price"].(map[string]any)
	in, _ := price["in"].(float64)
	if in == 0 {
		return ""
	}
	return fmt.Sprintf(", about %.2g dollars", in*probeTokens/1e6)
}

func (d *doctorLLM) print(result modelExamination) error {
	out := d.app.out
	if out.json {
		return out.printJSON(result)
	}
	if err := printExamination(out, result.examination); err != nil {
		return err
	}
	dialect := dialectOf(result.Refuses)
	switch {
	case result.File != "":
		return out.say("%s has settings.llm.dialect: %s", result.File, dialect)
	case len(result.Refuses) > 0:
		return out.say("write into settings.llm, or have it written by --write: dialect: %s", dialect)
	}
	return nil
}

// dialectOf is the value of settings.llm.dialect.
func dialectOf(refuses []string) string { return "{refuses: [" + strings.Join(refuses, ", ") + "]}" }

// connection is the model to ask, as settings.llm names it, without its dialect.
func (d *doctorLLM) connection(workflowFile string) (map[string]any, error) {
	named := d.app.config.LLM()
	d.file = d.app.config.File()
	if workflowFile != "" {
		source, err := workflow.Read(workflowFile)
		if err != nil {
			return nil, err
		}
		plan, err := workflow.Load(source, host.LoadOptions())
		if err != nil {
			return nil, err
		}
		named, d.file = plan.LLM, workflowFile
	}
	llm := map[string]any{}
	if len(named) > 0 {
		if err := json.Unmarshal(named, &llm); err != nil {
			return nil, err
		}
	}
	if several, _ := llm["models"].([]any); len(several) > 0 {
		llm["model"] = several[0]
	}
	d.written = len(llm) > 0
	for key, value := range map[string]string{"provider": d.provider, "base_url": d.baseURL, "model": d.model, "api_key_env": d.variable} {
		if value != "" {
			d.written = d.written && llm[key] == value
			llm[key] = value
		}
	}
	if llm["provider"] == nil {
		llm["provider"] = "openai"
	}
	delete(llm, "models")
	delete(llm, "dialect")
	switch {
	case llm["model"] == nil || llm["base_url"] == nil:
		return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "no model is named by %s", cmp.Or(workflowFile, "settings.llm of reflectory.yaml")).
			WithHint("name it: reflectory doctor llm --base-url http://127.0.0.1:11434/v1 --model llama3.2")}
	case d.write && (!d.written || d.file == ""):
		return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "--write: %s doesn't name this model in settings.llm", cmp.Or(d.file, config.FileName)).
			WithHint("write settings.llm there first, or name the workflow that does: reflectory doctor llm WORKFLOW --write")}
	}
	return llm, nil
}

// maxSettings limits a file that is written into: the limit of a workflow, in bytes.
const maxSettings = 1 << 20

// save writes the dialect into the file of the settings. It returns the file if there is something
// to write.
func (d *doctorLLM) save(refuses []string) (string, error) {
	file, err := filepath.EvalSymlinks(d.file)
	if err != nil {
		return "", sdk.Wrap("find "+d.file, err)
	}
	text, err := plainfile.Read(file, maxSettings)
	if err != nil {
		return "", err
	}
	path := []string{"settings", "llm", "dialect"}
	if len(refuses) == 0 && !strings.Contains(string(text), "dialect") {
		return "", nil
	}
	edited, err := document.Set(string(text), document.Limits{Bytes: maxSettings, Depth: 100, MayBeEmpty: true}, path, dialectOf(refuses))
	if err != nil {
		return "", sdk.Wrap("write "+d.file, err)
	}
	if err := plainfile.Replace(file, []byte(edited)); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) && os.IsPermission(err) {
			return "", sdk.Errorf(sdk.Denied, "settings_not_written", "can't write %s: %w", d.file, err).WithHint("make its folder writable, or write it yourself: settings.llm.dialect: %s", dialectOf(refuses))
		}
		return "", sdk.Wrap("write "+d.file, err)
	}
	return d.file, nil
}

// probeTime is how long one question may take, with all its tries.
const probeTime = 2 * time.Minute
