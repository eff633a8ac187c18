package inject_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// TestBlock_RecalledTextHidesNothing: a model doesn't read what a person doesn't see, also where the
// text comes quoted already.
func TestBlock_RecalledTextHidesNothing(t *testing.T) {
	priority := 5
	for _, hidden := range []string{
		"Hi\U000E0049\U000E0067\U000E006E", "a\u200bb", "a\u2060b", "a\U000E0101b", "a\u00adb", "a\u3164b", "\ufeffb", "a\ufe03b",
	} {
		for _, payload := range []string{hidden, `<memory id="m">` + hidden + `</memory>`} {
			b, err := inject.NewBlock(inject.Draft{BlockID: "b", Category: inject.MemoryRecall, MemoryID: "m", Priority: &priority, Payload: payload}, inject.FromHost)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Draft().Payload; strings.ContainsFunc(got, sdk.Hidden) || !strings.Contains(got, "&#x") {
				t.Errorf("%+q is in a prompt as %+q", payload, got)
			}
			again, err := inject.NewBlock(b.Draft(), inject.FromHost)
			if err != nil || again.Draft().Payload != b.Draft().Payload {
				t.Errorf("%+q: made again it is %+q, %v", payload, again.Draft().Payload, err)
			}
		}
	}
}
