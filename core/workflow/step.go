package workflow

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// LLMPlugin is the plugin behind type: llm and llm.call. The host decides what it may
// reach.
const LLMPlugin = "reflectory/llm-eval"

// LuaPlugin is the plugin behind type: lua.
const LuaPlugin = "reflectory/lua-eval"

// schemaPlugin is the plugin behind type: schema.
const schemaPlugin = "reflectory/schema-eval"

// mcpPublisher is the publisher of an MCP server that is named without one.
const mcpPublisher = "mcp/"

// checksPlugin is the plugin behind type: checks.
const checksPlugin = "reflectory/checks-eval"

// commandPlugin is the plugin behind type: command.
const commandPlugin = "reflectory/command-eval"

// Default deadlines of calls.
const (
	defaultTimeout    = 30 * time.Second
	defaultLLMTimeout = 120 * time.Second
	// defaultCommandTimeout is how long a program may run. Its call may take longer by
	// commandMargin, and as long again to fill caches: its own time limit is a verdict, the call's
	// a failure.
	defaultCommandTimeout = 5 * time.Minute
	commandMargin         = time.Minute
)

var (
	pluginForm = core.Pattern(`^[a-z][a-z0-9-]{0,63}/[a-z][a-z0-9-]{0,63}(@[0-9A-Za-z.+-]{1,64})?$`)
	serverForm = core.Pattern(`^([a-z][a-z0-9-]{0,63}/)?[a-z][a-z0-9-]{0,63}$`)
	envForm    = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	// neverTemplated are the keys of a plugin's config that never have templates: nothing
	// in the state becomes part of a program or a schema.
	neverTemplated = []string{"code", "run", "schema"}
	// programs are the checks whose texts never have templates, for the same reason.
	programs  = []string{"cel", "matches", "not_matches"}
	childForm = core.Pattern(`^[A-Za-z0-9_.-]{1,64}$`)
)

// step reads a generator, evaluator or corrector in any of its forms.
func (l *loader) step(n *document.Node, kind sdk.Kind) action.Step {
	b := l.block(n, string(kind))
	if kind == sdk.KindEvaluator {
		b.has(formJudge)
	}
	s := l.form(b, kind, 0)
	if kind == sdk.KindEvaluator {
		s.Parse = b.parse()
	}
	s.Refers = refers(b.Node, &s)
	b.Done()
	return s
}

// parse reads parse: json of a judge.
func (b *block) parse() bool { return b.oneOf("parse") != "" }

// form reads the keys of a step. The caller calls the block's Done.
func (l *loader) form(b *block, kind sdk.Kind, depth int) action.Step {
	switch { // the keys of the other forms stay unknown
	case b.Node.Get("action") != nil:
		b.has(formAction)
		return l.call(b, b.oneOf("action"), kind)
	case b.Node.Get("type") != nil:
		return l.builtin(b, kind, depth)
	case b.Node.Get("run") != nil:
		return l.lua(b, kind)
	case b.Node.Get("plugin") != nil:
		return l.plugin(b, kind)
	}
	b.Lacks("write action:, type:, run: or plugin:", "the %s doesn't say what it is", kind)
	b.Ignore()
	return action.Step{}
}

// builtin reads {type: …}.
func (l *loader) builtin(b *block, kind sdk.Kind, depth int) action.Step {
	b.has(formType)
	types := stepTypes
	if kind == sdk.KindEvaluator {
		types = judgeTypes
	}
	switch t := b.among("type", types); t {
	case "schema":
		return l.schema(b)
	case "checks":
		return l.checks(b)
	case "mcp":
		return l.mcp(b, kind)
	case "llm":
		return l.llm(b, kind)
	case "lua":
		return l.lua(b, kind)
	case "command":
		return l.command(b, kind)
	case "all", "any", "weighted":
		return l.composite(b, loop.CompositeKind(t), depth)
	}
	b.Ignore() // they belong to an unknown type
	return action.Step{}
}

// call reads the keys of an action that calls a plugin.
func (l *loader) call(b *block, name string, kind sdk.Kind) action.Step {
	switch name {
	case actionLLM:
		return l.llm(b, kind)
	case actionLua:
		return l.lua(b, kind)
	case actionCommand:
		return l.command(b, kind)
	case actionPlugin:
		return l.plugin(b, kind)
	case actionMCP:
		return l.mcp(b, kind)
	}
	b.Ignore()
	return action.Step{}
}

// use notes that the workflow needs a plugin.
func (l *loader) use(plugin string, kind sdk.Kind, env ...string) {
	if plugin == "" {
		return
	}
	u := l.plugins[plugin]
	if u == nil {
		u = &pluginUse{kinds: map[sdk.Kind]bool{}, env: map[string]bool{}, urls: map[string]bool{}, keys: map[KeyUse]bool{}, versions: map[string]bool{}}
		l.plugins[plugin] = u
	}
	u.kinds[kind] = true
	for _, name := range env {
		if name != "" {
			u.env[name] = true
		}
	}
}

// reach notes that a config of a plugin names an endpoint, and a variable whose value is sent
// there.
func (l *loader) reach(plugin, url, env string) {
	if url != "" {
		l.plugins[plugin].urls[url] = true
	}
	if env != "" {
		l.plugins[plugin].keys[KeyUse{url, env}] = true
	}
}

