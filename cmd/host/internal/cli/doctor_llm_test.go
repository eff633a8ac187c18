package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// endpointWith is a scripted endpoint with one fault. Its model does what it is asked.
type endpointWith struct {
	// fault answers in the endpoint's own way; false leaves the request to the model.
	fault func(r *llmtest.Request, sent map[string]json.RawMessage) (llmtest.Reply, bool)
	// blind is a kind of message that doesn't reach the model, and deaf whether it gives no JSON
	// because of a field alone.
	blind string
	deaf  bool
	// says are parts of the report, refuses the dialect that comes of it.
	says    []string
	refuses string
	// exit is the command's code, and before the code of the workflow's run without the dialect.
	exit, before int
}

// reply is what the model says.
func (e *endpointWith) reply(r *llmtest.Request) llmtest.Reply {
	var all strings.Builder
	for _, m := range r.Messages {
		if m.Role != e.blind {
			all.WriteString(m.Content + "\n")
		}
	}
	said := all.String()
	has := func(words string) bool { return strings.Contains(said, words) }
	count := func(to int) string {
		var b strings.Builder
		for n := 1; n <= to; n++ {
			b.WriteString(string(mustEncode(n)) + ", ")
		}
		return b.String()
	}
	text := "READY"
	switch {
	case has("WREN"):
		text = "WREN"
	case has("must fit this JSON Schema") || has("TEAL"), len(r.ResponseFormat) > 0 && !e.deaf:
		text = `{"colour": "blue"}`
		if has("TEAL") {
			text = `{"colour": "teal"}`
		}
		if e.deaf && !has("must fit this JSON Schema") {
			text = "It is teal, or blue."
		}
	case has("colour"):
		text = "Blue."
	case has("1 to 30"):
		text = count(30)
	case has("1 to 200"):
		text = count(200)
	case has("HALT"):
		text = "one two HALT three"
		if strings.Contains(string(r.Body), `"stop"`) {
			text = "one two "
		}
	case has("KESTREL"):
		text = "KESTREL"
	}
	limit := r.MaxTokens
	if limit == nil {
		limit = r.MaxCompletionTokens
	}
	if limit != nil && int(*limit)*4 < len(text) {
		return llmtest.Text(text[:*limit*4]).FinishedBy("length").Usage(int64(len(said)/4), *limit)
	}
	return llmtest.Text(text).Usage(int64(len(said)/4+1), int64(len(text)/4+1))
}

func mustEncode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// refusesField refuses a field, without a word about it.
func refusesField(status int, fields ...string) func(*llmtest.Request, map[string]json.RawMessage) (llmtest.Reply, bool) {
	return func(_ *llmtest.Request, sent map[string]json.RawMessage) (llmtest.Reply, bool) {
		for _, field := range fields {
			if sent[field] != nil {
				return llmtest.Status(status).RetryAfter("0"), true
			}
		}
		return llmtest.Reply{}, false
	}
}

// faultyEndpoints have faults that a request of a workflow runs into, or that cost something.
func faultyEndpoints() map[string]endpointWith {
	return map[string]endpointWith{
		"none":                  {says: []string{"ok answers", "ok stream", "ok schema", "ok max_tokens", "ok parallel", "ok model"}},
		"temperature":           {fault: refusesField(400, "temperature"), says: []string{"warn temperature"}, refuses: "temperature", before: exitFailure},
		"top_p and seed":        {fault: refusesField(422, "top_p", "seed"), says: []string{"warn top_p", "warn seed", "ok sampling"}, refuses: "top_p, seed", before: exitFailure},
		"stop":                  {fault: refusesField(400, "stop"), says: []string{"warn stop"}, refuses: "stop", before: exitFailure},
		"format, by a 500":      {fault: refusesField(500, "response_format"), says: []string{"warn schema"}, refuses: "response_format", before: exitFailure},
		"format, ignored":       {deaf: true, says: []string{"warn schema", "is not JSON"}, refuses: "json_schema", before: exitNotValid},
		"only JSON mode":        {fault: onlyJSONMode, says: []string{"warn schema", "json_schema"}, refuses: "json_schema", before: exitFailure},
		"system, ignored":       {blind: "system", says: []string{"warn system", `came "READY"`}, refuses: "system", before: exitNotValid},
		"system, refused":       {fault: refusesSystem, says: []string{"warn system"}, refuses: "system", before: exitFailure},
		"streams break":         {fault: breaksStreams, says: []string{"warn stream"}, refuses: "stream"},
		"only streams":          {fault: onlyStreams, says: []string{"warn answers"}, refuses: "whole_replies", before: exitNotValid},
		"max_tokens":            {fault: refusesField(400, "max_tokens"), says: []string{"warn max_tokens"}, refuses: "max_tokens", before: exitFailure},
		"any limit of a reply":  {fault: refusesField(400, "max_tokens", "max_completion_tokens"), says: []string{"max_tokens"}, refuses: "max_tokens, max_completion_tokens", before: exitFailure},
		"effort":                {fault: refusesField(400, "reasoning_effort"), says: []string{"warn reasoning"}, refuses: "reasoning_effort", before: exitFailure},
		"a short context":       {fault: cutsPrompts, says: []string{"fail context", "cut a prompt"}, exit: exitNotValid},
		"any model":             {fault: knowsAnyModel, says: []string{"warn model", "unknown model is answered"}},
		"one at a time":         {fault: busy(), says: []string{"warn parallel", "of 4 questions"}},
		"nothing counted":       {fault: countsNothing, says: []string{"warn usage", "no tokens are counted"}},
		"a key":                 {fault: refusesField(401, "model"), says: []string{"fail answers", "rejects the key", "api_key_env"}, exit: exitNotValid, before: exitFailure},
		"thoughts":              {fault: thinking, says: []string{"ok reasoning", "thinks before it answers"}},
		"cut without saying so": {fault: cutsSilently, says: []string{"warn max_tokens", "says that it is whole"}, refuses: "max_tokens, max_completion_tokens"},
	}
}

