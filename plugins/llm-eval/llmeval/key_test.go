package llmeval_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// withKey makes the plugin with a key in the variable TEST_KEY.
func withKey(t *testing.T, key string) sdk.Plugin {
	t.Helper()
	own := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(own.CloseIdleConnections)
	return llmeval.Plugin(llmeval.Options{Getenv: func(string) string { return key }, Transport: own})
}

// What stands where a key would be is sent, and isn't cut out of any text that has the same
// word.
func TestKey_OnlyASecretIsCutOut(t *testing.T) {
	for key, secret := range map[string]bool{
		"EMPTY": false, "none": false, "ollama": false, "test": false, "dummy": false, "sk-no-key-required": false, "x": false, "lm-studio": false,
		"your-api-key-here": false, "null": false, "sk-xxxxxxxxxxxxxxxxxxxx": false, "local-one": false, "a1b2c3d4e5f6g7h": false,
		"a1b2c3d4e5f6g7h8": true, "sk-proj-4fGh7kQ2mN8vB1cX": true,
	} {
		t.Run(key, func(t *testing.T) {
			said := "The queue is " + key + "."
			hidden := said
			if secret {
				hidden = "The queue is [redacted]."
			}
			server := llmtest.New(t,
				llmtest.Text(said), llmtest.Text(said), llmtest.Text(string(mustJSON(object{"a": said}))),
				llmtest.Text(string(mustJSON(object{"pass": false, "score": 0.5, "feedback": said}))), llmtest.Text(said),
				llmtest.Body(400, "application/json", string(mustJSON(object{"error": object{"message": said}}))))
			p := withKey(t, key)
			text := prepare(t, p.Generator, configFor(server.URL, object{"prompt": "p"}))
			value := prepare(t, p.Generator, configFor(server.URL, object{"prompt": "p", "parse": "json"}))
			wants := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s is %q, want %q", what, got, want)
				}
			}
			res, err := text.Generate(t.Context(), &sdk.GenerateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			wants("the output", string(res.Output), string(mustJSON(hidden)))
			if res, err = prepare(t, p.Generator, configFor(server.URL, object{"prompt": "Repeat " + key + "!"})).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
				t.Fatal(err)
			}
			wants("the prompt", res.Metadata[sdk.MetadataPrompt], sdk.EncodePrompt([]sdk.PromptMessage{{Role: "user", Content: "Repeat " + strings.TrimSuffix(strings.TrimPrefix(hidden, "The queue is "), ".") + "!"}}))
			if res, err = value.Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
				t.Fatal(err)
			}
			wants("the value", string(res.Output), string(mustJSON(object{"a": hidden})))
			wants("the feedback", evaluate(t, prepare(t, p.Evaluator, configFor(server.URL, nil)), `1`).Verdict.Feedback, hidden)
			var pieces strings.Builder
			if _, err = text.Generate(t.Context(), &sdk.GenerateRequest{Emit: func(piece string) { pieces.WriteString(piece) }}); err != nil {
				t.Fatal(err)
			}
			wants("what is shown", pieces.String(), hidden)
			_, err = text.Generate(t.Context(), &sdk.GenerateRequest{})
			if e := sdkError(t, err); !strings.HasSuffix(e.Message, hidden) {
				t.Errorf("the error is %q, want %q at its end", e.Message, hidden)
			}
			for _, r := range server.Requests() {
				wants("the key that is sent", r.Header.Get("Authorization"), "Bearer "+key)
			}
		})
	}
}
