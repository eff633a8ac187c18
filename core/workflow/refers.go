package workflow

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// notes collects which recalls the calls of a visit referred to, and which memories
// they used.
type notes struct {
	mu           sync.Mutex
	refers, used map[string]bool
	given        []string
	prompts      []core.Prompt
}

func (n *notes) give(ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.given = append(n.given, ids...)
}

func (n *notes) prompt(p core.Prompt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.prompts = append(n.prompts, p)
}

func (n *notes) add(refers, used []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refers == nil {
		n.refers, n.used = map[string]bool{}, map[string]bool{}
	}
	for _, name := range refers {
		n.refers[name] = true
	}
	for _, id := range used {
		n.used[id] = true
	}
}

// into puts the notes that concern the run's turns into the visit's record.
func (n *notes) into(v *core.Visit, t *turns) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.refers, func(name string, _ bool) bool { return !t.recalls(name) })
	v.Refers, v.Used = slices.Sorted(maps.Keys(n.refers)), slices.Sorted(maps.Keys(n.used))
	slices.Sort(n.given)
	v.Given, v.Prompts = slices.Compact(n.given), n.prompts
}

// reads finds the names that a template or a script reads from the state.
var reads = core.Pattern(`\bstate(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[\s*["']([^"'\]]+)["']\s*\])`)

// Whether more of the state is read than reads finds: the variable is found by word, and member
// shows that only a member of it is read. tags are what a template computes, and quoted are
// texts in it. In a script the word may also stand in a text or a comment, so it must be where a
// value is given, or indexed.
var (
	word   = core.Pattern(`(?:^|[^\w."'])state\b`)
	member = core.Pattern(`^(?:\.[A-Za-z_]\w*(?:[^\w(]|$)|\[\s*["'])`)
	tags   = core.Pattern(`(?s)\{\{.*?\}\}|\{%.*?%\}`)
	quoted = core.Pattern(`"[^"]*"|'[^']*'`)
	given  = core.Pattern(`(?:[=(,{]|\b(?:return|in|and|or))\s*$`)
)

// whole reports whether a template or a script reads the state as a whole, or by a computed name.
func whole(text string, script bool) bool {
	parts := []string{text}
	if !script {
		parts = tags().FindAllString(text, -1)
	}
	for _, part := range parts {
		if !script {
			part = quoted().ReplaceAllString(part, `""`)
		}
		for _, at := range word().FindAllStringIndex(part, -1) {
			before, after := part[:at[1]-len("state")], part[at[1]:]
			inScript := given().MatchString(before) || strings.HasPrefix(after, "[")
			if !member().MatchString(after) && (!script || inScript) {
				return true
			}
		}
	}
	return false
}

// refers are the names that a step's block reads from the state, sorted. A plugin that
// isn't built in and names nothing gets the whole state, and may read anything in it.
func refers(n *document.Node, s *action.Step) []string {
	if s.Composite != nil {
		return nil // its children are checked instead
	}
	names := map[string]bool{}
	gather(n, "", names)
	if len(names) == 0 && s.Plugin != "" && !slices.Contains([]string{LLMPlugin, LuaPlugin, schemaPlugin}, s.Plugin) {
		return []string{action.RefersToAll}
	}
	return slices.Sorted(maps.Keys(names))
}

// gather collects the names that the value of a key reads.
func gather(n *document.Node, key string, names map[string]bool) {
	if n == nil {
		return
	}
	if n.Kind == document.Text {
		if whole(n.Text, key == "code" || key == "run") {
			names[action.RefersToAll] = true
		}
		for _, m := range reads().FindAllStringSubmatch(n.Text, -1) {
			names[m[1]+m[2]] = true
		}
	}
	for _, e := range n.Entries {
		gather(e.Value, e.Key, names)
	}
	for _, item := range n.Items {
		gather(item, key, names)
	}
}
