package connect

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The clients.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Cursor     = "cursor"
	VSCode     = "vscode"
	GeminiCLI  = "gemini-cli"
	OpenCode   = "opencode"
)

// Clients lists the clients.
func Clients() []string { return []string{ClaudeCode, Codex, Cursor, VSCode, GeminiCLI, OpenCode} }

// TakesContext reports whether a client shows context to its model at an event. Cursor and VS Code take
// it only when a session starts (their documentation, 2026).
func TakesContext(client string, kind Kind) bool {
	return kind == SessionStart || kind == Prompt && client != Cursor && client != VSCode
}

// Options are how a client is connected.
type Options struct {
	Client string
	Scope  Scope
	// Folder is the project of the scope [Project].
	Folder string
	// Program is the program's path or name, and Args what its commands get in addition, such as
	// --data-dir.
	Program string
	Args    []string
	// Home is the user's home. Getenv reads the environment.
	Home   string
	Getenv func(string) string
	// GatewayURL is the server's URL, if the client's model is to be reached through its gateway, with
	// Token and, for clients that name models in their settings, Models; "" leaves the model alone.
	GatewayURL, Token string
	Models            []string
}

// target is a settings file of a client, with its edits.
type target struct {
	path  string
	toml  bool
	edits []Edit
	// whole is the whole file, for a file that is only ours.
	whole []byte
}

// events are the events of a client that has hooks, in the order in which they are written.
var events = map[string][]struct {
	kind Kind
	name string
}{
	ClaudeCode: {{SessionStart, "SessionStart"}, {Prompt, "UserPromptSubmit"}, {Tool, "PostToolUse"}, {Tool, "PostToolUseFailure"}, {Stop, "Stop"}, {SessionEnd, "SessionEnd"}},
	Codex:      {{SessionStart, "SessionStart"}, {Prompt, "UserPromptSubmit"}, {Tool, "PostToolUse"}, {Stop, "Stop"}},
	Cursor:     {{SessionStart, "sessionStart"}, {Prompt, "beforeSubmitPrompt"}, {Tool, "postToolUse"}, {Tool, "postToolUseFailure"}, {Reply, "afterAgentResponse"}, {Stop, "stop"}, {SessionEnd, "sessionEnd"}},
	VSCode:     {{SessionStart, "SessionStart"}, {Prompt, "UserPromptSubmit"}, {Stop, "Stop"}},
	GeminiCLI:  {{SessionStart, "SessionStart"}, {Prompt, "BeforeAgent"}, {Tool, "AfterTool"}, {Stop, "AfterAgent"}, {SessionEnd, "SessionEnd"}},
}

// targets are the files that connecting a client changes.
func (o *Options) targets() ([]target, error) {
	if o.GatewayURL != "" && o.Scope == Project {
		return nil, refusal("gateway_not_in_project", "the gateway's token would be in a file of the project %s, which others may read", o.Folder).
			WithHint("connect it with --scope user")
	}
	switch o.Client {
	case ClaudeCode:
		return o.claudeCode(), nil
	case Codex:
		return o.codex(), nil
	case OpenCode:
		return o.openCode()
	}
	if o.GatewayURL != "" {
		return nil, refusal("gateway_unsupported", "%s can't reach its model through the gateway: %s", o.Client, map[string]string{
			Cursor:    "it calls models from its own servers, which don't reach this machine",
			VSCode:    "its models are chosen in its own interface, not in a file",
			GeminiCLI: "it speaks Google's API, which the gateway doesn't",
		}[o.Client]).WithHint("leave out --gateway")
	}
	switch o.Client {
	case Cursor:
		return o.cursor(), nil
	case VSCode:
		return o.vscode(), nil
	case GeminiCLI:
		return o.gemini(), nil
	}
	return nil, sdk.Errorf(sdk.Invalid, "client_unknown", "%q is not one of %s", o.Client, strings.Join(Clients(), ", "))
}

func refusal(reason, format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Denied, reason, format, args...)
}

