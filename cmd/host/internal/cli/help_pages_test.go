package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

// page is a command's help as it is printed.
func (w *world) page(args ...string) string {
	w.t.Helper()
	out, _ := w.ok(append(args, "--help")...)
	return out
}

func TestHelp_EveryPageFits80Columns(t *testing.T) {
	w := newPlainWorld(t)
	pages := 0
	walkCommands(allCommands(), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		out := w.page(path...)
		pages++
		for line := range strings.Lines(out) {
			if term.WidthOf(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%v: %d columns: %s", path, term.WidthOf(line), line)
			}
		}
		if c.Name() != "flags" && strings.Contains(out, "--data-dir string") {
			t.Errorf("%v shows the flags of all commands", path)
		}
		if len(path) > 0 && !strings.Contains(out, "Usage:\n") && (c.Runnable() || c.HasAvailableSubCommands()) {
			t.Errorf("%v doesn't say how it is written: %s", path, out)
		}
	})
	if pages < 80 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

// allCommands are the commands, with the library's own.
func allCommands() *cobra.Command {
	root := (&App{}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// Each command is in one group, and no group names one that isn't there.
func TestHelp_CommandsAreGrouped(t *testing.T) {
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, g.commands...)
	}
	var all []string
	for _, c := range allCommands().Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			all = append(all, c.Name())
		}
	}
	slices.Sort(grouped)
	slices.Sort(all)
	if !slices.Equal(grouped, all) {
		t.Errorf("grouped are %v, and there are %v", grouped, all)
	}
	out := newPlainWorld(t).page()
	wantIn(t, out, "Run workflows:\n  try         ", "Remember what was learnt:\n  memory      ", "Operate the host:\n", "reflectory help flags")
}

func TestHelp_FlagsOfAllCommandsAreOnOnePage(t *testing.T) {
	w := newPlainWorld(t)
	out, _ := w.ok("help", "flags")
	wantIn(t, out, "--data-dir", "--lock-wait", "--json", "config show")
	wantIn(t, w.page("runs", "list"), "--limit", "help flags")
}

// An example that is too long for a line continues on the next, in a form that a shell
// accepts.
func TestHelp_LongExamplesCanBePasted(t *testing.T) {
	var out bytes.Buffer
	p := page{&out, 40}
	p.command(`reflectory memory observe --title "two words" --content 'some more words' > file`)
	want := "  reflectory memory observe \\\n      --title \"two words\" \\\n      --content 'some more words' > file\n"
	if out.String() != want {
		t.Errorf("got %s", &out)
	}
}

// walkCommands visits a command and all below it.
func walkCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, child := range c.Commands() {
		walkCommands(child, visit)
	}
}
