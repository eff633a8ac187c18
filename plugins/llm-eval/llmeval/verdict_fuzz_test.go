package llmeval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{
		`{"pass":true,"score":0.5,"feedback":"x"}`, `{"pass":false}`, `{"pass":true,"pass":false}`, "```json\n{\"pass\":true}\n```",
		`so {"pass":true} then`, `<think>{"pass":true}</think>{"pass":false}`, `{"pass":true,"score":1e999}`, `{"pass":true,"score":NaN}`,
		`{"p\u0061ss":true}`, `{"pass":true,"feedback":[1,{"a":"\ud800"}]}`, `[{"pass":true}]`, `not valid`, `{"pass":true`, "{\"pass\":true,\"feedback\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text}}}})
		if err != nil {
			t.Fatal(err)
		}
		read, err := modeltext.Read(modeltext.ChatCompletions, body)
		if err != nil {
			t.Fatal(err)
		}
		r := reply{Reply: read}
		v := r.verdict(1, nil)
		if math.IsNaN(v.Score) || v.Score < 0 || v.Score > 1 {
			t.Errorf("score %v", v.Score)
		}
		if v.Valid && !strings.Contains(text, "true") {
			t.Error("a pass without true")
		}
		if v.Valid == (len(v.Errors) > 0) {
			t.Errorf("valid %v with %d errors", v.Valid, len(v.Errors))
		}
		if utf8.RuneCountInString(v.Feedback) > maxFeedback+1 {
			t.Error("unbounded feedback")
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	})
}
