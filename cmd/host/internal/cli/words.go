package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// People type the words of other tools. A word that means the same as a command of the group is
// answered with that command, a word that means a command elsewhere with that one, and a flag of
// other tools with what does the same here. All of these are hints: a second name for a command
// would have to be learnt, completed and documented as well.

// synonyms are words for the same thing. The first that is a command of the group is meant.
var synonyms = [][]string{
	{"history", "logs", "log", "events", "tail"},
	{"show", "get", "inspect", "explain", "cat", "view", "info", "read", "print", "describe", "log", "logs", "tail", "watch", "follow"},
	{"list", "get", "ls", "ll", "ps", "all", "dir"},
	{"remove", "revoke", "unset", "reset", "rm", "delete", "del", "uninstall", "forget", "purge", "erase", "drop", "unlink", "disable", "clear"},
	{"new", "init", "create", "generate", "scaffold"},
	{"add", "new", "observe", "install", "create", "make", "put", "insert", "write", "save", "remember", "store", "push", "pull", "enable"},
	{"recall", "search", "find", "query", "grep", "lookup", "ask", "retrieve"},
	{"check", "verify", "test", "validate", "lint", "audit"},
	{"run", "start", "exec", "execute", "launch", "trigger"},
	{"cancel", "drain", "kill", "stop", "abort", "terminate"},
	{"undo", "restore", "revert", "rollback"},
	{"supersede", "replace", "update", "edit"},
	{"set", "put", "update", "edit", "configure"},
	{"move", "mv", "rename", "migrate"},
	{"diff", "compare", "delta"},
}

// elsewhere is what words mean that aren't commands of a group: the group's name, or "reflectory"
// for the program itself, with the words, and the commands that are meant. A group's words are
// looked for before its synonyms.
var elsewhere = map[string][][2]string{
	"reflectory": {
		{"ls list ll ps history", "reflectory runs list"},
		{"start exec execute launch go", "a workflow is run by reflectory run WORKFLOW, a server by reflectory serve"},
		{"up server daemon listen api deploy", "reflectory serve starts the server"},
		{"port host bind", "reflectory serve --listen 127.0.0.1:8080 chooses the port"},
		{"stop kill cancel abort down", "Ctrl-C ends a command and a server; reflectory jobs cancel JOB cancels a job in the background"},
		{"logs log tail show view cat output", "reflectory runs show RUN shows a run, reflectory plugin logs NAME what a plugin wrote"},
		{"delete del rm remove forget purge erase", "of a memory: reflectory gate request MEMORY --erase --reason WHY; of a plugin: reflectory plugin remove NAME; of a token: reflectory token revoke ID"},
		{"search find query recall ask grep lookup retrieve get", "reflectory memory recall TEXT"},
		{"remember observe learn save write note memorize put", "reflectory memory observe --content TEXT"},
		{"memories mem", "reflectory memory list"},
		{"add install plugins load pull", "reflectory plugin add SOURCE"},
		{"uninstall", "reflectory plugin remove NAME"},
		{"new create scaffold setup bootstrap", "reflectory init DIR"},
		{"check validate lint verify", "a workflow file is checked by reflectory workflow check FILE, policies by reflectory policy check, plugins by reflectory plugin verify"},
		{"test tests", "policies are tested by reflectory policy test, a plugin by reflectory plugin test"},
		{"set unset", "reflectory governance set NAMESPACE SETTING=VALUE; the program's own settings are in reflectory.yaml: reflectory config show"},
		{"settings configure cfg options", "reflectory config show"},
		{"env environment-variables variables", "reflectory help environment"},
		{"login logon signin auth ui web dashboard gui browser console", "reflectory open opens the page of a server that reflectory serve started"},
		{"backup", "reflectory store backup DIR"},
		{"export dump", "reflectory store export FILE"},
		{"import", "reflectory store import FILE"},
		{"restore", "reflectory store restore BACKUP"},
		{"undo revert rollback", "reflectory dream undo PASS"},
		{"info health ping ready whoami about", "reflectory status"},
		{"demo tutorial quickstart tour example examples hello getting-started intro", "reflectory try shows what the program does; reflectory init DIR makes a project"},
		{"diff delta", "reflectory runs diff RUN compares two attempts of a run"},
		{"judge score eval grade", "reflectory evaluate"},
		{"fix repair", "reflectory correct"},
		{"improve loop generate agent chat prompt ask-model", "reflectory run WORKFLOW"},
		{"user users key keys apikey", "reflectory token new SUBJECT"},
		{"update upgrade self-update", "reflectory --version shows this version; install a newer release over it"},
		{"docs doc man manual commands", "the commands are listed by: reflectory help"},
	},
	"memory": {
		{"delete forget remove rm purge erase del drop clear", "only the gate removes a memory, because of its use or on request: reflectory gate request MEMORY --erase --reason WHY"},
		{"search find query grep lookup ask retrieve", "reflectory memory recall TEXT"},
		{"show cat view read", "reflectory memory get ID"},
		{"update edit set replace supersede", "a memory isn't changed: reflectory memory observe a new one, and reflectory memory link NEW supersedes OLD"},
		{"export dump", "reflectory store export FILE"},
		{"import load", "reflectory memory observe --file FILE"},
		{"count stats", "reflectory stats --scope memory"},
		{"promote", "reflectory gate run MEMORY"},
	},
	"runs": {
		{"cancel stop kill abort", "Ctrl-C cancels a run; a run in the background is a job: reflectory jobs cancel JOB"},
		{"resume continue retry restart", "reflectory resume RUN"},
		{"replay", "reflectory replay RUN"},
		{"delete rm remove purge prune clean", "reflectory store prune moves old runs to files"},
		{"start new run create", "reflectory run WORKFLOW"},
	},
	"workflow": {
		{"run start exec execute", "reflectory run WORKFLOW"},
		{"list ls show", "workflows are files; reflectory runs list shows which were run"},
		{"new create init", "reflectory init DIR"},
	},
	"config":     {{"set edit unset", "settings are in reflectory.yaml, flags and the environment; a namespace's own: reflectory governance set NAMESPACE SETTING=VALUE"}},
	"governance": {{"list show ls view", "reflectory governance get NAMESPACE"}},
	"audit":      {{"list ls log logs tail", "reflectory audit show STREAM"}},
	"session":    {{"delete rm remove clear", "reflectory session reset SESSION"}, {"new create start begin add", "a session begins with its first recall: reflectory memory recall TEXT --session NAME"}},
	"knowledge":  {{"add new create observe promote", "the gate makes knowledge of memories that proved useful: reflectory gate run MEMORY"}},
	"store":      {{"list ls show info", "reflectory status"}, {"clean gc vacuum compact", "reflectory store prune"}},
	"plugin":     {{"search find", "reflectory discover INTENT"}, {"update upgrade", "reflectory plugin add SOURCE adds the new version in place of the old one"}},
}

