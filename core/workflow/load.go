package workflow

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a workflow.
const (
	maxNodes     = 1000
	maxStepLimit = 1_000_000
	maxGotos     = 100
)

var nodeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Options are what loading needs from outside.
type Options struct {
	// Expressions compiles conditions. Required.
	Expressions core.Expressions
}

// Single is a step that stands in a file of its own, for commands that run one
// without a workflow.
type Single struct {
	Step core.Step
	// Plugins are the plugins that it needs, sorted by name.
	Plugins []PluginUse
}

// loader reads one file.
type loader struct {
	*problems
	source core.Source
	opts   Options
	// llmSettings is settings.llm.
	llmSettings connection
	// llmSteps are the connections of the model calls of the loop at hand.
	llmSteps []connection
	plugins  map[string]*pluginUse
}

func newLoader(source core.Source, opts Options) *loader {
	return &loader{
		problems: &problems{file: source.File}, source: source, opts: opts,
		llmSettings: connection{}, plugins: map[string]*pluginUse{},
	}
}

// Load checks a workflow and returns its plan. The error of a bad one is
// sdk.Invalid, reason "workflow_invalid": it lists every problem with its
// place, and holds them as []Problem in the detail "problems".
func Load(source core.Source, opts Options) (*Plan, error) {
	l := newLoader(source, opts)
	p := &Plan{StepLimit: DefaultStepLimit, plugins: l.plugins}
	if root := l.parse(); root != nil {
		l.workflow(root, p)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// LoadEvaluator loads a file that holds what stands under evaluator:, with or
// without that key. Errors are those of [Load].
func LoadEvaluator(source core.Source, opts Options) (*Single, error) {
	return loadSingle(source, opts, "evaluator", sdk.KindEvaluator)
}

// LoadCorrector loads a file that holds what stands under corrector:, with or
// without that key. Errors are those of [Load].
func LoadCorrector(source core.Source, opts Options) (*Single, error) {
	return loadSingle(source, opts, "corrector", sdk.KindCorrector)
}

func loadSingle(source core.Source, opts Options, key string, kind sdk.Kind) (*Single, error) {
	l := newLoader(source, opts)
	s := &Single{}
	if root := l.parse(); root != nil {
		if under := root.get(key); under != nil && len(root.entries) == 1 {
			root = under
		}
		s.Step = l.step(root, kind)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	s.Plugins = sortedUses(l.plugins)
	return s, nil
}

func (l *loader) parse() *node {
	if len(l.source.Text) > MaxFile {
		l.add(pos{1, 1}, "", "the file has %d bytes, more than %d", len(l.source.Text), MaxFile)
		return nil
	}
	return parseYAML(l.source.Text, l.problems)
}

func (l *loader) workflow(root *node, p *Plan) {
	b := l.block(root, "the workflow")
	if p.Name = strings.TrimSpace(b.text("name")); p.Name == "" {
		base := path.Base(strings.ReplaceAll(l.source.File, `\`, "/"))
		p.Name = strings.TrimSuffix(base, path.Ext(base))
	}
	if n := b.get("settings"); n != nil {
		l.settings(n, p)
	}
	p.State = l.state(b.typed("state", kindMapping))
	b.need("nodes")
	nodes := b.typed("nodes", kindList)
	b.done()
	switch {
	case nodes == nil:
		return
	case len(nodes.items) == 0:
		l.add(nodes.at, "", "a workflow needs at least one node")
	case len(nodes.items) > maxNodes:
		l.add(nodes.at, "", "the workflow has %d nodes, more than %d", len(nodes.items), maxNodes)
		return
	}
	l.nodes(nodes.items, p)
}

func (l *loader) settings(n *node, p *Plan) {
	b := l.block(n, "settings")
	if b.get("step_limit") != nil {
		p.StepLimit = b.integer("step_limit", 1, maxStepLimit)
	}
	if llm := b.get("llm"); llm != nil {
		l.llmSettings = l.connection(llm, "settings.llm")
		p.LLM = core.MustJSON(l.llmSettings)
	}
	b.done()
}

// state is the initial state, which isn't templated: there is nothing before it.
func (l *loader) state(n *node) []byte {
	if n == nil {
		return []byte("{}")
	}
	for _, e := range n.entries {
		if strings.HasPrefix(e.key, ReservedPrefix) {
			l.add(e.at, "choose a name that doesn't begin with "+ReservedPrefix, "state.%s is reserved", e.key)
		}
	}
	return n.json(nil)
}

func (l *loader) nodes(items []*node, p *Plan) {
	var names []string
	for _, item := range items {
		if name := item.get("name"); name != nil && name.kind == kindText {
			names = append(names, name.text)
		}
	}
	seen := map[string]bool{}
	for _, item := range items {
		b := l.block(item, "a node")
		n := Node{Name: b.name("name", nodeForm, "a node's name is made of a-z, 0-9 and _, and begins with a letter")}
		switch {
		case strings.HasPrefix(n.Name, ReservedPrefix) || n.Name == End:
			l.add(b.get("name").at, "", "a node can't be named %q: the name is reserved", n.Name)
		case seen[n.Name] && n.Name != "":
			l.add(b.get("name").at, "", "there are two nodes named %q", n.Name)
		}
		seen[n.Name] = true
		b.need("action")
		n.ActionName = b.oneOf("action", actionNames()...)
		with := b.need("with")
		n.When = l.expression(b, "when", core.PointWhen)
		n.Goto = l.gotos(b.typed("goto", kindList), names)
		b.done()
		if n.ActionName != "" && with != nil {
			n.Action = l.action(n.ActionName, with)
		}
		p.Nodes = append(p.Nodes, n)
	}
}

func (l *loader) gotos(n *node, names []string) []Goto {
	if n == nil {
		return nil
	}
	if len(n.items) > maxGotos {
		l.add(n.at, "", "a node has at most %d ways to leave it", maxGotos)
		return nil
	}
	var ways []Goto
	for _, item := range n.items {
		b := l.block(item, "goto")
		b.need("to")
		g := Goto{When: l.expression(b, "when", core.PointWhen), To: b.text("to")}
		if to := b.typed("to", kindText); to != nil && g.To != End && !slices.Contains(names, g.To) {
			l.add(to.at, didYouMean(g.To, append(slices.Clone(names), End)), "there is no node %q to go to", g.To)
		}
		b.done()
		ways = append(ways, g)
	}
	return ways
}
