package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each namespace may be given by its position and by --namespace.
func TestNamespace_ByPositionAndByFlag(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace team/mail --content Hello")
	for _, pair := range [][2]string{
		{"memory list team/mail", "memory list --namespace team/mail"},
		{"knowledge list team/mail", "knowledge list --namespace team/mail"},
		{"runs list team/mail", "runs list --namespace team/mail"},
		{"jobs list team/mail", "jobs list --namespace team/mail"},
		{"session list team/mail", "session list --namespace team/mail"},
		{"decisions list team/mail", "decisions list --namespace team/mail"},
		{"memory pending team/mail", "memory pending --namespace team/mail"},
		{"inject list team/mail", "inject list --namespace team/mail"},
		{"dream list team/mail", "dream list --namespace team/mail"},
		{"dream conflicts team/mail", "dream conflicts --namespace team/mail"},
		{"governance get team/mail", "governance get --namespace team/mail"},
		{"governance explain team/mail", "governance explain --namespace team/mail"},
		{"governance set team/mail max_reflection_depth=2", "governance set --namespace team/mail max_reflection_depth=2"},
		{"governance unset team/mail max_reflection_depth", "governance unset --namespace team/mail max_reflection_depth"},
		{"memory sweep team/mail", "memory sweep --namespace team/mail"},
	} {
		placed, _ := w.line(exitPassed, "", pair[0])
		flagged, _ := w.line(exitPassed, "", pair[1])
		if placed != flagged {
			t.Errorf("%s:\n%s\n%s:\n%s", pair[0], placed, pair[1], flagged)
		}
	}
	for line, want := range map[string]string{
		"memory list a --namespace b":       `the namespace is given twice: "a", and --namespace "b"`,
		"memory list a b":                   "takes [NAMESPACE], not 2 arguments",
		"dream list a --namespace b":        "takes NAMESPACE, not 2 arguments",
		"dream plan":                        "needs NAMESPACE",
		"dream plan --namespace=":           `--namespace "": it is empty`,
		"runs list --namespace a//b":        "a segment is empty",
		"runs list a//b":                    "a segment is empty",
		"memory recall --namespace a":       "recall needs a QUERY",
		"governance set --namespace team/a": "needs FIELD=VALUE…",
	} {
		_, stderr := w.line(exitUsage, "", line)
		wantIn(t, stderr, want)
	}
}

// A list whose items have times leaves out what is older than --since.
func TestLists_Since(t *testing.T) {
	w := newPlainWorld(t)
	w.line(exitPassed, "", "memory observe --namespace team/mail --content Hello")
	w.line(exitPassed, "", "memory recall --namespace team/mail --session s1 Hello")
	w.line(exitPassed, "", "dream plan team/mail")
	w.line(exitPassed, "", "inject build --namespace team/mail --session s2 --query Hello")
	w.line(exitPassed, "", "token new ci --scope memory:read --namespace team/**")
	for line, shown := range map[string]string{
		"memory list team/mail":             "Hello",
		"dream list team/mail":              "planned",
		"inject list team/mail":             "s2",
		"session list":                      "s1",
		"token list":                        "ci",
		"audit show namespace/team/mail":    "memory.observe",
		"audit show root":                   "",
		"runs list":                         "",
		"jobs list":                         "",
		"knowledge list --namespace team/a": "",
		"memory pending":                    "",
		"decisions list":                    "",
	} {
		for _, since := range []string{"1h", "1d", "2020-01-31", "2020-01-31T12:00:00Z"} {
			stdout, _ := w.line(exitPassed, "", line+" --since "+since)
			wantIn(t, stdout, shown)
		}
		if stdout, _ := w.line(exitPassed, "", line+" --since 2999-01-01"); shown != "" && strings.Contains(stdout, shown) {
			t.Errorf("%s shows what is older:\n%s", line, stdout)
		}
		for _, since := range []string{"yesterday", "7", "-1h", "2020-13-01"} {
			_, stderr := w.line(exitUsage, "", line+" --since="+since)
			wantIn(t, stderr, "--since", "isn't a time", "hint: write --since 7d")
		}
	}
}

// Every list has --since, except where items have no times or are the parts of one thing.
func TestLists_AllHaveSince(t *testing.T) {
	timeless := "plugin list, hosts list, memory namespaces, dream conflicts, memory lineage, memory history, session show, reflect, discover"
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "reflectory ")
		if c.Flags().Lookup("page-token") == nil || c.Flags().Lookup("since") != nil {
			return
		}
		if !strings.Contains(timeless, path) {
			t.Errorf("%s has no --since", path)
		}
	})
}