func onlyJSONMode(_ *llmtest.Request, sent map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Status(500).RetryAfter("0"), strings.Contains(string(sent["response_format"]), "json_schema")
}

func refusesSystem(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Status(422), r.System() != ""
}

func breaksStreams(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Body(200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"1, 2\"},\"finish_reason\":\"stop\"}]}\n\n"), r.Stream
}

func onlyStreams(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Text(""), !r.Stream
}

func cutsPrompts(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Text("none was given").Usage(200, 5), len(r.Prompt()) > 8000
}

func knowsAnyModel(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Text("READY"), r.Model != "scripted"
}

func countsNothing(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Body(200, "application/json", `{"choices":[{"message":{"content":"READY"},"finish_reason":"stop"}]}`), strings.HasPrefix(r.Prompt(), "Reply with")
}

func thinking(r *llmtest.Request, sent map[string]json.RawMessage) (llmtest.Reply, bool) {
	reply := llmtest.Text("READY")
	reply.Thought = "They want READY."
	return reply, sent["reasoning_effort"] != nil && strings.HasPrefix(r.Prompt(), "Reply with")
}

func cutsSilently(r *llmtest.Request, _ map[string]json.RawMessage) (llmtest.Reply, bool) {
	return llmtest.Text("1, 2, 3, 4"), r.MaxTokens != nil && *r.MaxTokens < 20 || r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 20
}

// busy refuses two of the questions that are asked at the same time: those like the first.
func busy() func(*llmtest.Request, map[string]json.RawMessage) (llmtest.Reply, bool) {
	var asked atomic.Int64
	return func(r *llmtest.Request, sent map[string]json.RawMessage) (llmtest.Reply, bool) {
		if len(sent) > 2 || r.Model != "scripted" || len(r.Messages) != 1 {
			return llmtest.Reply{}, false
		}
		n := asked.Add(1)
		return llmtest.Status(429).RetryAfter("0"), n == 3 || n == 4
	}
}

const modelWorkflow = `# How we ask the gateway.
settings:
  llm: # ours
    provider: openai
    base_url: "URL/v1" # in the cellar
    model: scripted
    reasoning_effort: low
    timeout: 5s

nodes:
  - name: colour
    action: reflection.loop
    with:
      generator: {action: llm.call, system: "Say TEAL.", prompt: "Which colour is it?", parse: json, temperature: 0.5, top_p: 0.9, seed: 7, stop: "XYZ", max_tokens: 60, response_schema: {type: object, required: [colour], properties: {colour: {type: string}}}}
      evaluator: {type: schema, schema: {type: object, required: [colour], properties: {colour: {const: teal}}}}
      max_iterations: 1
`