// under is a path in the home or, in the scope [Project], in the project. A variable may name the place
// of the user's settings.
func (o *Options) under(variable, user, project string) string {
	if o.Scope == Project {
		return filepath.Join(o.Folder, filepath.FromSlash(project))
	}
	if dir := o.Getenv(variable); variable != "" && filepath.IsAbs(dir) {
		return filepath.Join(dir, filepath.Base(user))
	}
	return filepath.Join(o.Home, filepath.FromSlash(user))
}

// claudeCode (code.claude.com/docs/en/mcp, /hooks, /settings, November 2026): MCP servers of the user are
// in ~/.claude.json, of a project in .mcp.json. Hooks are in settings.json; of a project they are in the
// file that isn't shared, since another user's machine isn't connected.
func (o *Options) claudeCode() []target {
	settings := target{path: o.under("CLAUDE_CONFIG_DIR", ".claude/settings.json", ".claude/settings.local.json"), edits: o.hooks(5)}
	if o.GatewayURL != "" {
		settings.edits = append(settings.edits, set(o.GatewayURL+"/anthropic", "env", "ANTHROPIC_BASE_URL"), set(o.Token, "env", "ANTHROPIC_AUTH_TOKEN"))
	}
	return []target{{path: o.under("CLAUDE_CONFIG_DIR", ".claude.json", ".mcp.json"), edits: []Edit{set(o.stdio("stdio"), "mcpServers", "reflectory")}}, settings}
}

// codex (developers.openai.com/codex/mcp, /hooks, /config-reference, November 2026): MCP servers and
// providers are tables of config.toml, hooks are in hooks.json next to it.
func (o *Options) codex() []target {
	text := "[mcp_servers.reflectory]\ncommand = " + quoted(o.Program) + "\nargs = " + string(jsontext.MustEncode(o.mcpArgs())) + "\n"
	edits := []Edit{{Path: []string{"mcp_servers", "reflectory"}, Text: text}}
	if o.GatewayURL != "" {
		edits = append(edits, Edit{Path: []string{"model_providers", "reflectory"}, Text: "[model_providers.reflectory]\nname = \"Reflectory\"\nbase_url = " + quoted(o.GatewayURL+"/openai/v1") +
			"\nwire_api = \"responses\"\nexperimental_bearer_token = " + quoted(o.Token) + "\n"}, Edit{Path: []string{"model_provider"}, Text: "model_provider = \"reflectory\"\n"})
	}
	return []target{
		{path: o.under("CODEX_HOME", ".codex/config.toml", ".codex/config.toml"), toml: true, edits: edits},
		{path: o.under("CODEX_HOME", ".codex/hooks.json", ".codex/hooks.json"), edits: o.hooks(5)},
	}
}

// cursor (cursor.com/docs/context/mcp, cursor.com/docs/agent/hooks, 2026): mcp.json and hooks.json in
// .cursor; a hooks file has a version, and its entries are commands.
func (o *Options) cursor() []target {
	hooks := []Edit{{Path: []string{"version"}, Value: json.RawMessage("1"), Missing: true}}
	for _, e := range events[Cursor] {
		hooks = append(hooks, Edit{Path: []string{"hooks", e.name}, Append: true, Value: jsontext.MustEncode(map[string]string{"command": o.line(e.kind)})})
	}
	return []target{
		{path: o.under("", ".cursor/mcp.json", ".cursor/mcp.json"), edits: []Edit{set(o.stdio(""), "mcpServers", "reflectory")}},
		{path: o.under("", ".cursor/hooks.json", ".cursor/hooks.json"), edits: hooks},
	}
}

