// Package schemaeval is the schema evaluator: it judges an output by a JSON
// Schema (draft 4, 6, 7, 2019-09 or 2020-12) and says what is wrong with it,
// where, and by which rule. It reads no file and no network.
//
//	config ─► prepare (compile once) ─► output ─► text? parse ─► judge ─► explain ─► verdict
//
// Two engines share the work; engine.go has the rule and the reasons.
//
// It is internal to Reflectory: its API may change in any release.
package schemaeval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Plugin is the schema evaluator as data.
func Plugin() sdk.Plugin {
	evaluator := func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) { return prepare(config) }
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name:         "schema-eval",
			Version:      "0.1.0",
			Description:  "Judges outputs by a JSON Schema",
			ConfigSchema: json.RawMessage(configSchema),
			// Evaluations share only the compiled schema, which is read-only. Four keep
			// the cores of a small machine busy.
			Parallel: 4,
		},
		Evaluator: evaluator,
		Health: sdk.EvaluatorHealth(evaluator,
			`{"schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}}}`,
			`{"name": "anna"}`, `{"name": "4"}`),
	}
}

// configSchema is the JSON Schema of a config; parseConfig enforces it.
const configSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["schema"],
  "additionalProperties": false,
  "properties": {
    "schema": {"type": ["object", "boolean"], "description": "the JSON Schema that outputs must match"},
    "draft": {"enum": ["draft4", "draft6", "draft7", "2019-09", "2020-12"], "default": "draft7", "description": "the draft of a schema without $schema"},
    "formats": {"enum": ["assert", "annotate"], "description": "whether format is checked; by default the draft decides"},
    "scoring": {"enum": ["graded", "strict"], "default": "graded", "description": "graded: max(0, 1 - 0.2 * errors); strict: 1 or 0"},
    "coerce": {"type": "boolean", "default": false, "description": "convert number and boolean strings where the schema demands it"},
    "base": {"type": "string", "format": "uri", "default": "workflow:///schema.json", "description": "the schema's own absolute URI"},
    "documents": {"type": "object", "additionalProperties": {"type": ["object", "boolean"]}, "description": "further known schemas by absolute URI"}
  }
}`
