// Package mcpeval evaluates, generates and corrects with the tools of an MCP server. The server runs in the
// plugin's own sandbox, or is reached through the host; what it sends is data, bounded and never followed.
//
//	config ─► prepare (verdict compiled, tool pinned?) ─► tools/list, compared with the pins ─► tools/call ─► output or verdict
//
// The plugin is one program for all servers: plugin add --mcp makes a package of it, of the server's files, and of a
// description that pins the definitions of the server's tools (server.go).
//
// It is internal to Reflectory: its API may change in any release.
package mcpeval

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// Plugin is the plugin of the server that a file describes. "" is the plugin of no server, as it is shipped: it only
// describes itself.
func Plugin(file string) (sdk.Plugin, error) {
	s := &session{server: &Server{Name: "reflectory/mcp-eval", Version: "0.1.0"}}
	if file != "" {
		var err error
		if s.server, err = readServer(file); err != nil {
			return sdk.Plugin{}, err
		}
	}
	return pluginOf(s), nil
}

// pluginOf is the plugin of a session.
func pluginOf(s *session) sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name: path.Base(s.server.Name), Version: s.server.Version,
			Description:  "calls the tools of an MCP server",
			ConfigSchema: json.RawMessage(configSchema),
			// A server that hangs is ended, and with it the calls next to it.
			Parallel: 1,
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			t, err := prepare(s, config, true)
			return sdk.EvaluatorFunc(t.evaluate), err
		},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			if s.server.Tools == nil && len(s.server.Command)+len(s.server.URL) > 0 {
				return sdk.GeneratorFunc(s.describe), nil
			}
			t, err := prepare(s, config, false)
			return sdk.GeneratorFunc(func(ctx context.Context, _ *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				if t.defines {
					return &sdk.GenerateResponse{Output: s.server.Tools[t.name].Tool}, nil
				}
				output, err := t.output(ctx)
				return &sdk.GenerateResponse{Output: output}, err
			}), err
		},
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) {
			t, err := prepare(s, config, false)
			return sdk.CorrectorFunc(func(ctx context.Context, _ *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				output, err := t.output(ctx)
				return &sdk.CorrectResponse{Output: output}, err
			}), err
		},
	}
}

// configSchema is the JSON Schema of a config; prepare enforces it.
const configSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "tool": {"type": "string", "description": "the name of the tool"},
    "arguments": {"type": "object", "description": "its arguments"},
    "define": {"type": "boolean", "description": "outputs the pinned definition of the tool instead of calling it"},
    "verdict": {"type": "string", "description": "a CEL expression over result that judges; an evaluator whose tool gives a verdict needs none"}
  }
}`

// tool is a prepared call of a tool. It never changes, so it is safe for concurrent use.
type tool struct {
	session   *session
	name      string
	arguments json.RawMessage
	defines   bool                   // as a generator it outputs the pinned definition
	verdict   *expression.Expression // nil if the tool's output is itself the verdict
}

// prepare reads a config. All problems are reported at once.
func prepare(s *session, data json.RawMessage, judges bool) (*tool, error) {
	t := &tool{session: s, arguments: json.RawMessage("{}")}
	o := jsonconfig.Read(data)
	if !o.Take("tool", "text", &t.name) && !o.Has("tool") {
		o.Report("tool is missing: name a tool of server %s, which has %s", s.server.Name, names(s.server.Tools))
	} else if _, pinned := s.server.Tools[t.name]; !pinned && t.name != "" {
		o.Report("tool: %s", sdk.AsError(s.server.unknown(t.name)).Message)
	}
	if o.Take("arguments", "an object", &t.arguments) && jsonconfig.TypeName(t.arguments) != "an object" {
		o.Report("arguments is %s, not an object", jsonconfig.TypeName(t.arguments))
	}
	o.Take("define", "a boolean", &t.defines)
	var source string
	if o.Take("verdict", "text", &source) {
		var problems []string
		if t.verdict, problems = expression.Compile(source, expression.Cost, "result"); len(problems) > 0 {
			o.Report("verdict: %s", strings.Join(problems, "; "))
		}
		if !judges {
			o.Report("verdict is for evaluators: a generator or corrector uses what the tool outputs")
		}
	}
	o.Done()
	return t, o.Err("the config of server "+s.server.Name, "write tool, arguments and, to judge, a verdict such as !result.isError && result.structuredContent.ok")
}

// describe answers with the definitions of the server's tools, for plugin add: a server whose tools aren't pinned yet
// can't be used for anything else.
func (s *session) describe(ctx context.Context, _ *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	var tools map[string]Definition
	err := s.do(ctx, func(open *mcp.ClientSession) (err error) {
		tools, err = list(ctx, open)
		return err
	})
	if err != nil {
		return nil, err
	}
	output, err := json.Marshal(tools)
	return &sdk.GenerateResponse{Output: output}, err
}
