package workflow

import (
	"path"
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

// tool reads a tool: a plugin or a script, whose state is what the model passes.
func (l *loader) tool(n *document.Node) (tool action.Tool, described object) {
	b := l.block(n, "a tool", blockTool)
	defer b.Done()
	b.only("plugin", "run")
	switch {
	case b.Get("plugin") != nil:
		tool.Step = l.plugin(b, sdk.KindGenerator)
		name, _, _ := strings.Cut(path.Base(tool.Step.Plugin), "@")
		tool.Name = name
	case b.Get("run") != nil:
		tool.Step = l.lua(b, sdk.KindGenerator)
		b.Need("name")
	default:
		b.Lacks("write plugin: or run:", "a tool doesn't say what it is")
	}
	if b.Get("name") != nil {
		tool.Name = b.name("name", "use letters, digits, _ and -, at most 64")
	}
	described = object{{"name", constant(jsontext.MustEncode(tool.Name))}}
	if n := b.Typed("description", document.Text); n != nil {
		described = append(described, field{"description", constant(n.JSON(nil))})
	}
	if n := b.Typed("parameters", document.Mapping); n != nil {
		described = append(described, field{"parameters", constant(n.JSON(nil))})
	}
	return tool, described
}
