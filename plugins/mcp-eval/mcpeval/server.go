package mcpeval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/sdk"
)

// maxServerFile bounds the description of a server, in bytes: a thousand tools with a schema of 8 KiB each.
const maxServerFile = 16 << 20

// Server describes an MCP server, and pins its tools: the file mcp.json of a package that plugin add --mcp
// makes. The lock has the file's SHA-256.
type Server struct {
	// Name and Version are the package's own, as in its plugin.yaml.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Command is the server's program and its arguments. A word that names a file of the package means that
	// file. URL is instead of it where a server is reached by HTTP.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	// Tools are the definitions that may be used, by name. Nil is a server whose tools aren't known yet.
	Tools map[string]Definition `json:"tools,omitempty"`

	folder string
}

// Definition is a tool as its server describes it, and the SHA-256 of that.
type Definition struct {
	SHA256 string          `json:"sha256"`
	Tool   json.RawMessage `json:"tool"`
}

// readServer reads the description of a server.
func readServer(file string) (*Server, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the package's own file, which the lock pins
	if err != nil {
		return nil, err
	}
	if len(text) > maxServerFile {
		return nil, fmt.Errorf("%s has %d bytes (limit %d)", file, len(text), maxServerFile)
	}
	s := &Server{folder: filepath.Dir(file)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if (len(s.Command) == 0) == (s.URL == "") {
		return nil, fmt.Errorf("%s has neither a command nor a URL, or both", file)
	}
	return s, nil
}

// command is the server's program and arguments, with the paths of the package's files.
func (s *Server) command() []string {
	words := slices.Clone(s.Command)
	for i, word := range words {
		if path := filepath.Join(s.folder, filepath.FromSlash(word)); filepath.IsLocal(filepath.FromSlash(word)) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				words[i] = path
			}
		}
	}
	return words
}

// define makes the definition of a tool: what a person or a model goes by who uses it.
func define(t *mcp.Tool) (Definition, error) {
	text, err := json.MarshalIndent(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description,
		"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema, "annotations": t.Annotations,
	}, "", "  ")
	if err != nil {
		return Definition{}, err
	}
	sum := sha256.Sum256(compact(text))
	return Definition{SHA256: hex.EncodeToString(sum[:]), Tool: text}, nil
}

// compact removes the white space that a file may have added.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// check refuses a tool whose definition isn't the pinned one, and shows the difference.
func (s *Server) check(name string, found map[string]Definition) error {
	pinned, known := s.Tools[name]
	now, there := found[name]
	const again = "see whether that is wanted; if it is, add the server again: plugin add --mcp pins the new definition"
	switch {
	case !there && known:
		return sdk.Errorf(sdk.Incompatible, "tool_changed", "server %s has no tool %q any more; it has %s", s.Name, name, names(found)).WithHint(again)
	case !there:
		return s.unknown(name)
	case !known:
		return sdk.Errorf(sdk.Incompatible, "tool_changed", "tool %q of server %s is new: it wasn't there when the server was added", name, s.Name).WithHint(again)
	case now.SHA256 != pinned.SHA256:
		return sdk.Errorf(sdk.Incompatible, "tool_changed", "the definition of tool %q of server %s isn't the pinned one:\n%s", name, s.Name, difference(pinned.Tool, now.Tool)).
			WithHint(again).WithDetail("pinned", pinned.SHA256).WithDetail("found", now.SHA256)
	}
	return nil
}

func (s *Server) unknown(name string) error {
	return sdk.Errorf(sdk.Invalid, "tool_unknown", "server %s has no tool %q; it has %s", s.Name, name, names(s.Tools)).
		WithHint("%s", sdk.DidYouMean(name, sorted(s.Tools), "write one of them as tool"))
}

// maxDifference is how many pairs of lines of a difference are shown.
const maxDifference = 20

// difference shows the lines that only one of two definitions has: the pinned one's with -, the others
// with +. Of long lines it shows where they begin to differ.
func difference(pinned, found []byte) string {
	a, b := lines(pinned), lines(found)
	before := slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
	after := slices.DeleteFunc(slices.Clone(b), func(line string) bool { return slices.Contains(a, line) })
	var out []string
	for i := range min(max(len(before), len(after)), maxDifference) {
		from := 0
		if i < len(before) && i < len(after) {
			from = common(before[i], after[i])
		}
		if i < len(before) {
			out = append(out, "- "+cut(before[i], from))
		}
		if i < len(after) {
			out = append(out, "+ "+cut(after[i], from))
		}
	}
	if len(out) == 0 {
		return "the same lines in another order"
	}
	return strings.Join(out, "\n")
}

// common is how many bytes two lines have in common at their beginning.
func common(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// lines are the lines of a JSON value with one member or item in each.
func lines(text []byte) []string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return nil
	}
	all := strings.Split(b.String(), "\n")
	return all[:min(len(all), 5_000)]
}

// cut shows a part of a line of a stranger's text, which begins shortly before an offset, and escapes what could
// steer a terminal.
func cut(line string, from int) string {
	const most, context = 200, 80
	start := max(0, from-context)
	part := strings.TrimSpace(line[start:min(len(line), start+most)])
	part = strings.ReplaceAll(strings.Trim(strconv.Quote(part), `"`), `\"`, `"`)
	if start > 0 {
		part = "…" + part
	}
	if start+most < len(line) {
		part += "…"
	}
	return part
}

func sorted(tools map[string]Definition) []string {
	out := make([]string, 0, len(tools))
	for name := range tools {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// names lists tools for a message.
func names(tools map[string]Definition) string {
	all := sorted(tools)
	const most = 20
	if more := len(all) - most; more > 0 {
		all = append(all[:most:most], fmt.Sprintf("and %d more", more))
	}
	if len(all) == 0 {
		return "none"
	}
	for i := range all {
		all[i] = cut(all[i], 0)
	}
	return strings.Join(all, ", ")
}
