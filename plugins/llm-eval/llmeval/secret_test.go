package llmeval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spelled draws the key in one of the forms that JSON allows, sometimes with one
// character missing.
func spelled(key string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		missing := rapid.IntRange(-len(key), len(key)-1).Draw(t, "missing")
		for i := range len(key) {
			forms := []string{key[i : i+1], fmt.Sprintf(`\u%04x`, key[i]), fmt.Sprintf(`\u%04X`, key[i])}
			if key[i] == '/' {
				forms = append(forms, `\/`)
			}
			if form := rapid.SampledFrom(forms).Draw(t, "form"); i != missing {
				b.WriteString(form)
			}
		}
		return b.String()
	})
}

func TestNoTextKeepsTheKey(t *testing.T) {
	const key = "ab/Zabc"
	between := rapid.SampledFrom([]string{"", " ", "a", "ab", `\\`, `\n`, "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := between.Draw(t, "before") + spelled(key).Draw(t, "one") + between.Draw(t, "between") + spelled(key).Draw(t, "two")
		scrubbed := secret(key).scrub(text)
		if strings.Contains(scrubbed, key) {
			t.Fatalf("%q becomes %q", text, scrubbed)
		}
		var value string
		if json.Unmarshal([]byte(`"`+scrubbed+`"`), &value) == nil && strings.Contains(value, key) {
			t.Fatalf("%q becomes %q, which is read as %q", text, scrubbed, value)
		}
	})
}

func TestChunksAreScrubbedAsTheirWhole(t *testing.T) {
	const key = "aab/aabc"
	part := rapid.SampledFrom([]string{key, key, "a", "aab", "aab/aab", "c", "x"})
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
		var shown strings.Builder
		w := scrubber{secret: key, emit: func(chunk string) { shown.WriteString(chunk) }}
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 5)).Draw(t, "chunk")
			w.write(rest[:n])
			rest = rest[n:]
		}
		w.flush()
		if want := secret(key).scrub(whole); shown.String() != want {
			t.Fatalf("%q is shown as %q, not %q", whole, shown.String(), want)
		}
	})
}
