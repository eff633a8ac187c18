package llmeval_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestPrompt_HidesNothing: whatever a config's texts were rendered from, the model reads what a
// person does, and so does who reads the recorded prompt.
func TestPrompt_HidesNothing(t *testing.T) {
	const flag = "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F" // of Scotland
	for text, want := range map[string]string{
		"Hi\U000E0049\U000E0067": "Hi[U+E0049][U+E0067]",
		"a\u200bb":               "a[U+200B]b",
		"a\u2060b":               "a[U+2060]b",
		"so\u00adft":             "so[U+00AD]ft",
		"a\U000E0101":            "a[U+E0101]",
		"a\ufe03b":               "a[U+FE03]b",
		"\ufeffb":                "[U+FEFF]b",
		"a\u3164b":               "a[U+3164]b",
		flag + "\U000E0041":      flag + "[U+E0041]",
		"👩\u200d🔬 ❤\ufe0f می\u200cخواهم": "👩\u200d🔬 ❤\ufe0f می\u200cخواهم",
	} {
		for name, config := range map[string]object{
			"prompt":   {"prompt": text},
			"system":   {"prompt": "x", "system": text},
			"messages": {"messages": []object{{"role": "user", "content": "x"}, {"role": "assistant", "content": text}, {"role": "user", "content": "y"}}},
		} {
			server := llmtest.New(t, llmtest.Text("ok").Always())
			g := newGenerator(t, configFor(server.URL, config))
			for range 2 { // a prepared config is used again
				res, err := g.Generate(t.Context(), &sdk.GenerateRequest{})
				if err != nil {
					t.Fatal(err)
				}
				checkSent(t, name, want, server, res.Metadata)
			}
		}
		for name, judged := range map[string]struct {
			config object
			output string
		}{
			"a judge's prompt":  {object{"prompt": text}, `"x"`},
			"a judge's output":  {nil, string(mustJSON(text))},
			"a judge's object":  {nil, string(mustJSON(object{"of": []string{text}}))},
			"a judge's context": {object{"context": object{"task": text}}, `"x"`},
			"a judge's system":  {object{"system": text}, `"x"`},
			"a judge's example": {object{"examples": []object{{"output": text, "pass": true}}}, `"x"`},
		} {
			server := llmtest.New(t, llmtest.Text(`{"pass":true}`))
			checkSent(t, name, want, server, evaluate(t, newJudge(t, configFor(server.URL, judged.config)), judged.output).Metadata)
		}
	}
}

// checkSent checks the last request, and what is recorded of it.
func checkSent(t *testing.T, name, want string, server *llmtest.Server, metadata map[string]string) {
	t.Helper()
	all := server.Requests()
	var texts []string
	for _, m := range all[len(all)-1].Messages {
		texts = append(texts, m.Content)
	}
	if sent := strings.Join(texts, "\n"); !strings.Contains(sent, want) || sdk.Visible(sent) != sent {
		t.Errorf("%s: %+q isn't in %+q", name, want, sent)
	}
	if recorded := metadata[sdk.MetadataPrompt]; !strings.Contains(recorded, want) {
		t.Errorf("%s: %+q isn't recorded: %+q", name, want, recorded)
	}
}
