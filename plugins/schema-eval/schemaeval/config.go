package schemaeval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// defaultBase is the URI of a schema whose config names none.
const defaultBase = "workflow:///schema.json"

// config is what a workflow says under this evaluator, after the host put
// schema files and documents in place. See configSchema.
type config struct {
	Schema    json.RawMessage
	Draft     string
	Formats   string
	Scoring   string
	Coerce    bool
	Base      string
	Documents map[string]json.RawMessage
}

// problems collects everything that is wrong with a config.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// parseConfig decodes a config strictly and reports all problems at once.
func parseConfig(data json.RawMessage) (*config, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "the config is not a JSON object: %w", err)
	}
	c := &config{Draft: "draft7", Scoring: "graded", Base: defaultBase}
	targets := map[string]any{
		"schema": &c.Schema, "draft": &c.Draft, "formats": &c.Formats, "scoring": &c.Scoring,
		"coerce": &c.Coerce, "base": &c.Base, "documents": &c.Documents,
	}
	var found problems
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		target, known := targets[name]
		if !known {
			found.add("unknown key %q%s", name, nearName(name, slices.Sorted(maps.Keys(targets))))
			continue
		}
		if err := json.Unmarshal(fields[name], target); err != nil {
			found.add("%s: %s is not what is expected (%v)", name, abbreviate(string(fields[name])), err)
		}
	}
	c.validate(&found)
	if len(found) > 0 {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "schema evaluator: %s", strings.Join(found, "; ")).
			WithDetail("problems", []string(found))
	}
	return c, nil
}

func (c *config) validate(found *problems) {
	switch start := bytes.TrimSpace(c.Schema); {
	case len(start) == 0 || string(start) == "null":
		found.add("schema is missing: give a JSON Schema")
	case start[0] != '{' && start[0] != 't' && start[0] != 'f':
		found.add("schema: %s is neither an object nor a boolean", abbreviate(string(start)))
	}
	found.oneOf("draft", c.Draft, "draft4", "draft6", "draft7", "2019-09", "2020-12")
	found.oneOf("scoring", c.Scoring, "graded", "strict")
	if c.Formats != "" {
		found.oneOf("formats", c.Formats, "assert", "annotate")
	}
	found.absolute("base", c.Base)
	for _, uri := range slices.Sorted(maps.Keys(c.Documents)) {
		found.absolute("documents", uri)
	}
}

func (p *problems) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add("%s: %q is not one of %s%s", key, value, strings.Join(allowed, ", "), nearName(value, allowed))
	}
}

func (p *problems) absolute(key, uri string) {
	if u, err := url.Parse(uri); err != nil || !u.IsAbs() || u.Fragment != "" {
		p.add("%s: %q is not an absolute URI without a fragment", key, uri)
	}
}

// nearName suggests the known name that was probably meant: one at most two
// edits away, which is a typo rather than another word.
func nearName(name string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(name, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

func editDistance(a, b string) int {
	if len(a) > 32 { // no known name is near it, and the work stays small
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// abbreviate shortens a value for a message.
func abbreviate(text string) string {
	const most = 60 // characters; a message stays one readable line
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