// vscode (code.visualstudio.com/docs/agents/reference/mcp-configuration, May 2026, and
// /docs/agent-customization/hooks, June 2026): mcp.json in .vscode or the user's profile, with servers;
// every JSON file of the folder of hooks is read.
func (o *Options) vscode() []target {
	profile := map[string]string{"darwin": "Library/Application Support/Code/User/mcp.json", "windows": "AppData/Roaming/Code/User/mcp.json"}[runtime.GOOS]
	if profile == "" {
		profile = ".config/Code/User/mcp.json"
	}
	hooks := map[string][]hookEntry{}
	for _, e := range events[VSCode] {
		hooks[e.name] = []hookEntry{{Type: "command", Command: o.line(e.kind), Timeout: 5}}
	}
	whole, _ := jsontext.Print(map[string]any{"hooks": hooks}) // texts and numbers can't fail to encode
	return []target{
		{path: o.under("", profile, ".vscode/mcp.json"), edits: []Edit{set(o.stdio("stdio"), "servers", "reflectory")}},
		{path: o.under("", ".copilot/hooks/reflectory.json", ".github/hooks/reflectory.json"), whole: whole},
	}
}

// gemini (geminicli.com/docs/hooks/reference and /docs/tools/mcp-server, 2026): one settings.json has
// both; its timeouts are in milliseconds.
func (o *Options) gemini() []target {
	edits := append([]Edit{set(o.stdio(""), "mcpServers", "reflectory")}, o.hooks(5000)...)
	return []target{{path: o.under("", ".gemini/settings.json", ".gemini/settings.json"), edits: edits}}
}

// hookEntry is a command of a hook. Gemini CLI also takes a name for it.
type hookEntry struct {
	Type    string `json:"type"`
	Name    string `json:"name,omitempty"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// hooks are the hooks in the form that Claude Code, Codex and Gemini CLI share: a list of groups for each
// event. The timeout is what the client waits, much longer than the hook takes.
func (o *Options) hooks(timeout int) (edits []Edit) {
	name := ""
	if o.Client == GeminiCLI {
		name = "reflectory"
	}
	for _, e := range events[o.Client] {
		group := map[string][]hookEntry{"hooks": {{Type: "command", Name: name, Command: o.line(e.kind), Timeout: timeout}}}
		edits = append(edits, Edit{Path: []string{"hooks", e.name}, Append: true, Value: jsontext.MustEncode(group)})
	}
	return edits
}

// set sets a value.
func set(value any, path ...string) Edit { return Edit{Path: path, Value: jsontext.MustEncode(value)} }

// server is an MCP server that the client starts.
type server struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (o *Options) stdio(kind string) server { return server{kind, o.Program, o.mcpArgs()} }

func (o *Options) mcpArgs() []string {
	return append([]string{"mcp", "--agent", o.Client}, o.Args...)
}

// line is the command line of a hook, for a shell. It holds nothing that changes from one release to the
// next: Codex runs a hook only as long as it is the one that its user trusted.
func (o *Options) line(kind Kind) string {
	words := append([]string{o.Program, "hook", string(kind), "--client", o.Client}, o.Args...)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for the shell of the system.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@+=,", r)
	}
	switch {
	case word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }):
		return word
	case runtime.GOOS == "windows":
		return `"` + word + `"` // a path has no quotes there
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoted is a text of TOML: JSON's escapes are TOML's.
func quoted(text string) string { return string(jsontext.MustEncode(text)) }

// Notes are what the user of a client has to know or do once it is connected.
func (o *Options) Notes() (notes []string) {
	switch o.Client {
	case Cursor:
		notes = append(notes, "Cursor takes context only when a session starts, so its prompts get none; feedback is given on that context")
	case VSCode:
		notes = append(notes, "VS Code takes context only when a session starts, and doesn't report the agent's reply to its hooks: there is no feedback")
	case Codex:
		notes = append(notes, "Codex runs a hook only once you trust it: start codex, enter /hooks, and trust the hooks of reflectory")
		if o.Scope == Project {
			notes = append(notes, "Codex reads the settings of a project only if you trust the project")
		}
	}
	if o.Scope == User {
		notes = append(notes, "it is connected in every folder; with --scope project it would be only in this one")
	}
	return notes
}
