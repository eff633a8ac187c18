//go:build cgo && lua54

package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

// onTerminal runs a command line with a terminal of so many columns for its output, and
// returns what it shows.
func (w *world) onTerminal(t *testing.T, columns uint16, line string) (code int, shown string) {
	t.Helper()
	person, program := terminal(t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(person) // ends with an error, since nobody is there any more
		read <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	code = runProgram(t.Context(), splitWords(line), strings.NewReader(""), program, program, func(k string) string { return w.env[k] })
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	return code, <-read
}

// listings are the commands that print tables, with rows in the world of the test.
var listings = []string{
	"runs list", "memory list", "memory namespaces", "memory pending", "plugin list", "plugin inspect reflectory/lua-eval",
	"knowledge list", "governance get NS", "governance explain NS", "policy check policies", "policy describe", "policy describe retention", "workflow describe", "workflow describe reflection.loop", "plugin describe",
	"policy explain retention --namespace NS", "audit show", "audit show run/RUN", "audit show --types", "config show", "status",
	"memory recall words --namespace NS", "store check", "runs show RUN", "memory explain MEMORY", "audit verify",
}

// longWorld has a run, memories and a namespace with names as long as they may be.
func longWorld(t *testing.T) (w *world, lines []string) {
	t.Helper()
	w = newWorld(t)
	t.Chdir(w.dir)
	ns := "team/" + strings.Repeat("long-", 20) + "namespace"
	w.file("workflow-of-a-"+strings.Repeat("very-", 12)+"long-name.yaml", "name: "+strings.Repeat("w", 100)+"\nnodes: [{name: n, action: reflection.loop, with: {generator: {run: 'return \"a\"'}, evaluator: {run: return true}}}]\n")
	out, _ := w.ok("run", "workflow-of-a-"+strings.Repeat("very-", 12)+"long-name.yaml", "--json")
	run := fieldOf(t, out, "run_id")
	title := strings.Repeat("a long title with many words and 字字字 ", 4)
	out, _ = w.ok("memory", "observe", "--namespace", ns, "--title", strings.TrimSpace(title), "--content", "words "+title, "--json")
	memory := fieldOf(t, out, "id")
	w.ok("memory", "observe", "--namespace", ns, "--title", "short", "--content", "other words")
	w.ok("governance", "set", ns, "max_reflection_depth=2")
	if err := os.Mkdir("policies", 0o700); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("NS", ns, "MEMORY", memory, "RUN", run)
	for _, line := range listings {
		lines = append(lines, words.Replace(line))
	}
	return w, lines
}

// fieldOf is a member of a JSON object.
func fieldOf(t *testing.T, object, name string) string {
	t.Helper()
	_, after, found := strings.Cut(object, `"`+name+`": "`)
	value, _, _ := strings.Cut(after, `"`)
	if !found {
		t.Fatalf("no %s in %s", name, object)
	}
	return value
}

func TestTables_FitTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Setenv("COLUMNS", "")
	w, lines := longWorld(t)
	wider := 0
	for _, line := range lines {
		code, narrow := w.onTerminal(t, 80, line)
		if code != exitPassed {
			t.Errorf("%s: exit %d: %s", line, code, narrow)
		}
		narrow, _, _ = strings.Cut(narrow, "The default, default/") // a file, as it is
		for l := range strings.SplitSeq(narrow, "\n") {
			if l = afterProgress(l); term.WidthOf(l) > 80 && !isOneWord(l) {
				t.Errorf("%s: %d columns: %q", line, term.WidthOf(l), l)
			}
		}
		_, wide := w.onTerminal(t, 200, line)
		if strings.Count(wide, "…") < strings.Count(narrow, "…") {
			wider++
		}
		piped, _ := w.ok(splitWords(line)...)
		if strings.Contains(piped, "…") && !strings.Contains(line, "recall") {
			t.Errorf("%s is cut in a pipe: %s", line, piped)
		}
	}
	if wider < 5 {
		t.Errorf("only %d listings show more where there is more room", wider)
	}
}

// isOneWord reports whether a line is a name, a path for example, that isn't broken, after
// no more than a label.
func isOneWord(line string) bool {
	words := strings.Fields(line)
	return len(words) <= 2 && term.WidthOf(words[len(words)-1])+15 > 80
}

// afterProgress is what remains of a line once what was shown for a while is gone.
func afterProgress(line string) string {
	if at := strings.LastIndex(line, "\x1b[K"); at >= 0 {
		line = line[at+len("\x1b[K"):]
	}
	return strings.TrimPrefix(line, "\r")
}

// Ids that are cut still name their rows: commands take their beginnings.
func TestTables_IDsThatAreCutStillNameTheirRows(t *testing.T) {
	t.Setenv("TERM", "xterm")
	w, _ := longWorld(t)
	_, shown := w.onTerminal(t, 80, "memory list --namespace team --subtree")
	rows := strings.Split(strings.TrimSpace(shown), "\n")[1:]
	if len(rows) != 2 {
		t.Fatalf("shows %q", shown)
	}
	for _, row := range rows {
		id, _, cut := strings.Cut(strings.Fields(row)[0], "…")
		if !cut {
			t.Errorf("the id of %q is whole", row)
		}
		w.ok("memory", "get", id)
	}
}

func TestTables_HeadersAndErrorsAreColouredOnATerminalAlone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	w := newPlainWorld(t)
	if _, shown := w.onTerminal(t, 80, "config show"); !strings.HasPrefix(shown, "\x1b[1mSETTING") {
		t.Errorf("the header: %q", shown)
	}
	if _, shown := w.onTerminal(t, 80, "login"); !strings.Contains(shown, "error:\x1b[0m reflectory has") || !strings.Contains(shown, "hint:\x1b[0m ") {
		t.Errorf("the error: %q", shown)
	}
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		t.Setenv(name, value)
		for _, line := range []string{"login", "config show"} {
			if _, shown := w.onTerminal(t, 80, line); strings.Contains(shown, "\x1b") {
				t.Errorf("%s=%s: %q", name, value, shown)
			}
		}
		t.Setenv(name, "")
	}
}

// A long cause is broken between words on a terminal and whole elsewhere; a command that
// a hint names stays on one line, to be pasted.
func TestMessages_AreBrokenBetweenWordsOnATerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	w := newPlainWorld(t)
	const line = "runs show nothing-of-that-name-is-here and-more-than-that"
	_, whole := w.line(exitUsage, "", line)
	_, shown := w.onTerminal(t, 40, line)
	if strings.Join(strings.Fields(shown), " ") != strings.Join(strings.Fields(whole), " ") {
		t.Errorf("shows %q of %q", shown, whole)
	}
	for l := range strings.SplitSeq(shown, "\n") {
		if term.WidthOf(l) > 40 && !strings.HasPrefix(l, "  reflectory ") {
			t.Errorf("%d columns: %q", term.WidthOf(l), l)
		}
	}
}
