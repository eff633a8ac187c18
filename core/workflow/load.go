package workflow

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a workflow.
const (
	maxNodes     = 1000
	maxStepLimit = 1_000_000
	maxGotos     = 100
)

var nodeForm = core.Pattern(`^[a-z][a-z0-9_]{0,63}$`)

// Options are what loading needs from its caller.
type Options struct {
	// Expressions compiles conditions. Required.
	Expressions policypoint.Expressions
}

// Single is a step in its own file, for commands that run one without a workflow.
type Single struct {
	Step action.Step
	// Plugins are the plugins that it needs, sorted by name.
	Plugins []PluginUse
}

// loader reads one file.
type loader struct {
	*document.Problems
	source core.Source
	opts   Options
	// llmSettings is settings.llm.
	llmSettings connection
	// llmSteps are the connections of the model calls in the current loop.
	llmSteps []connection
	plugins  map[string]*pluginUse
	// chain are the files of the workflows that call this one as a tool, and its own.
	chain []string
	tools []ToolPlan
	// messageBytes is how many bytes the files of the current messages have.
	messageBytes int
}

func newLoader(source core.Source, opts Options) *loader {
	return &loader{
		Problems: &document.Problems{File: source.File}, source: source, opts: opts,
		llmSettings: connection{}, plugins: map[string]*pluginUse{}, chain: []string{filepath.Base(source.File)},
	}
}

// Load checks a workflow and returns its plan. If there are problems, the error is
// sdk.Invalid, reason "workflow_invalid": it lists every problem with its position, and
// has them as []document.Problem in the detail "problems".
func Load(source core.Source, opts Options) (*Plan, error) {
	return newLoader(source, opts).load()
}