// timeout reads a step's deadline.
func timeout(b *block, absent time.Duration) time.Duration {
	if d := b.duration("timeout"); d > 0 {
		return d
	}
	return absent
}

// pluginHint describes how to name a plugin in full.
func pluginHint(n *document.Node) string {
	for _, name := range []string{schemaPlugin, checksPlugin, LLMPlugin, LuaPlugin, commandPlugin} {
		if n != nil && path.Base(name) == n.Text {
			return fmt.Sprintf("write its full name, %q", name)
		}
	}
	return "write its full name, publisher/name, as the list of installed plugins shows it"
}

func (l *loader) plugin(b *block, kind sdk.Kind) action.Step {
	b.has(formPlugin)
	name := b.name("plugin", pluginHint(b.Get("plugin")))
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
	if b.Get("version") != nil && name != "" {
		versions := b.name("version", `write a range in quotes, such as "^1.2", "~1.2.3" or ">=1.2 <1.9"`)
		l.plugins[name].versions[versions] = true
	}
	return action.Step{Plugin: name, Config: newValue(config, nil), Timeout: timeout(b, 0)} // 0 is the plugin's own
}

// checks reads a list of checks, which the plugin itself knows.
func (l *loader) checks(b *block) action.Step {
	b.has(formChecks)
	b.Need("all")
	items := list{}
	if n := b.Typed("all", document.List); n != nil {
		for _, item := range n.Items {
			items = append(items, l.check(item))
		}
	}
	l.use(checksPlugin, sdk.KindEvaluator)
	return action.Step{Plugin: checksPlugin, Config: newValue(object{{"all", items}}, nil), Timeout: timeout(b, defaultTimeout)}
}

// mcp reads a call of a tool of an MCP server, which is a plugin.
func (l *loader) mcp(b *block, kind sdk.Kind) action.Step {
	form, names := formMCP, stateOnly()
	if kind == sdk.KindEvaluator {
		form, names = formMCPJudge, inJudgement()[1:]
	}
	b.has(form)
	plugin := b.name("server", "write the name under which the server was added, as the list of installed plugins shows it")
	if plugin != "" && !strings.Contains(plugin, "/") {
		plugin = mcpPublisher + plugin
	}
	config := object{}
	b.Need("tool")
	for _, key := range []string{"tool", "verdict"} { // neither has templates
		if n := b.Get(key); n != nil && (key == "tool" || kind == sdk.KindEvaluator) {
			if n = b.Typed(key, document.Text); n != nil {
				config = append(config, field{key, constant(n.JSON(nil))})
			}
		}
	}
	if n := b.Typed("arguments", document.Mapping); n != nil {
		config = append(config, field{"arguments", l.part(n, names)})
	}
	l.use(plugin, kind)
	return action.Step{Plugin: plugin, Config: newValue(config, nil), Timeout: timeout(b, 0)} // 0 is the plugin's own
}

func (l *loader) check(n *document.Node) part {
	if n.Kind != document.Mapping {
		return constant(n.JSON(nil))
	}
	o := object{}
	for _, e := range n.Entries {
		if slices.Contains(programs, e.Key) {
			o = append(o, field{e.Key, constant(e.Value.JSON(nil))})
			continue
		}
		o = append(o, field{e.Key, l.part(e.Value, inJudgement()[1:])})
	}
	return o
}

// command reads a program, whose plugin knows most of the keys. Nothing in the state becomes part of
// a program or of what it may change: only its input is a template.
func (l *loader) command(b *block, kind sdk.Kind) action.Step {
	b.has(formCommand)
	b.only("run", "sh")
	if b.Get("run") == nil && b.Get("sh") == nil {
		b.Lacks("", "%s needs the key \"run\" or \"sh\"", b.What)
	}
	limit := timeout(b, defaultCommandTimeout)
	config := object{{"timeout", constant(jsontext.MustEncode(limit.String()))}}
	for _, key := range []struct {
		name string
		kind document.Kind
	}{
		{"run", document.List}, {"sh", document.Text}, {"workspace", document.Mapping}, {"report_file", document.Text}, {"limits", document.Mapping},
		{"caches", document.Mapping}, {"env", document.List}, {"exit", document.Mapping}, {"allow_empty", document.Bool}, {"in_process", document.Bool},
	} {
		if n := b.Typed(key.name, key.kind); n != nil {
			config = append(config, field{key.name, constant(n.JSON(nil))})
		}
	}
	for _, name := range []string{"put", "report", "baseline"} {
		if n := b.Get(name); n != nil {
			config = append(config, field{name, constant(n.JSON(nil))})
		}
	}
	if word := b.oneOf("fail_on"); word != "" {
		config = append(config, field{"fail_on", constant(jsontext.MustEncode(word))})
	}
	if n := b.Typed("stdin", document.Text); n != nil {
		config = append(config, field{"stdin", l.part(n, stateOnly())})
	}
	l.use(commandPlugin, kind)
	return action.Step{Plugin: commandPlugin, Config: newValue(config, nil), Timeout: 2*limit + commandMargin}
}

// lua reads code, which is never templated.
func (l *loader) lua(b *block, kind sdk.Kind) action.Step {
	b.has(formLua)
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
	l.use(LuaPlugin, kind)
	return action.Step{
		Plugin:  LuaPlugin,
		Config:  newValue(object{{"code", constant(code.JSON(nil))}}, nil),
		Timeout: timeout(b, defaultTimeout),
	}
}
