package cli

import (
	"strings"
	"testing"
)

// People type the words of other tools. Each is answered with the word for it here, which is a
// command that exists.
func TestWords_OfOtherToolsNameOurs(t *testing.T) {
	w := newPlainWorld(t)
	for line, want := range map[string]string{
		"ls":               "reflectory runs list",
		"ps":               "reflectory runs list",
		"history":          "reflectory runs list",
		"start":            "reflectory run WORKFLOW",
		"exec":             "reflectory run WORKFLOW",
		"up":               "reflectory serve",
		"server":           "reflectory serve",
		"stop":             "reflectory jobs cancel JOB",
		"logs":             "reflectory runs show RUN",
		"delete":           "reflectory gate request MEMORY --erase",
		"forget":           "reflectory gate request MEMORY --erase",
		"search":           "reflectory memory recall TEXT",
		"query":            "reflectory memory recall TEXT",
		"recall":           "reflectory memory recall TEXT",
		"remember":         "reflectory memory observe --content TEXT",
		"observe":          "reflectory memory observe --content TEXT",
		"add":              "reflectory plugin add SOURCE",
		"install":          "reflectory plugin add SOURCE",
		"rm":               "reflectory gate request MEMORY --erase",
		"uninstall":        "reflectory plugin remove NAME",
		"new":              "reflectory init",
		"create":           "reflectory init",
		"validate":         "reflectory workflow check",
		"lint":             "reflectory workflow check",
		"check":            "reflectory workflow check",
		"test":             "reflectory policy test",
		"set":              "reflectory governance set",
		"settings":         "reflectory config show",
		"env":              "reflectory help environment",
		"port":             "reflectory serve --listen",
		"login":            "reflectory open",
		"ui":               "reflectory open",
		"dashboard":        "reflectory open",
		"backup":           "reflectory store backup",
		"export":           "reflectory store export",
		"restore":          "reflectory store restore",
		"undo":             "reflectory dream undo",
		"info":             "reflectory status",
		"demo":             "reflectory try",
		"quickstart":       "reflectory try",
		"diff":             "reflectory runs diff",
		"memory add":       "reflectory memory observe",
		"memory create":    "reflectory memory observe",
		"memory ls":        "reflectory memory list",
		"memory search":    "reflectory memory recall",
		"memory find":      "reflectory memory recall",
		"memory show":      "reflectory memory get",
		"memory cat":       "reflectory memory get",
		"memory delete":    "reflectory gate request MEMORY --erase",
		"memory log":       "reflectory memory history",
		"plugin install":   "reflectory plugin add",
		"plugin rm":        "reflectory plugin remove",
		"plugin uninstall": "reflectory plugin remove",
		"plugin ls":        "reflectory plugin list",
		"plugin info":      "reflectory plugin inspect",
		"plugin create":    "reflectory plugin new",
		"plugin log":       "reflectory plugin logs",
		"runs ls":          "reflectory runs list",
		"runs get":         "reflectory runs show",
		"runs logs":        "reflectory runs show",
		"runs rm":          "reflectory store prune",
		"runs cancel":      "reflectory jobs cancel",
		"jobs ls":          "reflectory jobs list",
		"jobs kill":        "reflectory jobs cancel",
		"jobs stop":        "reflectory jobs cancel",
		"token create":     "reflectory token new",
		"token add":        "reflectory token new",
		"token delete":     "reflectory token revoke",
		"knowledge search": "reflectory knowledge recall",
		"knowledge show":   "reflectory knowledge get",
		"session ls":       "reflectory session list",
		"session get":      "reflectory session show",
		"policy validate":  "reflectory policy check",
		"policy lint":      "reflectory policy check",
		"workflow lint":    "reflectory workflow check",
		"workflow run":     "reflectory run WORKFLOW",
		"governance list":  "reflectory governance get",
		"governance rm":    "reflectory governance unset",
		"config set":       "reflectory governance set",
		"config get":       "reflectory config show",
		"dream start":      "reflectory dream run",
		"dream revert":     "reflectory dream undo",
	} {
		_, stderr := w.line(exitUsage, "", line)
		wantIn(t, stderr, "has no command", "\nhint: ", want)
		_, hinted, _ := strings.Cut(stderr, "hint: ")
		for _, part := range strings.Split(hinted, "reflectory ")[1:] {
			words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" ,;:\n", r) })
			if err := unknownWord((&App{}).root(), words[:min(len(words), 2)]); err != nil {
				t.Errorf("%s: the hint names a command that doesn't exist: %s", line, hinted)
			}
		}
	}
}

// The flags of other tools name what does the same here.
func TestWords_FlagsOfOtherToolsNameOurs(t *testing.T) {
	w := newPlainWorld(t)
	for line, want := range map[string]string{
		"runs list --quiet":             "2>/dev/null",
		"runs list -q":                  "2>/dev/null",
		"runs list --verbose":           "--log-level debug",
		"runs list --debug":             "--log-level debug",
		"runs list --format json":       "--json",
		"runs list --output json":       "--json",
		"runs list -o json":             "--json",
		"runs list --dir x":             "--data-dir",
		"runs list --config x":          "reflectory.yaml",
		"memory list --ns x":            "--namespace",
		"memory list -n x":              "--namespace",
		"memory observe --text hello":   "--content",
		"memory observe --message x":    "--content",
		"memory observe --tags x":       "--tag",
		"serve --port 80":               "--listen",
		"serve -p 80":                   "--listen",
		"serve --bind 127.0.0.1:80":     "--listen",
		"runs list --count 3":           "--limit",
		"runs list --max 3":             "--limit",
		"run w.yaml --set a=1":          "--state",
		"run w.yaml --var a=1":          "--state",
		"run w.yaml --model x":          "settings",
		"run w.yaml -d":                 "--detach",
		"run w.yaml --background":       "--detach",
		"run w.yaml --watch":            "type it again",
		"plugin add x --uri https://x/": "--url",
	} {
		_, stderr := w.line(exitUsage, "", line)
		wantIn(t, stderr, "has no flag", want)
	}
}

// Without arguments the program says what it is, what to type first and where help is, and it
// isn't the list of all commands. The other ways to type nothing are answered too.
func TestReflectory_Alone(t *testing.T) {
	w := newPlainWorld(t)
	for _, line := range []string{"", "--"} {
		stdout, stderr := w.line(exitPassed, "", line)
		wantIn(t, stdout, "runs agents that check their own work", "reflectory init", "reflectory run", "reflectory memory", "reflectory help")
		if lines := strings.Count(stdout, "\n"); lines > 16 || strings.Contains(stdout, "governance") || stderr != "" {
			t.Errorf("%q: %d lines\n%s%s", line, lines, stdout, stderr)
		}
		for shown := range strings.Lines(stdout) {
			if len(shown) > helpWidth+1 {
				t.Errorf("longer than %d columns: %s", helpWidth, shown)
			}
		}
	}
	stdout, _ := w.line(exitPassed, "", "--json")
	wantIn(t, stdout, `"first"`, `"command": "reflectory init`)
	for _, line := range []string{"help", "--help", "-h"} {
		stdout, _ := w.line(exitPassed, "", line)
		wantIn(t, stdout, "Run workflows:", "Remember what was learnt:", "Govern what is remembered:", "Operate the host:", "governance")
	}
	for _, line := range []string{"-", "''", strings.Repeat("x", 1<<20)} {
		_, stderr := w.line(exitUsage, "", line)
		wantIn(t, stderr, "error: reflectory has no command", "hint: ")
		if len(stderr) > 1000 {
			t.Errorf("%d bytes", len(stderr))
		}
	}
}
