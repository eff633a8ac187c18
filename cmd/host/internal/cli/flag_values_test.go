package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// goTypes are words of Go that a user doesn't know.
var goTypes = regexp.MustCompile(`\b(strconv|json: cannot|ParseInt|ParseFloat|ParseBool|int64|uint64|float64|stringArray|map\[|struct \{|invalid syntax|\*?[a-z]+\.[A-Z][A-Za-z]+\{)`)

// badValues are values that flags can't have: by their types, and by their names if a flag
// takes one of a few words.
func badValue(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool", "int", "int64", "uint64", "float64", "duration":
		return "no-such-value"
	}
	switch f.Name {
	case "kind", "state", "status", "outcome", "lang", "runtime", "sandbox", "log-level", "durability", "lock-wait", "store", "stores", "store-wait", "since", "occurred-at":
		return "no-such-value"
	}
	return ""
}

// Each flag of each command is given a value that it can't have: the answer is exit 2, names
// the flag, and has no words of Go.
func TestFlags_BadValuesAreUsageAndNameTheFlag(t *testing.T) {
	w := newPlainWorld(t)
	w.file("x", "nodes: [{name: n, action: llm.call, with: {prompt: p}}]\nsettings: {llm: {provider: ollama, model: m, base_url: \"http://127.0.0.1:1\"}}\n")
	required := map[string]string{
		"turn": "1", "session": "x", "outcome": "success", "lang": "c", "evaluator": "x", "corrector": "x", "file": "x", "input": "x", "key": "x", "source": "x", "reason": "x",
	}
	tried := 0
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		if !c.Runnable() || c.HasSubCommands() {
			return
		}
		visit := func(f *pflag.Flag) {
			value := badValue(f)
			if value == "" {
				return
			}
			tried++
			args := strings.Fields(c.CommandPath())[1:]
			for range operands(c) {
				args = append(args, "x")
			}
			c.Flags().VisitAll(func(other *pflag.Flag) {
				if _, needed := other.Annotations[cobra.BashCompOneRequiredFlag]; needed && other != f {
					args = append(args, "--"+other.Name+"="+required[other.Name])
				}
			})
			if c.Name() == "observe" || c.Name() == "reflect" && c.Flags().Lookup("content") != nil {
				args = append(args, "--content=x")
			}
			args = append(args, "--"+f.Name+"="+value)
			code, out, errs := w.run(t.Context(), args...)
			if code != exitUsage || !strings.Contains(errs, "--"+f.Name) || goTypes.MatchString(out+errs) {
				t.Errorf("%v: exit %d: %s%s", args, code, out, errs)
			}
		}
		c.LocalNonPersistentFlags().VisitAll(visit)
		if c.Name() == "status" {
			c.InheritedFlags().VisitAll(visit)
		}
	})
	if tried < 60 {
		t.Errorf("only %d values were tried", tried)
	}
}
