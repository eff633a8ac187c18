package workflow

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// toolNameForm is what all endpoints accept as the name of a tool.
var toolNameForm = core.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// toolset reads the tools of a call, and returns what the model reads about them.
func (l *loader) toolset(b *block) (tools *action.Toolset, config object) {
	n := b.Typed("tools", document.List)
	if n == nil {
		for _, key := range []string{"max_steps", "tool_choice", "parallel_tool_calls"} {
			if n := b.Get(key); n != nil {
				l.Add(n.At, "", "%s needs tools", key)
			}
		}
		return nil, nil
	}
	tools = &action.Toolset{MaxSteps: action.DefaultToolSteps}
	if b.Get("max_steps") != nil {
		tools.MaxSteps = b.integer("max_steps")
	}
	names, offered := map[string]bool{"auto": true, "none": true, "required": true}, list{}
	for _, item := range n.Items {
		tool, described := l.tool(item)
		if names[tool.Name] {
			l.Add(item.At, "give it another name", "the name %q is taken", tool.Name)
		}
		names[tool.Name] = true
		tools.Tools, offered = append(tools.Tools, tool), append(offered, described)
	}
	if len(offered) == 0 {
		l.Add(n.At, "", "tools is empty")
	}
	config = object{{"tools", offered}}
	if n := b.Typed("tool_choice", document.Text); n != nil {
		if !names[n.Text] {
			l.Add(n.At, "", "tool_choice must be auto, none, required or the name of a tool")
		}
		config = append(config, field{"tool_choice", constant(n.JSON(nil))})
	}
	if n := b.Typed("parallel_tool_calls", document.Bool); n != nil {
		config = append(config, field{"parallel_tool_calls", constant(n.JSON(nil))})
	}
	if n := b.Get("cache"); n != nil && b.Flag("cache") {
		l.Add(n.At, "leave out cache", "a call with tools isn't cached: what they do would be left out")
	}
	return tools, config
}

// tool reads a tool. Its state is what the model passes.
func (l *loader) tool(n *document.Node) (tool action.Tool, described object) {
	b := l.block(n, "a tool", blockTool)
	defer b.Done()
	b.only(toolForms...)
	form := ""
	for _, key := range toolForms {
		if b.Get(key) != nil {
			form = key
			break
		}
	}
	described = object{}
	switch form {
	case "plugin":
		tool.Step = l.plugin(b, sdk.KindGenerator)
		name, _, _ := strings.Cut(path.Base(tool.Step.Plugin), "@")
		tool.Name = name
	case "run":
		tool.Step, tool.Idempotent = l.lua(b, sdk.KindGenerator), true
		b.Need("name")
	case "mcp":
		l.mcpTool(b, &tool)
	case "workflow":
		described = l.workflowTool(b, &tool)
	case "action":
		described = l.recallTool(b, &tool)
	default:
		b.Typed("with", document.Mapping)
		b.Lacks("write plugin:, mcp:, workflow:, action: or run:", "a tool doesn't say what it is")
	}
	for key, forms := range map[string][]string{
		"config": {"plugin"}, "version": {"plugin"}, "tool": {"mcp"}, "arguments": {"mcp"}, "with": {"action"},
		"timeout": {"plugin", "mcp", "run"}, "idempotent": {"plugin", "mcp"},
	} {
		if n := b.Get(key); n != nil && form != "" && !slices.Contains(forms, form) {
			l.Add(n.At, "", "a tool with %s can't have %s", form, key)
		}
	}
	if b.Get("idempotent") != nil {
		tool.Idempotent = b.Flag("idempotent")
	}
	if b.Get("name") != nil {
		tool.Name = b.name("name", "use letters, digits, _ and -, at most 64")
	} else if form != "" && !toolNameForm().MatchString(tool.Name) {
		b.Need("name")
	}
	described = append(described, field{"name", constant(jsontext.MustEncode(tool.Name))})
	if n := b.Typed("description", document.Text); n != nil {
		described = described.with("description", constant(n.JSON(nil)))
	}
	if n := b.Typed("parameters", document.Mapping); n != nil {
		described = described.with("parameters", constant(n.JSON(nil)))
	}
	return tool, described
}

// toolForms are the keys that say what a tool is.
var toolForms = []string{"plugin", "run", "mcp", "workflow", "action"}

