package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestResult_HidesNothing: an agent's model reads in a result what a person reads, in the text, in
// the structured content and in a resource; a program that reads the memory gets its exact text.
func TestResult_HidesNothing(t *testing.T) {
	const flag = "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F" // of Wales
	w := operationtest.New(t)
	session := overHTTP(t, newServerOf(t, w), All, core.Operator(operationtest.Agent))
	for hidden, want := range map[string]string{
		"quay Hi\U000E0049\U000E0067":  "quay Hi[U+E0049][U+E0067]",
		"a\u200bb \"c\" \\u200b":       "a[U+200B]b \"c\" \\u200b",
		"a\u2060b <c>":                 "a[U+2060]b <c>",
		"so\u00adft\nline":             "so[U+00AD]ft\nline",
		"Ka\U000E0101ji":               "Ka[U+E0101]ji",
		"a\ufe03b":                     "a[U+FE03]b",
		"c\ufeffb":                     "c[U+FEFF]b",
		"a\u3164b":                     "a[U+3164]b",
		flag + "\U000E0041 lighthouse": flag + "[U+E0041] lighthouse",
		"👩\u200d🔬 ❤\ufe0f می\u200cخواهم ok": "👩\u200d🔬 ❤\ufe0f می\u200cخواهم ok",
	} {
		observed := operationtest.Try[core.Memory](w, "memory_observe", &core.ObserveRequest{
			Namespace: operationtest.Here, Content: hidden, Attributes: core.Attributes{Tags: []string{"kept"}, Metadata: json.RawMessage(`{"raw": ` + escaped(hidden) + `, ` + escaped(hidden) + `: 1}`)},
		})
		exact := operationtest.Try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: observed.ID})
		if exact.Content != hidden {
			t.Errorf("a program reads %+q as %+q", hidden, exact.Content)
		}
		shown := func(what, text string) {
			t.Helper()
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatalf("%s of %+q: %v", what, hidden, err)
			}
			whole := allTexts(value)
			if !strings.Contains(whole, want) || sdk.Visible(whole) != whole {
				t.Errorf("%s: %+q isn't in %+q", what, want, whole)
			}
		}
		for tool, args := range map[string]any{
			"memory_get": map[string]any{"id": observed.ID},
			"retrieve":   map[string]any{"namespace": operationtest.Here, "query": hidden, "limit": 50, "session": "chat"},
		} {
			got := call(t, session, tool, args)
			shown(tool, got.text)
			shown(tool+" as JSON", got.structured)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "reflectory://memory/" + observed.ID})
		if err != nil {
			t.Fatal(err)
		}
		shown("the resource", read.Contents[0].Text)
		refused := call(t, session, "memory_get", map[string]any{"id": hidden})
		if refused.code(t); sdk.Visible(refused.text) != refused.text {
			t.Errorf("refused: %+q", refused.text)
		}
	}
}

// escaped is a text as JSON in which each character but ASCII's is an escape.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range string(jsontext.MustEncode(text)) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04X", unit)
		}
	}
	return b.String()
}

// allTexts are the texts in a JSON value, names too.
func allTexts(value any) string {
	switch v := value.(type) {
	case string:
		return v + "\n"
	case []any:
		all := ""
		for _, e := range v {
			all += allTexts(e)
		}
		return all
	case map[string]any:
		all := ""
		for name, e := range v {
			all += name + "\n" + allTexts(e)
		}
		return all
	}
	return ""
}
