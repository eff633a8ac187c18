package judges

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/evaluators.md")

// table compares a table of docs/evaluators.md with what happened, or writes it.
func table(t *testing.T, name, head string, rows []string) {
	t.Helper()
	if t.Failed() {
		return
	}
	const file = "../../docs/evaluators.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), "<!-- "+name+": make test-judges writes this table -->\n\n")
	was, after, ends := strings.Cut(rest, "\n<!-- end of "+name+" -->")
	if !begins || !ends {
		t.Fatalf("%s has no place for the table %s", file, name)
	}
	is := head + strings.Join(rows, "")
	switch {
	case was == is:
	case *update:
		whole := strings.Join([]string{before, "<!-- " + name + ": make test-judges writes this table -->\n\n", is, "\n<!-- end of " + name + " -->", after}, "")
		if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: the table %s isn't what happened; write it with -update:\n%s", file, name, is)
	}
}
