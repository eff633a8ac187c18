package web

import "strings"

// A newcomer's pages are empty. An empty list says what would be in it, and which command puts
// something there; a list that a filter leaves empty leads to the whole list.

// emptyState is what is said of a list without entries.
type emptyState struct {
	// Text says what is missing, and Command makes a first entry; "" if the page itself does.
	Text, Command string
	// All is the address without the filter that leaves nothing; "" if there is no filter.
	All string
}

// emptyStates are the lists that can be empty, by name: their entries' noun, what they are for, and a
// command that makes one.
var emptyStates = map[string]struct{ noun, text, command string }{
	"runs":      {"run", "No workflow has run yet. Each run is here with its attempts, and what was wrong with them.", "reflectory run workflow.yaml"},
	"memories":  {"memory", "No memory yet. Here is what agents and runs remember, and how much it helps.", `reflectory memory observe --content "The pilot boat leaves at six."`},
	"knowledge": {"knowledge", "No knowledge here. A memory becomes knowledge when the gate promotes it, after it helped again and again.", "reflectory memory list --state revalidate_pending"},
	"approvals": {"reflection", "Nothing waits for an approval. Reflections wait here that are deeper than their namespace allows without one.", "reflectory governance set '*' require_approval_above_depth=1"},
	"sessions":  {"session", "No session yet. One begins with an agent’s first recall, and is here with its turns and how they went.", `reflectory memory recall --session monday "when does the boat leave?"`},
	"turns":     {"turn", "No agent has closed a turn with feedback in this time. Agents recall and report over MCP or HTTP, with a token.", "reflectory token new my-agent --scope memory:read --scope memory:write --namespace 'team/**'"},
	"decisions": {"decision", "No decision was recorded yet. Here is what policies decided, with the rule and the values that it saw.", "reflectory run workflow.yaml"},
	"jobs":      {"job", "No job yet. Here is the work that goes on in the background, such as reflections and detached runs.", "reflectory run --detach workflow.yaml"},
	"dreams":    {"pass", "No pass was planned here. A plan lists what would be merged, resolved and archived, before anything changes.", "reflectory dream plan default"},
	"conflicts": {"pair", "Nothing here contradicts anything else. A pass looks for pairs that do.", "reflectory dream plan default"},
	"snapshots": {"snapshot", "No turn here has a snapshot. One is kept for each prompt that is built for a turn.", `reflectory inject build --session monday --query "when does the boat leave?"`},
	"plugins":   {"plugin", "No plugin is installed here. Plugins are added on the host’s machine, as that decides which code runs on it.", "reflectory plugin add FOLDER"},
	"tokens":    {"token", "There is no token yet. Each agent and each program gets one of its own.", "reflectory token new my-agent --scope memory:read --namespace 'team/**'"},
	"entries":   {"entry", "Nothing has happened yet. Whatever changes something here is an entry.", `reflectory memory observe --content "The pilot boat leaves at six."`},
}

// emptyStateOf is what a page with a path says of an empty list. The query of the path is its filter.
func emptyStateOf(path, list string) emptyState {
	v := emptyStates[list]
	if whole, _, filtered := strings.Cut(path, "?"); filtered {
		return emptyState{Text: "No " + v.noun + " fits here.", All: whole}
	}
	return emptyState{Text: v.text, Command: v.command}
}

// beginnings are what somebody does first on a host on which nothing has happened.
func beginnings() []emptyState {
	return []emptyState{
		{Text: "See in seconds, offline and in a folder of its own, how a run learns from an earlier one", Command: "reflectory try"},
		{Text: "Run a workflow of yours: its attempts appear here while it runs", Command: emptyStates["runs"].command},
		{Text: "Remember something, and recall it", Command: emptyStates["memories"].command},
		{Text: "Let an agent in, over MCP or HTTP, with a token of its own", Command: emptyStates["turns"].command},
	}
}