func (l *loader) load() (*Plan, error) {
	p := &Plan{StepLimit: DefaultStepLimit, plugins: l.plugins}
	if root := l.parse(); root != nil {
		l.workflow(root, p)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	p.Tools = l.tools
	return p, nil
}

// LoadEvaluator loads a file with the content of evaluator:, with or without that key.
// Its errors are [Load]'s.
func LoadEvaluator(source core.Source, opts Options) (*Single, error) {
	return loadSingle(source, opts, "evaluator", sdk.KindEvaluator)
}

// LoadCorrector loads a file with the content of corrector:, with or without that key.
// Its errors are [Load]'s.
func LoadCorrector(source core.Source, opts Options) (*Single, error) {
	return loadSingle(source, opts, "corrector", sdk.KindCorrector)
}

func loadSingle(source core.Source, opts Options, key string, kind sdk.Kind) (*Single, error) {
	l := newLoader(source, opts)
	s := &Single{}
	if root := l.parse(); root != nil {
		if under := root.Get(key); under != nil && len(root.Entries) == 1 {
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

func (l *loader) parse() *document.Node {
	return document.Read(l.source.Text, limits(MaxFile), l.Problems)
}

// err is the one error that lists every problem, or nil.
func (l *loader) err() error { return l.Err("workflow_invalid") }

func (l *loader) workflow(root *document.Node, p *Plan) {
	b := l.block(root, "the workflow", blockWorkflow)
	if p.Name = strings.TrimSpace(b.Text("name")); p.Name == "" {
		base := path.Base(strings.ReplaceAll(l.source.File, `\`, "/"))
		p.Name = strings.TrimSuffix(base, path.Ext(base))
	}
	if p.Name == core.AgentTurns || strings.HasPrefix(p.Name, core.RequestPrefix) {
		l.Add(b.Get("name").At, "", "a workflow can't be named %q: the name is reserved", p.Name)
	}
	p.Description = strings.TrimSpace(b.Text("description"))
	p.Examples = l.examples(b.Typed("examples", document.List))
	if n := b.Get("settings"); n != nil {
		l.settings(n, p)
	}
	p.State = l.state(b.Typed("state", document.Mapping))
	b.Need("nodes")
	nodes := b.Typed("nodes", document.List)
	b.Done()
	switch {
	case nodes == nil:
		return
	case len(nodes.Items) == 0:
		l.Add(nodes.At, "", "a workflow needs at least one node")
	case len(nodes.Items) > maxNodes:
		l.Add(nodes.At, "", "the workflow has %d nodes, more than %d", len(nodes.Items), maxNodes)
		return
	}
	l.nodes(nodes.Items, p)
}

func (l *loader) settings(n *document.Node, p *Plan) {
	b := l.block(n, "settings", blockSettings)
	if b.Get("step_limit") != nil {
		p.StepLimit = b.integer("step_limit")
	}
	p.Digests = b.oneOf("record") == core.PromptDigests
	if llm := b.Get("llm"); llm != nil {
		l.llmSettings = l.connection(llm, "settings.llm")
		p.LLM = jsontext.MustEncode(l.llmSettings)
	}
	b.Done()
}

// state is the initial state, which has no templates: nothing comes before it.
func (l *loader) state(n *document.Node) []byte {
	if n == nil {
		return []byte("{}")
	}
	for _, e := range n.Entries {
		if strings.HasPrefix(e.Key, core.ReservedPrefix) {
			l.Add(e.At, "choose a name that doesn't begin with "+core.ReservedPrefix, "state.%s is reserved", e.Key)
		}
	}
	return n.JSON(nil)
}

// maxExamples is how many examples a workflow may have: each is looked at in a discovery.
const maxExamples = 20

// examples reads the texts that describe in other words what a workflow is for.
func (l *loader) examples(list *document.Node) (texts []string) {
	if list == nil {
		return nil
	}
	if len(list.Items) > maxExamples {
		l.Add(list.Items[maxExamples].At, "", "there are %d examples (limit %d)", len(list.Items), maxExamples)
	}
	for _, item := range list.Items {
		if item.Kind != document.Text {
			l.Add(item.At, "", "an example must be %s, not %s", document.Text, item.Kind)
			continue
		}
		texts = append(texts, strings.TrimSpace(item.Text))
	}
	return texts
}

func (l *loader) nodes(items []*document.Node, p *Plan) {
	names := []string{End}
	for _, item := range items {
		if name := item.Get("name"); name != nil && name.Kind == document.Text {
			names = append(names, name.Text)
		}
	}
	seen := map[string]bool{}
	for _, item := range items {
		b := l.block(item, "a node", blockNode)
		n := Node{Name: b.name("name", "a node's name is made of a-z, 0-9 and _, and begins with a letter")}
		switch {
		case strings.HasPrefix(n.Name, core.ReservedPrefix) || n.Name == End:
			l.Add(b.Get("name").At, "", "a node can't be named %q: the name is reserved", n.Name)
		case seen[n.Name] && n.Name != "":
			l.Add(b.Get("name").At, "", "there are two nodes named %q", n.Name)
		}
		seen[n.Name] = true
		b.Need("action")
		n.ActionName = b.oneOf("action")
		with := b.Need("with")
		n.When = l.expression(b, "when", policypoint.When)
		n.Goto = l.gotos(b.Typed("goto", document.List), names)
		b.Done()
		if n.ActionName != "" && with != nil {
			n.Action = l.action(n.ActionName, with)
		}
		p.Nodes = append(p.Nodes, n)
	}
}

func (l *loader) gotos(n *document.Node, names []string) []Goto {
	if n == nil {
		return nil
	}
	if len(n.Items) > maxGotos {
		l.Add(n.At, "", "a node has at most %d ways to leave it", maxGotos)
		return nil
	}
	var ways []Goto
	for _, item := range n.Items {
		b := l.block(item, "goto", blockGoto)
		b.Need("to")
		g := Goto{When: l.expression(b, "when", policypoint.When), To: b.Text("to")}
		if to := b.Typed("to", document.Text); to != nil && !slices.Contains(names, g.To) {
			l.Add(to.At, l.DidYouMean(g.To, names), "there is no node %q to go to", core.Cut(g.To))
		}
		b.Done()
		ways = append(ways, g)
	}
	return ways
}
