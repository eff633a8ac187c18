package schemaeval

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// config is what a workflow writes under this evaluator, after the host has inserted
// schema files and documents. See configSchema.
type config struct {
	Schema    json.RawMessage
	Draft     string
	Formats   string
	Scoring   string
	Coerce    bool
	Base      string
	Documents map[string]json.RawMessage
}

// parseConfig decodes a config strictly and reports all problems at once.
func parseConfig(data json.RawMessage) (*config, error) {
	c := &config{Draft: "draft7", Scoring: "graded", Base: schema.DefaultBase}
	o := jsonconfig.Read(data)
	if !o.Take("schema", "a JSON Schema", &c.Schema) {
		o.Report("schema is missing: give a JSON Schema")
	} else if kind := jsonconfig.TypeName(c.Schema); kind != "an object" && kind != "a boolean" {
		o.Report("schema is %s, neither an object nor a boolean", kind)
	}
	o.OneOf("draft", &c.Draft, "draft4", "draft6", "draft7", "2019-09", "2020-12")
	o.OneOf("scoring", &c.Scoring, "graded", "strict")
	o.OneOf("formats", &c.Formats, "assert", "annotate")
	o.Take("coerce", "a boolean", &c.Coerce)
	o.Take("base", "text", &c.Base)
	checkAbsolute(o, "base", c.Base)
	o.Take("documents", "an object of documents by URI", &c.Documents)
	for _, uri := range slices.Sorted(maps.Keys(c.Documents)) {
		checkAbsolute(o, "documents", uri)
	}
	o.Done()
	return c, o.Err("schema-eval config", "correct the config; the README of schema-eval lists its keys")
}

func checkAbsolute(o *jsonconfig.Object, key, uri string) {
	if u, err := url.Parse(uri); err != nil || !u.IsAbs() || u.Fragment != "" {
		o.Report("%s: %q is not an absolute URI without a fragment", key, uri)
	}
}
