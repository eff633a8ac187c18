package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestLongTextsAreRefused(t *testing.T) {
	p := plugin()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	limit, err := p.Evaluator(t.Context(), json.RawMessage(`{"max":3}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{`"three short words"`: true, `"these are four words"`: false} {
		resp, err := limit.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(text)})
		if err != nil || resp.Verdict.Valid != valid {
			t.Errorf("%s: %+v, %v", text, resp, err)
		}
	}
}

func TestAWrongConfigIsRefused(t *testing.T) {
	if _, err := wordLimit(t.Context(), json.RawMessage(`{"max":0}`)); sdk.ReasonOf(err) != "config_invalid" {
		t.Errorf("got %v", err)
	}
}

// The authors' guide shows this program's code.
func TestTheGuideShowsThisCode(t *testing.T) {
	guide, err := os.ReadFile("../../sdk/AUTHORING.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, snippet, _ := strings.Cut(string(code), "// wordLimit refuses")
	if snippet == "" || !strings.Contains(string(guide), "// wordLimit refuses"+snippet) {
		t.Error("sdk/AUTHORING.md and main.go differ")
	}
}
