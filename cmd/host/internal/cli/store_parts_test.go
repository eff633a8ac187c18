package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestEachPartChecksTheStoreAndWhatIsImported has, for each part of the store, a
// record that it alone can know is wrong: a check tells it, and an import of it is
// refused and leaves nothing.
func TestEachPartChecksTheStoreAndWhatIsImported(t *testing.T) {
	coretest.Long(t)
	for _, c := range []struct{ part, key, value string }{
		{"runs", "run-content/nobody", `{}`},
		{"journal", "event-head/policy", `{"seq":1,"hash":"sha256:0"}`},
		{"governance", "governance/n", `[]`},
		{"memories", "memory/fact-0001", `{}`},
		{"evidence", "evidence-tool/x", `{}`},
		{"decisions", "decision/nobody", `{}`},
	} {
		t.Run(c.part, func(t *testing.T) {
			w := newPlainWorld(t)
			w.line(exitPassed, "", "store check")
			export := `{"reflectory_export":1,"store_format":2}` + "\n" +
				`{"key":"` + c.key + `","value":` + c.value + "}\n" + `{"end":true,"records":1}` + "\n"
			out, _ := w.line(exitFailure, export, "store import - --json")
			wantIn(t, out, `"code": "import_refused"`, `"part": "`+c.part+`"`)
			w.line(exitPassed, "", "store check")

			damage(t, c.key, c.value)
			out, _ = w.line(exitNotValid, "", "store check --json")
			var checked operation.StoreChecked
			if err := json.Unmarshal([]byte(out), &checked); err != nil || checked.Valid || checked.Count < 1 || len(checked.Problems) != checked.Count {
				t.Fatalf("%v: %s", err, out)
			}
			for _, p := range checked.Problems {
				if p.Part != c.part || p.Message == "" || !strings.HasPrefix(c.key, p.Key) && !strings.HasPrefix(p.Key, "event/") {
					t.Errorf("found %+v", p)
				}
			}
			out, _ = w.line(exitNotValid, "", "store check")
			wantIn(t, out, c.part+": ")
		})
	}
}

// FORMAT.md has the rows of the kinds as they are declared, which -update writes, and what it marks
// as derived is what the parts rebuild.
func TestTheFormatMarksWhatIsDerived(t *testing.T) {
	page, err := os.ReadFile("../../../../core/store/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := host.Checkers(mem.Open())
	if err != nil {
		t.Fatal(err)
	}
	lines, wrong := strings.Split(string(page), "\n"), ""
	for _, part := range parts {
		if declared, ok := part.(interface{ Rows() []string }); ok {
			lines, wrong = withRows(t, lines, declared.Rows(), wrong)
		}
	}
	if wrong != "" && flag.Lookup("update").Value.String() != "true" {
		t.Fatalf("core/store/FORMAT.md doesn't have the row of %s as it is declared: run this test with -update", wrong)
	}
	text := strings.Join(lines, "\n")
	coretest.Golden(t, "../../../../../core/store/FORMAT.md", text)
	var marked, derived []string
	for _, row := range regexp.MustCompile("(?m)^\\| ▵ `([a-z-]+/)`").FindAllStringSubmatch(text, -1) {
		marked = append(marked, row[1])
	}
	for _, part := range parts {
		if rebuilder, ok := part.(core.Rebuilder); ok {
			derived = append(derived, rebuilder.Derived()...)
		}
	}
	slices.Sort(marked)
	slices.Sort(derived)
	if diff := cmp.Diff(marked, derived); diff != "" {
		t.Errorf("marked (-), derived (+):\n%s", diff)
	}
}

// withRows are the lines of a page with the declared rows of a part: each in the place of the row
// with its prefix or, if there is none, after the row before it. wrong is the last prefix whose row
// the page didn't have so.
func withRows(t *testing.T, lines, rows []string, wrong string) ([]string, string) {
	t.Helper()
	before := -1
	for _, row := range rows {
		prefix := strings.Split(row, "`")[1]
		if !regexp.MustCompile("` [^|].* \\| .* \\|$").MatchString(row) {
			t.Fatalf("%s has no Doc, such as \"id | what it is\"", prefix)
		}
		at := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(strings.TrimPrefix(line, "| ▵ "), "`"+prefix+"` ") || strings.HasPrefix(line, "| `"+prefix+"` ")
		})
		switch {
		case at < 0 && before < 0:
			t.Fatalf("core/store/FORMAT.md has no row of %s: put it where it belongs", prefix)
		case at < 0:
			at, wrong = before+1, prefix
			lines = slices.Insert(lines, at, row)
		case lines[at] != row:
			lines[at], wrong = row, prefix
		}
		before = at
	}
	return lines, wrong
}

// TestACheckListsSoManyProblemsAndCountsAll: a store that is damaged throughout.
func TestACheckListsSoManyProblemsAndCountsAll(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "store check")
	tampered(t, func(tx core.Tx, _ func(byte) []byte) (err error) {
		for i := range operation.MaxProblems + 2 {
			err = core.JoinErrors(err, tx.Put(fmt.Appendf(nil, "run-content/nobody-%d", i), []byte("{}")))
		}
		return err
	})
	out, _ := w.line(exitNotValid, "", "store check --json")
	var checked operation.StoreChecked
	if err := json.Unmarshal([]byte(out), &checked); err != nil || checked.Count != operation.MaxProblems+2 || len(checked.Problems) != operation.MaxProblems {
		t.Errorf("%v: %d problems, of which %d are listed", err, checked.Count, len(checked.Problems))
	}
}

// TestAnExportThatFailsLeavesNothing: there is a folder at its path.
func TestAnExportThatFailsLeavesNothing(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace n --content x")
	if err := os.MkdirAll(filepath.Join("taken", "by"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, _ := w.line(exitFailure, "", "store export taken --json")
	wantIn(t, out, `"code": "export_io"`, `"hint"`)
	if left, err := filepath.Glob("taken.*"); err != nil || len(left) != 0 {
		t.Errorf("%v, %q is left", err, left)
	}
}

// TestTheJournalIsShownFromItsEnd: what is newest comes without a number.
func TestTheJournalIsShownFromItsEnd(t *testing.T) {
	w := newPlainWorld(t)
	for _, namespace := range []string{"n", "n", "n2"} {
		w.line(exitPassed, "", "memory observe --content x --namespace "+namespace)
	}
	for line, want := range map[string]uint64{"": 4, " --from 1": 1} { // each observe has an event of its records
		shown := w.parsed(exitPassed, "audit show namespace/n --limit 1"+line)
		entries, _ := shown["items"].([]any)
		if len(entries) != 1 || within(shown, "items.0.seq") != float64(want) {
			t.Errorf("%q shows %v, want entry %d", line, entries, want)
		}
	}
	for limit, more := range map[int]bool{1: true, 100: false} {
		shown := w.parsed(exitPassed, fmt.Sprint("audit show --limit ", limit))
		if streams, _ := shown["items"].([]any); (shown["next_page_token"] != nil) != more || more && len(streams) != limit {
			t.Errorf("a page of %d streams: %v", limit, shown)
		}
	}
}
