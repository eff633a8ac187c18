//go:build cgo && lua54

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core/store/pebble"
)

// says reports whether an offer says what is at its position, or why nothing is offered.
func (o offer) says() bool { return o.values != nil || len(o.files) > 0 || o.folder || o.free != "" }

// Each argument and each flag's value of every command has its row in the tables, and no
// row is of what isn't there.
func TestCompletion_KnowsEveryPosition(t *testing.T) {
	used := map[string]bool{}
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "reflectory ")
		used[path] = true
		for _, word := range operands(c) {
			row := argumentRow(path, word)
			used[row] = true
			if !argumentOffers[row].says() {
				t.Errorf("%s %s: add a row for %s to argumentOffers in complete_table.go", path, word, row)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			used[f.Name], used[path+" --"+f.Name] = true, true
			if f.Value.Type() != "bool" && !flagOffer(path, f.Name).says() {
				t.Errorf("%s --%s: add a row for %s to flagOffers in complete_table.go", path, f.Name, f.Name)
			}
		})
	})
	for row := range argumentOffers {
		if !used[row] {
			t.Errorf("there is no argument %s", row)
		}
	}
	for flag := range flagOffers {
		if !used[flag] {
			t.Errorf("there is no flag %s", flag)
		}
	}
}

// complete is what the program answers a shell, however slow the machine is.
func (w *world) complete(t *testing.T, line ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(k string) string { return w.env[k] }, completionTime: time.Hour}
	if code := app.Run(t.Context(), append([]string{"__complete"}, line...)); code != exitPassed {
		t.Fatalf("%q: exit %d: %s", line, code, &errs)
	}
	return out.String()
}

// offered are the values with which a command line may continue, and cobra's directive.
func (w *world) offered(t *testing.T, line ...string) (values []string, directive string) {
	t.Helper()
	out := w.complete(t, line...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range lines[:len(lines)-1] {
		value, _, _ := strings.Cut(l, "\t")
		values = append(values, value)
	}
	return values, lines[len(lines)-1]
}

func TestCompletion_OffersWhatExists(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.dir)
	w.file("w.yaml", "name: my-flow\nnodes: [{name: n, action: reflection.loop, with: {generator: {run: 'return \"a\"'}, evaluator: {run: return true}}}]\n")
	out, _ := w.ok("run", "w.yaml", "--json")
	run := fieldOf(t, out, "run_id")
	out, _ = w.ok("memory", "observe", "--namespace", "team/mail", "--title", "the title", "--content", "words", "--json")
	memory := fieldOf(t, out, "id")
	w.ok("memory", "recall", "words", "--namespace", "team/mail", "--session", "s-one")
	for line, want := range map[string]string{
		"run ":                                  "yaml",
		"resume ":                               run,
		"replay ":                               run,
		"runs show " + run[:4]:                  run,
		"runs list --status pas":                "passed",
		"runs list --workflow ":                 "my-flow",
		"memory get ":                           memory,
		"memory explain ":                       memory,
		"memory link " + memory + " super":      "supersedes",
		"memory sweep team/":                    "team/mail",
		"memory list --namespace ":              "team/mail",
		"memory list --state a":                 "active",
		"memory recall x --session ":            "s-one",
		"memory observe --kind sem":             "semantic",
		"memory observe --file ":                "jsonl",
		"memory feedback --source ":             "tool",
		"memory feedback --used ":               memory,
		"memory reflect --source ":              memory,
		"gate explain ":                         memory,
		"governance get ":                       "team/mail",
		"governance set team/mail max_ref":      "max_reflection_depth=",
		"governance unset team/mail retention.": "retention.w_hit",
		"plugin inspect ":                       "reflectory/lua-eval",
		"plugin verify reflectory/lua-eval ":    "reflectory/schema-eval",
		"plugin new x --lang ":                  "python",
		"policy explain g":                      "gate",
		"audit show run/":                       "run/" + run,
		"store import ":                         "jsonl",
		"--sandbox ":                            "require",
		"status --log-level w":                  "warn",
		"memory ":                               "recall",
	} {
		words := strings.Split(line, " ")
		values, _ := w.offered(t, words...)
		if !strings.Contains("\n"+strings.Join(values, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%q offers %q, not %s", line, values, want)
		}
	}
	if out := w.complete(t, "memory", "get", ""); !strings.Contains(out, memory+"\tthe title\n") {
		t.Errorf("an id comes without its title: %s", out)
	}
	if out := w.complete(t, "runs", "show", ""); !strings.Contains(out, run+"\tmy-flow, passed\n") {
		t.Errorf("a run comes without its workflow: %s", out)
	}
	for line, want := range map[string]string{
		"policy check ": ":16", "memory observe --content ": ":4", "version ": ":4", "memory get x ": ":4", "run --input ": ":0", "governance set n ": ":6",
	} {
		if _, directive := w.offered(t, strings.Split(line, " ")...); directive != want {
			t.Errorf("%q: directive %s, want %s", line, directive, want)
		}
	}
}

// A key press makes no store, waits for none, and doesn't report what is wrong.
func TestCompletion_CostsNothing(t *testing.T) {
	w := newPlainWorld(t)
	for _, line := range []string{"memory get ", "runs show ", "memory list --namespace ", "plugin inspect ", "audit show "} {
		if values, directive := w.offered(t, strings.Split(line, " ")...); directive != ":4" || len(values) > 4 {
			t.Errorf("%q offers %q, %s", line, values, directive)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "data")); err == nil {
		t.Error("the data folder was made")
	}
	w.ok("memory", "observe", "--content", "one")
	db, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join(w.dir, "data", "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if values, _ := w.offered(t, "memory", "get", "", "--lock-wait", "10m"); len(values) > 0 {
		t.Errorf("of a store that is open elsewhere: %q", values)
	}
	if values, _ := w.offered(t, "memory", "get", "--lock-wait", "10m", ""); len(values) > 0 {
		t.Errorf("of a store that is open elsewhere: %q", values)
	}
	w.file("reflectory.yaml", "settings: {lock_wait: [")
	code, out, errs := w.run(t.Context(), "__complete", "memory", "get", "")
	if code != exitPassed || strings.Contains(out+errs, "error") {
		t.Errorf("with a broken configuration: exit %d, %s%s", code, out, errs)
	}
}

func TestCompletion_IsBounded(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--file", w.file("m.jsonl", strings.Repeat(`{"content": "one"}`+"\n", 150)))
	if values, _ := w.offered(t, "memory", "get", ""); len(values) != maxOffers {
		t.Errorf("offers %d", len(values))
	}
}