// mcpTool reads a tool of an MCP server. Its plugin says what the workflow doesn't say of it.
func (l *loader) mcpTool(b *block, tool *action.Tool) {
	server := b.name("mcp", "write the name under which the server was added, as the list of installed plugins shows it")
	if server != "" && !strings.Contains(server, "/") {
		server = mcpPublisher + server
	}
	b.Need("tool")
	name := constant(`""`)
	if n := b.Typed("tool", document.Text); n != nil {
		name, tool.Name = constant(n.JSON(nil)), n.Text
	}
	arguments := l.inserted("{{ state }}")
	if n := b.Typed("arguments", document.Mapping); n != nil {
		arguments = l.part(n, stateOnly())
	}
	tool.Step = action.Step{Plugin: server, Config: newValue(object{{"tool", name}, {"arguments", arguments}}, nil), Timeout: timeout(b, 0)}
	tool.Define, _ = object{{"tool", name}, {"define", constant("true")}}.append(nil, nil) // no template can fail
	l.use(server, sdk.KindGenerator)
}

// inserted is a template of the loader's own.
func (l *loader) inserted(text string) part {
	return l.template(&document.Node{Kind: document.Text, Text: text}, stateOnly(), false)
}

// recallTool reads a recall.
func (l *loader) recallTool(b *block, tool *action.Tool) object {
	if b.oneOf("action") == "" {
		return object{}
	}
	tool.Name, tool.Idempotent = "recall", true
	tool.Recall = &action.MemorySpec{Verb: action.VerbRecall, Request: newValue(object{{"query", l.inserted("{{ state.query }}")}}, nil)}
	if n := b.Typed("with", document.Mapping); n != nil {
		with := l.block(n, "with", actionRecall)
		tool.Recall = l.memory(with, action.VerbRecall).(*action.MemorySpec)
		with.Done()
	}
	return object{
		{"description", constant(`"Finds what was remembered about a question, given in words."`)},
		{"parameters", constant(`{"type": "object", "properties": {"query": {"type": "string", "description": "what to look for, in words"}}, "required": ["query"]}`)},
	}
}

// maxToolDepth is how deep workflows may call each other as tools.
const maxToolDepth = 3

// workflowTool reads a workflow next to this one.
func (l *loader) workflowTool(b *block, tool *action.Tool) object {
	n := b.Typed("workflow", document.Text)
	if n == nil {
		return object{}
	}
	tool.Name, tool.Idempotent = strings.TrimSuffix(n.Text, path.Ext(n.Text)), true
	text, there := l.source.Files[n.Text]
	chain := append(slices.Clip(l.chain), n.Text)
	switch {
	case !isPlain(n.Text):
		l.Add(n.At, "put the file there", "%q is not in the workflow's folder itself", core.Cut(n.Text))
		return object{}
	case slices.Contains(l.chain, n.Text):
		l.Add(n.At, "", "the workflow %s would call itself: %s", n.Text, strings.Join(chain, " → "))
		return object{}
	case len(l.chain) > maxToolDepth:
		l.Add(n.At, "", "workflows call each other more than %d deep: %s", maxToolDepth, strings.Join(chain, " → "))
		return object{}
	case !there:
		l.Add(n.At, "", "there is no file %q in the workflow's folder", core.Cut(n.Text))
		return object{}
	}
	source := core.Source{File: filepath.Join(filepath.Dir(l.source.File), n.Text), Text: text, Files: l.source.Files, Folder: l.source.Folder}
	inner := newLoader(source, l.opts)
	inner.chain = chain
	plan, err := inner.load()
	if err != nil {
		l.Add(n.At, sdk.AsError(err).Hint, "%v", err)
		return object{}
	}
	l.merge(plan.plugins)
	tool.Workflow, l.tools = &source, append(l.tools, ToolPlan{Name: tool.Name, Plan: plan})
	if plan.Description == "" {
		return object{}
	}
	return object{{"description", constant(jsontext.MustEncode(plan.Description))}}
}

// isPlain reports whether a name is of a file in a folder itself.
func isPlain(name string) bool {
	clean, ok := inFolder(name)
	return ok && clean == name && !strings.Contains(name, "/") && name != "."
}

// merge adds the plugins that the workflow of a tool needs.
func (l *loader) merge(plugins map[string]*pluginUse) {
	for name, use := range plugins {
		for kind := range use.kinds {
			l.use(name, kind)
		}
		own := l.plugins[name]
		maps.Copy(own.env, use.env)
		maps.Copy(own.urls, use.urls)
		maps.Copy(own.keys, use.keys)
		maps.Copy(own.versions, use.versions)
	}
}