// What a model may be said to refuse is the same in a workflow, in the settings and to the plugin.
func TestDoctorLLM_WordsAreEverybodys(t *testing.T) {
	words := map[string][]string{}
	for _, block := range workflow.Blocks() {
		for _, key := range block.Keys {
			if key.Name == "refuses" {
				words["workflow"] = key.Values
			}
		}
	}
	for _, d := range config.Definitions() {
		if d.Name == "llm_refuses" {
			words["settings"] = d.Words
		}
	}
	var schema struct {
		Properties struct {
			LLM struct {
				Properties struct {
					Dialect struct {
						Properties struct {
							Refuses struct{ Items struct{ Enum []string } }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(llmeval.Plugin(llmeval.Options{}).Manifest.ConfigSchema, &schema); err != nil {
		t.Fatal(err)
	}
	plugin := schema.Properties.LLM.Properties.Dialect.Properties.Refuses.Items.Enum
	if len(plugin) == 0 || !slices.Equal(plugin, words["workflow"]) || !slices.Equal(plugin, words["settings"]) {
		t.Errorf("%v, %v", plugin, words)
	}
	for _, p := range modelProbes() {
		for _, field := range slices.Concat(p.drops...) {
			if !slices.Contains(plugin, field) {
				t.Errorf("%s drops %s", p.part, field)
			}
		}
	}
}

// The model of the settings is asked too, and what is found goes to reflectory.yaml.
func TestDoctorLLM_OfTheSettings(t *testing.T) {
	e := endpointWith{fault: refusesField(400, "seed")}
	server := e.server(t)
	w := newWorld(t)
	t.Chdir(w.dir)
	w.allow(server)
	if _, _, errs := w.run(t.Context(), "doctor", "llm"); !strings.Contains(errs, "no model is named by settings.llm") {
		t.Errorf("without a model: %s", errs)
	}
	flags := []string{"--base-url", server.URL + "/v1", "--model", "scripted"}
	if code, out, _ := w.run(t.Context(), append([]string{"doctor", "llm"}, flags...)...); code != exitPassed || !strings.Contains(out, "dialect: {refuses: [seed]}") {
		t.Errorf("by flags: exit %d, %s", code, out)
	}
	file := w.file("reflectory.yaml", "settings:\n  llm:\n    model: other # mine\n    base_url: "+server.URL+"/v1\n")
	if code, _, errs := w.run(t.Context(), append([]string{"doctor", "llm", "--write"}, flags...)...); code != exitUsage || !strings.Contains(errs, "doesn't name this model") {
		t.Errorf("another model: exit %d, %s", code, errs)
	}
	before, _ := os.ReadFile(file)
	w.file("reflectory.yaml", strings.Replace(string(before), "other", "scripted", 1))
	code, out, errs := w.run(t.Context(), "doctor", "llm", "--write", "--json")
	var result modelExamination
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != exitPassed || !slices.Equal(result.Refuses, []string{"seed"}) || result.Tokens < 7000 || result.Model != "scripted" || result.File != file {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if now, _ := os.ReadFile(file); !strings.HasSuffix(string(now), "/v1\n    dialect: {refuses: [seed]}\n") || !strings.Contains(string(now), "# mine") {
		t.Errorf("it is\n%s", now)
	}
	if _, shown, _ := w.run(t.Context(), "config", "show"); !strings.Contains(shown, "llm_refuses") {
		t.Errorf("config shows %s", shown)
	}
}

// server is the endpoint. A model that it doesn't know is missing.
func (e *endpointWith) server(t *testing.T) *llmtest.Server {
	server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
		var sent map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &sent); err != nil {
			t.Error(err)
		}
		if e.fault != nil {
			if reply, own := e.fault(r, sent); own {
				return reply
			}
		}
		if r.Model != "scripted" {
			return llmtest.Status(404)
		}
		return e.reply(r)
	})
	t.Cleanup(server.Close)
	return server
}

// Each fault is named, and with the dialect that is written the workflow passes that couldn't
// without it.
func TestDoctorLLM_NamesEachFaultAndWritesWhatHelps(t *testing.T) {
	coretest.Long(t)
	for name, e := range coretest.Some(4, faultyEndpoints()) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			server := e.server(t)
			w.allow(server)
			text := strings.ReplaceAll(modelWorkflow, "URL", server.URL)
			file := w.file("w.yaml", text)
			if code, out, errs := w.run(t.Context(), "run", file); code != e.before {
				t.Errorf("before: exit %d, want %d: %s%s", code, e.before, out, errs)
			}
			code, out, errs := w.run(t.Context(), "doctor", "llm", file, "--write")
			if code != e.exit {
				t.Errorf("exit %d, want %d", code, e.exit)
			}
			report := strings.Join(strings.Fields(out), " ")
			for _, want := range e.says {
				if !strings.Contains(report, want) {
					t.Errorf("it doesn't say %q", want)
				}
			}
			want := text
			if e.refuses != "" {
				want = strings.Replace(text, "    timeout: 5s\n", "    timeout: 5s\n    dialect: {refuses: ["+e.refuses+"]}\n", 1)
			}
			if now, err := os.ReadFile(file); err != nil || string(now) != want {
				t.Errorf("%v, the file is\n%s", err, now)
			}
			if t.Failed() {
				t.Fatalf("it says:\n%s%s", out, errs)
			}
			if e.refuses != "" {
				if code, out, errs := w.run(t.Context(), "run", file); code != exitPassed {
					t.Errorf("after: exit %d: %s%s", code, out, errs)
				}
			}
		})
	}
}
