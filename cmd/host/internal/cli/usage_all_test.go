package cli

import (
	"strings"
	"testing"
)

// A command line with several mistakes is refused with one message that names each, in the order
// of the line, and says what is right.
func TestCommandLine_NamesEveryMistake(t *testing.T) {
	w := newPlainWorld(t)
	const number = "must be a whole number, not "
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"two numbers": {
			"memory list --limit x --page-token t --subtree=perhaps",
			[]string{"--limit " + number + `"x"`, `--subtree must be true or false, not "perhaps"`},
		},
		"an unknown flag hides no value": {
			"memory list --limt 4 --limit x",
			[]string{`has no flag --limt (did you mean "--limit"?)`, "--limit " + number + `"x"`},
		},
		"two unknown flags": {
			"memory list --limt=4 --nmespace=a",
			[]string{`--limt (did you mean "--limit"?)`, `--nmespace (did you mean "--namespace"?)`},
		},
		"an unknown letter": {
			"memory list -x --limit y",
			[]string{"has no flag -x", "--limit " + number + `"y"`},
		},
		"letters after one dash": {
			"plugin logs p -fq --lines y",
			[]string{"has no flag -q", "--lines " + number + `"y"`},
		},
		"a value that is missing at the end": {
			"memory recall q --turn x --limit",
			[]string{"--turn " + number + `"x"`, "--limit needs a value: a whole number"},
		},
		"a value that is missing before another flag": {
			"memory recall q --limit --turn x",
			[]string{"--limit needs a value: a whole number", "--turn " + number + `"x"`},
		},
		"a number that is too large": {
			"runs list --limit 99999999999999999999 --nosuch",
			[]string{"--limit is too large", "has no flag --nosuch"},
		},
		"a required flag and a wrong one": {
			"memory feedback --session s --turn x",
			[]string{"--turn " + number + `"x"`, "reflectory memory feedback needs --outcome"},
		},
		"an argument too few": {
			"runs diff --from x --to y",
			[]string{"--from " + number + `"x"`, "--to " + number + `"y"`, "reflectory runs diff needs RUN (reflectory runs list lists"},
		},
		"an argument too many": {
			"token list a --limit x",
			[]string{"--limit " + number + `"x"`, `takes no arguments, not "a"`},
		},
		"arguments and required flags": {
			"gate request",
			[]string{"reflectory gate request needs MEMORY", "reflectory gate request needs --reason"},
		},
		"JSON and a number of a memory": {
			"memory observe --content x --metadata { --priority high --importance much",
			[]string{"--metadata is not JSON: ", `(write an object, such as --metadata '{"ticket": 17}')`, "--priority " + number + `"high"`, `--importance must be a number, not "much"`},
		},
		"a time and a number": {
			"decisions list --since yesterday --limit x",
			[]string{`--since "yesterday" isn't a time (write --since 7d, or 72h; a date such as `, "--limit " + number + `"x"`},
		},
		"a duration": {
			"token new --expires-in soon --scop run",
			[]string{`--expires-in "soon" isn't a duration (write it with a unit, such as 30d or 12h)`, `has no flag --scop (did you mean "--scope"?)`},
		},
		"words": {
			"plugin new --lang cobol --runtime jvm",
			[]string{`--lang "cobol" is not one of `, `--runtime "jvm" is not one of process, wasm`, "needs NAME"},
		},
		"how far back": {
			"policy replay --since ever --lgo=x",
			[]string{`--since "ever" isn't a time (write --since 7d, or 72h;`, `has no flag --lgo (did you mean "--log"?)`, "needs NEW"},
		},
		"a namespace that is empty": {
			"memory list --limit x --namespace=",
			[]string{"--limit " + number + `"x"`, `--namespace "": it is empty (write a namespace such as team/mail`},
		},
		"a setting": {
			"memory list --sandbox perhaps --limit x",
			[]string{"--limit " + number + `"x"`, `sandbox "perhaps"`},
		},
		"text in place of a switch, and what can't be a flag": {
			"store check --repair=often --=x",
			[]string{`--repair must be true or false, not "often"`, "--=x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr := w.line(exitUsage, "", c.line)
			wantIn(t, stderr, c.want...)
			for i := range c.want[1:] {
				if strings.Index(stderr, c.want[i]) >= strings.Index(stderr, c.want[i+1]) {
					t.Errorf("%s comes after %s", c.want[i], c.want[i+1])
				}
			}
			if message, _, _ := strings.Cut(stderr, "\nhint:"); strings.Count(message, "\n") != len(c.want)-1-strings.Count(strings.Join(c.want, ""), "(write an object") {
				t.Errorf("%s is refused with\n%s", c.line, stderr)
			}
			out, _ := w.line(exitUsage, "", c.line+" --json")
			if strings.Contains(c.line, " --limit") && strings.HasSuffix(c.line, "--limit") {
				return // --json is then its value
			}
			wantIn(t, out, `"code": "usage"`, `"problems": [`)
		})
	}
}
