package cli

import "testing"

// A mistake on the command line is described in the command line's terms, whichever part
// finds it: the command library, the program or the domain. It ends with 2.
func TestUsage_SaysWhatTheCommandLineLacks(t *testing.T) {
	w := newPlainWorld(t)
	w.file("messages.eml", "")
	for line, want := range map[string][]string{
		"runs show":                 {"error: reflectory runs show needs RUN\n", "hint: reflectory runs list lists what it may be"},
		"runs show a b":             {"error: reflectory runs show takes RUN, not 2 arguments: \"b\" is too many\n"},
		"version a":                 {`error: reflectory version takes no arguments, not "a"`},
		"nonesuch":                  {`error: reflectory has no command "nonesuch"`, "hint: reflectory --help lists the commands"},
		"help rnu":                  {`error: reflectory has no command "rnu"`, `hint: did you mean "run"?`},
		"runs shw":                  {`error: reflectory runs has no command "shw"`, `hint: did you mean "show"?`},
		"runs list --status failed": {"error: --status \"failed\" is not one of running, interrupted, passed,"},
		"memory list --limit x":     {`error: --limit must be a whole number, not "x"`},
		"memory list --limit 99999999999999999999": {"error: --limit is too large: 99999999999999999999"},
		"memory list --limt 4":                     {"has no flag --limt", `did you mean "--limit"?`},
		"memory list -x":                           {"has no flag -x"},
		"memory list --state lost":                 {`error: --state has "lost", not one of open, active, cooling,`},
		"memory observe":                           {"error: --content is blank"},
		"help runs shw":                            {`error: reflectory runs has no command "shw"`, `hint: did you mean "show"?`},
		"completion tcsh":                          {`error: reflectory completion has no command "tcsh"`},
		"token new":                                {"error: reflectory token new needs SUBJECT"},
		"audit show --type x":                      {"error: --type needs STREAM"},
		"memory recall x --state lost":             {`error: --state has "lost", not one of open, active, cooling,`},
		"dream plan a --strategy odd --decay odd --stale-after -1": {
			"--stale-after is -1, not a number of hours", `--decay is "odd", not exponential,`, `--strategy is "odd", not one of keep_newest,`,
		},
		"memory observe --content x --priority 99 --kind odd":                   {`error: --kind is "odd"`, "--priority is 99, not from 1 to 10"},
		"memory feedback --session s --turn 1 --outcome good":                   {`error: --outcome is "good", not success, failure or partial`},
		"memory observe --content x --namespace a//b":                           {`error: --namespace "a//b": a segment is empty`},
		"memory reflect --source aaaaaaaa --content x --title t --confidence 7": {"error: --confidence is 7"},
	} {
		if _, stderr := w.line(exitUsage, "", line); stderr == "" {
			t.Errorf("%s says nothing", line)
		} else {
			wantIn(t, stderr, want...)
		}
	}
}

// A file that isn't there is looked for where the user would look: among the files next to
// it.
func TestMissingFile_NamesItsNeighbourOrItsFolder(t *testing.T) {
	w := newPlainWorld(t)
	w.file("outcomes.jsonl", "")
	for line, want := range map[string]string{
		"evidence tool --file outcome.jsonl":    `hint: did you mean "outcomes.jsonl"?`,
		"evidence tool --file nowhere/x.jsonl":  "hint: there is no folder " + w.dir + "/nowhere",
		"evidence tool --file something-else.x": "hint: it was looked for in " + w.dir,
		"evidence tool --file outcomes.jsonl/x": "hint: a part of its path is a file, not a folder",
		"dream run a --plan nowhere.json":       "error: there is no file nowhere.json",
		"plugin add outcomes.jsonl":             "plugin pack makes one from a folder",
		"store restore outcomes.jsonl":          "error: there is no store in outcomes.jsonl",
	} {
		_, stderr := w.line(exitFailure, "", line)
		wantIn(t, stderr, want)
	}
}
