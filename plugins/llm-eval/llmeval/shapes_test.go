package llmeval_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// TestShapes_AreRead: an answer in each shape that endpoints document is the output, without its thought, and is
// counted.
func TestShapes_AreRead(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/endpoints/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	shapes, err := llmtest.Shapes(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"Ollama", "vLLM", "LM Studio", "LiteLLM", "OpenRouter", "Mistral", "DeepSeek", "Qwen", "Groq"} {
		if !strings.Contains(string(text), "\n== "+of) {
			t.Errorf("no shape is %s's", of)
		}
	}
	for _, s := range shapes {
		server := llmtest.New(t, s.Reply)
		res := generate(t, configIn(s.Path, server.URL, object{"prompt": "p"}))
		var got string
		if json.Unmarshal(res.Output, &got) != nil || got != s.Gives || s.Thought != "" && strings.Contains(got, s.Thought) {
			t.Errorf("%s: %s", s.Name, res.Output)
		}
		if s.In > 0 && (res.Usage.TokensIn != s.In || res.Usage.TokensOut != s.Out) {
			t.Errorf("%s: %+v", s.Name, res.Usage)
		}
		if len(server.Requests()) != 1 {
			t.Errorf("%s: asked %d times", s.Name, len(server.Requests()))
		}
	}
}
