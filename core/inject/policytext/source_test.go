package policytext_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/policytext"
	"github.com/reflectory/reflectory/sdk"
)

// TestRead_TakesWhatItSays: defaults, and every key.
func TestRead_TakesWhatItSays(t *testing.T) {
	p, err := policytext.Read("dir/no-keys.yaml", "payload: Never.\n")
	if err != nil || p.Block.BlockID != "no-keys" || p.Block.Category != inject.PolicyText || *p.Block.Priority != 1000 || !p.Block.Anchor || p.Namespaces != nil {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = policytext.Read("a.yaml", "block_id: b\ncategory: safety\npriority: -3\nformat: xml\npayload: <r/>\nnamespaces: [team/**]\n")
	if err != nil || p.Block.BlockID != "b" || p.Block.Category != inject.Safety || *p.Block.Priority != -3 || p.Block.Format != inject.XML || len(p.Namespaces) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestRead_RefusesAllThatIsWrong at once, with its place.
func TestRead_RefusesAllThatIsWrong(t *testing.T) {
	_, err := policytext.Read("a.yaml", "category: workflow\npriority: high\nnamespaces: [\"a//b\"]\npayloads: x\n")
	if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != policytext.InvalidReason {
		t.Fatal(err)
	}
	for _, part := range []string{"category must be", "priority must be an integer", "no pattern of namespaces", `needs the key "payload"`, "payloads"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q isn't said in %v", part, err)
		}
	}
	for _, text := range []string{"payload: ''\n", "payload: <a>\nformat: xml\n", "payload: [a]\n", "- a\n", "payload: a\nformat: html\n", "payload: a\npriority: 1.5\n", "payload: a\nblock_id: \"b\\nc\"\n"} {
		if _, err := policytext.Read("a.yaml", text); sdk.ReasonOf(err) != policytext.InvalidReason {
			t.Errorf("%q: %v", text, err)
		}
	}
}
