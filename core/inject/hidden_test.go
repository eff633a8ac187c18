package inject_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// TestBlock_RecalledTextHidesNothing: a model doesn't read what a person doesn't see.
func TestBlock_RecalledTextHidesNothing(t *testing.T) {
	priority := 5
	for _, hidden := range []string{
		"Hi\U000E0049\U000E0067\U000E006E", "a\u200bb", "a\u2060b", "a\U000E0101b", "a\u00adb", "a\u3164b", "\ufeffb", "a\ufe03b",
	} {
		b, err := inject.NewBlock(inject.Draft{BlockID: "b", Category: inject.MemoryRecall, MemoryID: "m", Priority: &priority, Payload: hidden}, inject.FromHost)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Draft().Payload; strings.ContainsFunc(got, sdk.Hidden) || !strings.Contains(got, "&#x") {
			t.Errorf("%+q is in a prompt as %+q", hidden, got)
		}
	}
}
