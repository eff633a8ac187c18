//go:build cgo && lua54 && linux

package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// firstHour is a document that somebody follows in the first hour: its commands are run in their order
// in an empty folder, by one shell.
type firstHour struct {
	page, until string // the page, and the heading before which the hour ends; "" is its end
	// value is a part of what the command prints that is of use for the first time.
	value string
	// before are commands that the page needs and leaves to another page; examples is whether it reads
	// the examples of the source.
	before   string
	examples bool
}

// firstHours are the pages, with what each is read for.
func firstHours() []firstHour {
	return []firstHour{
		{page: "README.md", until: "## A server", value: "with the memory, 2 without it"},
		{page: "docs/tutorials.md", until: "## A plugin of your own", value: "Phone numbers are written", examples: true},
		{page: "docs/your-agent.md", value: `\"confidence\":0.9`},
		{page: "docs/agents.md", until: "## The prompt of a turn", value: "serverInfo"},
		{page: "docs/operations.md", until: "## Encrypt it", value: "sandbox", before: "reflectory init --examples hello\ncd hello\n"},
	}
}

// maxCommands and maxConcepts bound what README asks of a newcomer before anything is of use.
const maxCommands, maxConcepts = 2, 5

// The first hours are counted: how many commands a page has people type, and how many of the
// glossary's words they meet, before the first value. The counts may only fall: -update writes lower
// ones. A command that fails is a mistake of the page or of the program.
func TestNewcomer_FirstHours(t *testing.T) {
	coretest.Long(t)
	known := map[string][2]int{}
	for line := range strings.Lines(readText(t, "testdata/newcomer.golden")) {
		if f := strings.Fields(line); len(f) == 5 {
			commands, _ := strconv.Atoi(f[1])
			concepts, _ := strconv.Atoi(f[3])
			known[f[0]] = [2]int{commands, concepts}
		}
	}
	concepts := glossary(t)
	golden := ""
	for _, hour := range firstHours() {
		t.Run(hour.page, func(t *testing.T) {
			text := readPage(t, "../../../../"+hour.page)
			if hour.until != "" {
				text, _, _ = strings.Cut(text, "\n"+hour.until+"\n")
			}
			met := hour.follow(t, text)
			words := met.concepts(concepts)
			t.Logf("%d commands and %d concepts before the first value: %s", met.commands, len(words), strings.Join(words, ", "))
			golden += fmt.Sprintf("%s %d commands, %d concepts\n", hour.page, met.commands, len(words))
			limit, is := known[hour.page]
			if is && (met.commands > limit[0] || len(words) > limit[1]) {
				t.Errorf("%d commands and %d concepts, more than the %d and %d before", met.commands, len(words), limit[0], limit[1])
			}
			if hour.page == "README.md" && (met.commands > maxCommands || len(words) > maxConcepts) {
				t.Errorf("README asks for %d commands (limit %d) and %d concepts (limit %d)", met.commands, maxCommands, len(words), maxConcepts)
			}
		})
	}
	coretest.Golden(t, "newcomer.golden", golden)
}

// met is what somebody has met on a page before the first value.
type met struct {
	text     string
	commands int
}

// steps are what somebody does on a page: commands, and the settings of a client that starts the
// program.
var steps = regexp.MustCompile("(?ms)^```(sh|json)\n(.*?)^```$")

// clientStart is the program in a client's settings, with its arguments, and firstCall is what a client
// sends it first.
var clientStart = regexp.MustCompile(`(?s)"command": "reflectory",\s*"args": \[(.*?)\]`)

const firstCall = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}`

// typed is a line of a block that starts a program.
var typed = regexp.MustCompile(`(?m)^ *(?:[A-Z_]+=\S* )*(?:bin/)?(reflectory|curl)\b`)

// follow runs the commands of a page, each block of which must succeed, and returns what comes before
// the first value.
func (h firstHour) follow(t *testing.T, text string) met {
	w := newPageWorld(t)
	w.dir = t.TempDir()
	if h.examples {
		w.bash("mkdir bin && ln -s " + absolute(t, "../../../../examples") + " examples")
	}
	script := "set -eu\nexec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nexport HOME=" + w.dir + "\n" + h.before
	blocks := steps.FindAllStringSubmatchIndex(text, -1)
	for i, at := range blocks {
		body := text[at[4]:at[5]]
		if text[at[2]:at[3]] == "sh" {
			body = exits.ReplaceAllString(body, "code=0; { $1; } || code=$$?; [ $$code = $2 ] || { echo \"exit $$code\"; exit 1; }")
			script += fmt.Sprintf("echo @@%d\n%s", i, alreadyInstalled.ReplaceAllString(w.adapted(body), ""))
		} else if m := clientStart.FindStringSubmatch(body); m != nil {
			script += fmt.Sprintf("echo @@%d\nprintf '%%s\\n' '%s' | reflectory %s\n", i, firstCall, strings.NewReplacer(`"`, "", ",", "").Replace(m[1]))
		}
	}
	out := w.bash(script + "echo @@end\n")
	if !strings.Contains(out, "@@end\n") {
		t.Fatalf("the commands stop before their end:\n%s", out)
	}
	m := met{}
	for i, at := range blocks {
		_, said, ran := strings.Cut(out, fmt.Sprintf("@@%d\n", i))
		said, _, _ = strings.Cut(said, "@@")
		if ran {
			m.commands += len(clientStart.FindAllString(text[at[4]:at[5]], -1)) + len(typed.FindAllString(alreadyInstalled.ReplaceAllString(text[at[4]:at[5]], ""), -1))
		}
		if ran && strings.Contains(said, h.value) {
			m.text = text[:at[1]]
			return m
		}
	}
	t.Fatalf("nothing on the page prints %q:\n%s", h.value, out)
	return m
}

// alreadyInstalled is what puts the program where it is run, which the test has done.
var alreadyInstalled = regexp.MustCompile(`(?m)^make (install|build)( && |\n)`)

// concepts are the words of the glossary that are in the text, sorted.
func (m met) concepts(glossary []string) (words []string) {
	for _, word := range glossary {
		if regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `s?\b`).MatchString(m.text) {
			words = append(words, word)
		}
	}
	return words
}

// glossary are the words that the glossary explains.
func glossary(t *testing.T) (words []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^\| \*\*([^*]+)\*\* \|`).FindAllStringSubmatch(readPage(t, "../../../../docs/glossary.md"), -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	slices.Sort(words)
	if len(words) < 20 {
		t.Fatalf("the glossary explains %d words", len(words))
	}
	return words
}

// What README shows of a trial is what a trial prints.
func TestNewcomer_READMEShowsWhatTryPrints(t *testing.T) {
	_, rest, _ := strings.Cut(readPage(t, "../../../../README.md"), "```console\n$ reflectory try\n")
	shown, _, found := strings.Cut(rest, "```")
	w := newWorld(t)
	printed, _ := w.ok("try")
	for line := range strings.Lines(shown) {
		if !matches(printed, strings.Split(strings.TrimSpace(line), "…")) {
			t.Errorf("try doesn't print %q:\n%s", line, printed)
		}
	}
	if !found || strings.Count(shown, "\n") < 8 {
		t.Errorf("README shows %q", shown)
	}
}
