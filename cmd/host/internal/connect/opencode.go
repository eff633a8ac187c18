package connect

import (
	_ "embed" // for opencode.js
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/reflectory/reflectory/core/jsontext"
)

// opencode has plugins instead of hooks. This one calls the hooks.
//
//go:embed opencode.js
var openCodePlugin string

// openCode (opencode.ai/v1/docs/config, /mcp-servers, /plugins, and opencode.ai/v2/docs/mcp-servers,
// November 2026): opencode.json or opencode.jsonc, and files in a folder of plugins, which version 2
// loads too. Version 2 has its servers below mcp.servers, and also reads version 1's.
func (o *Options) openCode() ([]target, error) {
	folder := o.Folder
	plugins := filepath.Join(o.Folder, ".opencode", "plugins")
	if o.Scope == User {
		folder = filepath.Join(o.Home, ".config", "opencode")
		if dir := o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			folder = filepath.Join(dir, "opencode")
		}
		plugins = filepath.Join(folder, "plugins")
	}
	path := filepath.Join(folder, "opencode.json")
	if _, err := os.Stat(path + "c"); err == nil {
		path += "c"
	}
	at := []string{"mcp", "reflectory"}
	if text, err := readSettings(path); err == nil && text != nil {
		if v, err := hujson.Parse(text.body); err == nil {
			if servers := v.Find("/mcp/servers"); servers != nil && servers.Find("/type") == nil {
				at = []string{"mcp", "servers", "reflectory"}
			}
		}
	}
	type local struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
	}
	settings := target{path: path, edits: []Edit{set(local{"local", append([]string{o.Program}, o.mcpArgs()...)}, at...)}}
	if o.GatewayURL != "" {
		models := map[string]struct{}{}
		for _, m := range o.Models {
			models[m] = struct{}{}
		}
		settings.edits = append(settings.edits, set(map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Reflectory", "options": map[string]string{"baseURL": o.GatewayURL + "/openai/v1", "apiKey": o.Token}, "models": models,
		}, "provider", "reflectory"))
	}
	command := jsontext.MustEncode(append([]string{o.Program, "hook", "EVENT", "--client", OpenCode}, o.Args...))
	whole := strings.Replace(openCodePlugin, `["reflectory", "hook", "EVENT", "--client", "opencode"]`, string(command), 1)
	return []target{settings, {path: filepath.Join(plugins, "reflectory.js"), whole: []byte(whole)}}, nil
}
