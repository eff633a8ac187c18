//go:build cgo && lua54

package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// minMistakes is the mean score that the mistakes of testdata/mistakes.txt must reach, of 3.
const minMistakes = 2.8

// A hundred mistakes that a newcomer makes are scored by what the program says: 0 for a wrong exit
// code or silence, 1 for saying that it is wrong, 2 for naming what is wrong, 3 for also naming what to
// type next. Commands in the answer must exist, with their flags.
func TestMistakes_AreAnsweredWithWhatToTypeNext(t *testing.T) {
	table := readText(t, "testdata/mistakes.txt")
	w := newWorld(t)
	t.Chdir(w.dir)
	w.line(exitPassed, "", "init hello")
	t.Chdir("hello")
	base, err := os.ReadFile("workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n, sum := 0, 0
	for line := range strings.Lines(table) {
		columns := strings.SplitN(strings.TrimSpace(line), " | ", 4)
		if len(columns) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		typed := columns[3]
		how, edit, _ := strings.Cut(typed, ": ")
		if command := map[string]string{"edit": "workflow check", "edit and run": "run"}[how]; command != "" {
			before, after, _ := strings.Cut(strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(edit), " => ")
			if !strings.Contains(string(base), before) {
				t.Fatalf("the workflow has no %q", before)
			}
			w.file("hello/edited.yaml", strings.Replace(string(base), before, after, 1))
			typed = command + " edited.yaml"
		}
		code, stdout, stderr := w.run(t.Context(), shellWords(typed)...)
		said := stderr + stdout // what a check finds is its result
		score, why := scoreMistake(columns, code, said)
		n, sum = n+1, sum+score
		if score < 3 {
			t.Logf("%d of 3: %s: %s\n%s", score, columns[3], why, said)
		}
	}
	if mean := float64(sum) / float64(n); n < 100 || mean < minMistakes {
		t.Errorf("%d mistakes score %.2f of 3 (want 100 and %.1f)", n, mean, minMistakes)
	}
}

// scoreMistake scores an answer, and says what it lacks.
func scoreMistake(columns []string, code int, said string) (score int, why string) {
	switch {
	case strconv.Itoa(code) != columns[0]:
		return 0, fmt.Sprintf("exit %d, want %s", code, columns[0])
	case said == "":
		return 0, "it says nothing"
	case !strings.Contains(said, columns[1]):
		return 1, "it doesn't name " + columns[1]
	case !strings.Contains(said, columns[2]):
		return 2, "it doesn't name " + columns[2]
	}
	if wrong := unknownIn(said); wrong != "" {
		return 2, "it names what doesn't exist: " + wrong
	}
	return 3, ""
}

// namedCommand is a command in a text, up to where the sentence goes on.
var namedCommand = regexp.MustCompile(`reflectory( [^\s,;:)]+)+`)

// unknownIn is the first command in the hints of an answer that doesn't exist, or has no such flag.
func unknownIn(said string) string {
	_, hints, _ := strings.Cut(said, "hint: ")
	for _, named := range namedCommand.FindAllString(hints, -1) {
		root, words := (&App{}).root(), strings.Fields(named)[1:]
		root.InitDefaultHelpCmd()
		command := words
		if at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }); at >= 0 {
			command = words[:at]
		}
		c, _, err := root.Find(command)
		if err == nil {
			err = unknownWord(root, command)
		}
		if err != nil {
			return named
		}
		for _, word := range words[len(command):] {
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			known := c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil || name == "help" || name == "version"
			if strings.HasPrefix(word, "--") && !known {
				return named
			}
		}
	}
	return ""
}

// shellWords are the words of a line, as a shell splits it at spaces outside double quotes.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
