package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/jsontext"
)

// rewritten is a JSON value with each whole number in another form, such as 5.0 for 5, and how many
// there are.
func rewritten(value any, form string) (any, int) {
	sum := 0
	switch v := value.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return json.Number(v.String() + form), 1
		}
	case map[string]any:
		for key, item := range v {
			other, n := rewritten(item, form)
			v[key], sum = other, sum+n
		}
	case []any:
		for i, item := range v {
			other, n := rewritten(item, form)
			v[i], sum = other, sum+n
		}
	}
	return value, sum
}

// TestDreamPlan_TakesAFilesWholeNumbersAsIntegers, however another program wrote them; other numbers
// are refused.
func TestDreamPlan_TakesAFilesWholeNumbersAsIntegers(t *testing.T) {
	w := newWorld(t)
	w.ok("memory", "observe", "--namespace", "team", "--id", "waits-01", "--occurred-at", "2025-01-01T00:00:00Z", "--content", "It waits 30 s.")
	w.ok("memory", "observe", "--namespace", "team", "--id", "waits-02", "--occurred-at", "2025-01-02T00:00:00Z", "--content", "it waits thirty seconds")
	for _, c := range []struct {
		form  string
		taken bool
	}{{".5", false}, {"e-9", false}, {"e400", false}, {".0", true}, {"e0", true}, {"E+0", true}, {".000e0", true}, {"0e-1", true}} {
		plan := w.file("plan.json", "")
		w.ok("dream", "plan", "team", "--to", plan)
		text, err := os.ReadFile(plan)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		other, n := rewritten(value, c.form)
		if n == 0 {
			t.Fatalf("the plan has no whole number: %s", text)
		}
		code, out, said := w.run(t.Context(), "dream", "run", "--plan", w.file("other.json", string(jsontext.MustEncode(other))))
		if (code == 0) != c.taken || !c.taken && !strings.Contains(said, "is no plan") {
			t.Errorf("%s: exit %d: %s%s", c.form, code, out, said)
		}
	}
}
