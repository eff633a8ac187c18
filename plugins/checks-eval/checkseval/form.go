package checkseval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// maxYAML is the longest text that is read as YAML, in bytes: its nodes take a hundred times as much
// memory.
const maxYAML = 1 << 20

// readForm reads the form that a text must have.
func readForm(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
	var name string
	forms := map[string]func(text string) string{
		"json": wrongJSON, "yaml": wrongYAML, "url": wrongURL, "regex": wrongPattern,
		"email": formatOf(o, "email"), "date": formatOf(o, "date"),
	}
	o.OneOf(key, &name, "json", "yaml", "url", "email", "date", "regex")
	wrong := forms[name]
	if wrong == nil {
		return nil // it was reported
	}
	return func(in *input) result {
		text, ok := in.value.(string)
		switch {
		case name == "json" && !ok:
			return passed() // a value that isn't a text came as JSON
		case !ok:
			return in.fail(0, "is %s, not a text with %s", typeName(in.value), name)
		case !in.spend(1 + len(text)):
			return in.tooLarge("to read it as " + name + " would take too long")
		}
		if what := wrong(text); what != "" {
			return in.fail(0, "is not %s: %s", name, what)
		}
		return passed()
	}
}

// formatOf checks a format of JSON Schema.
func formatOf(o *jsonconfig.Object, format string) func(text string) string {
	s, err := schema.Compile(json.RawMessage(fmt.Sprintf(`{"format": %q}`, format)), schema.Options{Formats: "assert"})
	if err != nil {
		o.Report("is: %v", err)
		return nil
	}
	return func(text string) string { return wrongBySchema(s, text) }
}

func wrongBySchema(s *schema.Schema, text string) (wrong string) {
	check, err := s.Begin()
	if err != nil {
		return err.Error()
	}
	var failed error
	defer func() {
		if failed != nil {
			wrong = failed.Error()
		}
	}()
	defer check.End(&failed)
	findings, _, err := check.Findings(text)
	if err != nil {
		return err.Error()
	}
	if len(findings) == 0 {
		return ""
	}
	return findings[0].Message
}

func wrongJSON(text string) string {
	err := json.Unmarshal([]byte(text), new(json.RawMessage))
	if err == nil {
		return ""
	}
	if at := new(json.SyntaxError); errors.As(err, &at) {
		// The offset is behind the character that is wrong, or at the end of a text that is cut off.
		offset := min(max(int(at.Offset)-1, 0), len(text))
		if strings.HasPrefix(at.Error(), "unexpected end") {
			offset = len(text)
		}
		for offset > 0 && offset < len(text) && text[offset]&0xC0 == 0x80 {
			offset--
		}
		return fmt.Sprintf("%s at %s", at.Error(), place(text, offset))
	}
	return err.Error()
}

// wrongYAML wants a mapping or a list at the top of each document: to YAML, every sentence is a scalar.
func wrongYAML(text string) string {
	if len(text) > maxYAML {
		return fmt.Sprintf("it has %d bytes, and at most %d are read", len(text), maxYAML)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for first := true; ; first = false {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF) && !first:
			return ""
		case errors.Is(err, io.EOF):
			return "it is empty"
		case err != nil:
			return strings.TrimPrefix(err.Error(), "yaml: ")
		}
		if wrong := wrongNode(document.Content[0]); wrong != "" {
			return wrong
		}
	}
}

func wrongNode(root *yaml.Node) string {
	if root.Kind != yaml.MappingNode && root.Kind != yaml.SequenceNode {
		return fmt.Sprintf("line %d, column %d: neither a mapping nor a list", root.Line, root.Column)
	}
	return repeatedKey(root)
}

// repeatedKey finds a key that a mapping has twice, which YAML forbids and its parser lets pass.
func repeatedKey(n *yaml.Node) string {
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			key := child.Tag + " " + child.Value
			if seen[key] && child.Tag != "!!merge" {
				return fmt.Sprintf("line %d, column %d: the key %s is there twice", child.Line, child.Column, excerpt(child.Value, 0))
			}
			seen[key] = true
		}
		if wrong := repeatedKey(child); wrong != "" {
			return wrong
		}
	}
	return ""
}

// wrongURL wants an absolute URL with a host.
func wrongURL(text string) string {
	const wanted = "want a scheme and a host, such as https://example.org/a"
	if i := strings.IndexAny(text, " \t\r\n\\<>\"{}|^`"); i >= 0 {
		return fmt.Sprintf("%s can't be in one (%s)", excerpt(text[:i+1], i), place(text, i))
	}
	u, err := url.Parse(text)
	if failed := new(url.Error); errors.As(err, &failed) {
		return fmt.Sprintf("%v; %s", failed.Err, wanted)
	}
	if u.Scheme == "" || u.Hostname() == "" {
		return wanted
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return fmt.Sprintf("the port %s is not from 0 to 65535", excerpt(u.Port(), 0))
	}
	return ""
}

// wrongPattern wants a regular expression of RE2, as the checks matches and not_matches take it.
func wrongPattern(text string) string {
	if _, _, err := expression.CompilePattern(text); err != nil {
		return strings.TrimPrefix(sdk.AsError(err).Message, "error parsing regexp: ")
	}
	return ""
}
