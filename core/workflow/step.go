package workflow

import (
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// LLMPlugin is the plugin behind type: llm and llm.call. What an operator lets it
// reach is for the host to say.
const LLMPlugin = "reflectory/llm-eval"

// The plugins behind the other built-in types.
const (
	schemaPlugin = "reflectory/schema-eval"
	luaPlugin    = "reflectory/lua-eval"
)

// Default deadlines of calls (spec 1.4).
const (
	defaultTimeout    = 30 * time.Second
	defaultLLMTimeout = 120 * time.Second
)

// maxCompositeDepth bounds composites within composites: nobody reads more.
const maxCompositeDepth = 5

var (
	pluginForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}/[a-z][a-z0-9-]{0,63}$`)
	envForm    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	// neverTemplated are the keys of a plugin's config that stand as they are:
	// nothing in the state becomes a part of a program or a schema (spec 1.1).
	neverTemplated = []string{"code", "run", "schema"}
	childForm      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// step reads a generator, evaluator or corrector in any of its forms.
func (l *loader) step(n *document.Node, kind sdk.Kind) core.Step {
	b := l.block(n, string(kind))
	s := l.form(b, kind, 0)
	b.Done()
	return s
}

// form reads the keys of a step. The block's owner ends it.
func (l *loader) form(b *block, kind sdk.Kind, depth int) core.Step {
	switch { // the keys of the other forms stay unknown
	case b.Node.Get("action") != nil:
		return l.call(b, b.oneOf("action", actionLLM, actionLua, actionPlugin), kind)
	case b.Node.Get("type") != nil:
		return l.builtin(b, kind, depth)
	case b.Node.Get("run") != nil:
		return l.lua(b, kind)
	case b.Node.Get("plugin") != nil:
		return l.plugin(b, kind)
	}
	b.Lacks("write action:, type:, run: or plugin:", "the %s doesn't say what it is", kind)
	b.Ignore()
	return core.Step{}
}

// builtin reads {type: …}.
func (l *loader) builtin(b *block, kind sdk.Kind, depth int) core.Step {
	types := []string{"llm", "lua"}
	if kind == sdk.KindEvaluator {
		types = []string{"schema", "llm", "lua", "all", "any", "weighted"}
	}
	switch t := b.oneOf("type", types...); t {
	case "schema":
		return l.schema(b)
	case "llm":
		return l.llm(b, kind)
	case "lua":
		return l.lua(b, kind)
	case "all", "any", "weighted":
		return l.composite(b, core.CompositeKind(t), depth)
	}
	b.Ignore() // they belong to an unknown type
	return core.Step{}
}

// call reads the keys of an action that calls a plugin.
func (l *loader) call(b *block, action string, kind sdk.Kind) core.Step {
	switch action {
	case actionLLM:
		return l.llm(b, kind)
	case actionLua:
		return l.lua(b, kind)
	case actionPlugin:
		return l.plugin(b, kind)
	}
	b.Ignore()
	return core.Step{}
}

// use notes that the workflow needs a plugin.
func (l *loader) use(plugin string, kind sdk.Kind, env ...string) {
	if plugin == "" {
		return
	}
	u := l.plugins[plugin]
	if u == nil {
		u = &pluginUse{kinds: map[sdk.Kind]bool{}, env: map[string]bool{}, urls: map[string]bool{}}
		l.plugins[plugin] = u
	}
	u.kinds[kind] = true
	for _, name := range env {
		if name != "" {
			u.env[name] = true
		}
	}
}

// reach notes that a config of a plugin that is used names an endpoint.
func (l *loader) reach(plugin, url string) {
	if url != "" {
		l.plugins[plugin].urls[url] = true
	}
}

// timeout reads a step's deadline.
func timeout(b *block, absent time.Duration) time.Duration {
	if d := b.duration("timeout"); d > 0 {
		return d
	}
	return absent
}

// pluginHint says how to name a plugin in full.
func pluginHint(n *document.Node) string {
	for _, name := range []string{schemaPlugin, LLMPlugin, luaPlugin} {
		if n != nil && path.Base(name) == n.Text {
			return fmt.Sprintf("write its full name, %q", name)
		}
	}
	return "write its full name, publisher/name; `reflectory plugin list` shows them"
}

func (l *loader) plugin(b *block, kind sdk.Kind) core.Step {
	name := b.name("plugin", pluginForm, pluginHint(b.Get("plugin")))
	config := object{}
	if n := b.Typed("config", document.Mapping); n != nil {
		names := stateOnly()
		if kind == sdk.KindEvaluator {
			names = inJudgement()[1:]
		}
		for _, e := range n.Entries {
			if slices.Contains(neverTemplated, e.Key) {
				config = append(config, field{e.Key, constant(e.Value.JSON(nil))})
				continue
			}
			config = append(config, field{e.Key, l.part(e.Value, names)})
		}
	}
	l.use(name, kind)
	return core.Step{Plugin: name, Config: newValue(config, nil), Timeout: timeout(b, 0)} // 0 is the plugin's own
}

// lua reads code, which is never templated.
func (l *loader) lua(b *block, kind sdk.Kind) core.Step {
	b.only("code", "run")
	code := b.Typed("code", document.Text)
	if run := b.Typed("run", document.Text); code == nil {
		code = run
	}
	if code == nil {
		if b.Get("code") == nil && b.Get("run") == nil {
			b.Lacks("", "%s needs the key \"code\"", b.What)
		}
		code = &document.Node{Kind: document.Text}
	}
	l.use(luaPlugin, kind)
	return core.Step{
		Plugin:  luaPlugin,
		Config:  newValue(object{{"code", constant(code.JSON(nil))}}, nil),
		Timeout: timeout(b, defaultTimeout),
	}
}

// llm reads a call of a language model, as a judge or as a generator.
func (l *loader) llm(b *block, kind sdk.Kind) core.Step {
	names := stateOnly()
	judge := kind == sdk.KindEvaluator
	var config object
	var context part
	if judge {
		names = inJudgement()
		if n := b.Get("context"); n != nil {
			context = l.part(n, []string{"output", "state"})
			config = append(config, field{"context", context})
		}
		if n := b.Typed("examples", document.List); n != nil {
			config = append(config, field{"examples", l.part(n, names)})
		}
	} else {
		config = l.callParts(b, names)
	}
	for _, key := range []string{"model", "prompt", "system"} {
		if n := b.Typed(key, document.Text); n != nil {
			config = append(config, field{key, l.template(n, names, true)})
		}
	}
	if b.Get("temperature") != nil {
		b.number("temperature", 0, 2)
		config = append(config, field{"temperature", constant(b.Get("temperature").JSON(nil))})
	}
	if b.Get("max_tokens") != nil {
		b.integer("max_tokens", 1, math.MaxInt32)
		config = append(config, field{"max_tokens", constant(b.Get("max_tokens").JSON(nil))})
	}
	settings := maps.Clone(l.llmSettings)
	if n := b.Get("llm"); n != nil {
		maps.Copy(settings, l.connection(n, "llm"))
	}
	config = append(config, field{"llm", settings.part()})
	l.use(LLMPlugin, kind, settings.text("api_key_env"))
	l.reach(LLMPlugin, settings.text("base_url"))
	l.llmSteps = append(l.llmSteps, settings)
	return core.Step{Plugin: LLMPlugin, Config: newValue(config, context), Timeout: timeout(b, defaultLLMTimeout)}
}

// callParts reads what an llm.call has and a judge hasn't.
func (l *loader) callParts(b *block, names []string) (config object) {
	b.only("prompt", "messages")
	b.oneOf("parse", "json")
	if n := b.Get("parse"); n != nil {
		config = append(config, field{"parse", constant(n.JSON(nil))})
	}
	if n := b.Typed("messages", document.List); n != nil {
		config = append(config, field{"messages", l.messages(n, names)})
	}
	if b.Get("prompt") == nil && b.Get("messages") == nil {
		b.Lacks("", "llm.call needs the key \"prompt\" or \"messages\"")
	}
	return config
}

// messages reads a conversation.
func (l *loader) messages(n *document.Node, names []string) part {
	all := list{}
	for _, item := range n.Items {
		m := l.block(item, "a message")
		m.Need("role")
		role := m.oneOf("role", "system", "user", "assistant")
		content := part(constant(`""`))
		if m.Need("content") != nil {
			if c := m.Typed("content", document.Text); c != nil {
				content = l.template(c, names, true)
			}
		}
		m.Done()
		all = append(all, object{{"role", constant(core.MustJSON(role))}, {"content", content}})
	}
	if len(all) == 0 {
		l.Add(n.At, "", "messages is empty")
	}
	return all
}

// composite reads a list of named evaluators.
func (l *loader) composite(b *block, kind core.CompositeKind, depth int) core.Step {
	c := &core.Composite{Kind: kind, FailFast: b.Flag("fail_fast")}
	if kind == core.CompositeWeighted {
		c.Threshold = core.DefaultThreshold
		if n := b.Get("threshold"); n != nil {
			if c.Threshold = b.number("threshold", 0, 1); c.Threshold == 0 && n.Kind == document.Number {
				b.Add(n.At, "", "threshold must be above 0: every score reaches 0")
			}
		}
	}
	step := core.Step{Composite: c}
	b.Need("evaluators")
	children := b.Typed("evaluators", document.List)
	if children == nil {
		return step
	}
	if depth+1 >= maxCompositeDepth {
		l.Add(children.At, "", "composites are nested more than %d deep", maxCompositeDepth)
		return step
	}
	seen, sum := map[string]bool{}, 0.0
	for _, item := range children.Items {
		child := l.block(item, "evaluator")
		name := child.name("name", childForm, "a name is made of letters, digits, _, - and .")
		if seen[name] && name != "" {
			l.Add(child.Get("name").At, "", "there are two evaluators named %q", name)
		}
		seen[name] = true
		if kind == core.CompositeWeighted {
			weight := 1.0
			if child.Get("weight") != nil {
				weight = child.number("weight", 0, math.MaxFloat64)
			}
			c.Weights, sum = append(c.Weights, weight), sum+weight
		}
		s := l.form(child, sdk.KindEvaluator, depth+1)
		s.Name = name
		child.Done()
		c.Children = append(c.Children, s)
	}
	switch {
	case len(c.Children) == 0:
		l.Add(children.At, "", "evaluators is empty")
	case kind == core.CompositeWeighted && sum == 0:
		l.Add(children.At, "", "all weights are 0: at least one must count")
	}
	return step
}