// flagsElsewhere is what flags of other tools are here: their names, and what does the same. It is
// used where the command has the flag that is named, if it names one.
var flagsElsewhere = [][2]string{
	{"--quiet --silent -q -s", "what isn't a result goes to standard error: add 2>/dev/null"},
	{"--verbose --debug --trace -V", "--log-level debug"},
	{"--format --output --output-format -o --as", "--json prints JSON; without it the output is for people"},
	{"--dir --home --path --datadir --db", "--data-dir"},
	{"--config -c -f", "settings are read from reflectory.yaml in this folder or above it: reflectory config show"},
	{"--ns -n --tenant --project --scope", "--namespace"},
	{"--text --message --body --value -m -t", "--content"},
	{"--tags --label --labels -l", "--tag"},
	{"--background --async --no-wait --bg --daemon -d", "--detach"},
	{"--port --bind --addr --address --host-port -p", "--listen"},
	{"--count --max --top --first --num -k --tail --head --last", "--limit"},
	{"--all --all-namespaces -A", "--namespace= --subtree is every namespace"},
	{"--dry-run --check --validate --plan-only", "nothing is run by: reflectory workflow check FILE"},
	{"--watch --follow -w -F", "a command shows how things are now: type it again, or run it with watch"},
	{"--set --var --param --env -e -D", "--state"},
	{"--model --provider --api-key --base-url", "a model is set in the workflow: settings.llm; reflectory workflow describe settings.llm"},
	{"--args --data --stdin --file -i", "--input"},
	{"--why --message --comment", "--reason"},
	{"--color --no-color --colour", "set NO_COLOR=1 for plain output; a pipe is always plain"},
	{"--yes -y --force --no-input", "no command needs it, and none asks except on a terminal: leave the flag out"},
	{"--remote --endpoint --host", "--server"},
}

// meant is the hint for a word of other tools that isn't a command of a group; "" if the word is
// unknown here too.
func meant(parent *cobra.Command, word string) string {
	word = strings.ToLower(word)
	for _, entry := range elsewhere[parent.Name()] {
		if slices.Contains(strings.Fields(entry[0]), word) {
			return entry[1]
		}
	}
	for _, group := range synonyms {
		if !slices.Contains(group, word) || !parent.HasParent() {
			continue
		}
		for _, name := range group {
			if c := childOf(parent, name); c != nil {
				return "did you mean: " + strings.TrimSuffix(c.UseLine(), " [flags]")
			}
		}
	}
	return ""
}

// childOf is a command of a group by its name, or nil.
func childOf(parent *cobra.Command, name string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == name && c.IsAvailableCommand() {
			return c
		}
	}
	return nil
}

// meantFlag is the hint for a flag of other tools, in dashes; "" if it is unknown here too.
func meantFlag(c *cobra.Command, flag string) string {
	for _, entry := range flagsElsewhere {
		if !slices.Contains(strings.Fields(entry[0]), flag) {
			continue
		}
		name, isFlag := strings.CutPrefix(entry[1], "--")
		if name, _, _ = strings.Cut(name, " "); !isFlag { // the first word
			return entry[1]
		}
		if c.Flags().Lookup(strings.TrimSuffix(name, "=")) != nil {
			return "did you mean: " + entry[1]
		}
	}
	return ""
}
