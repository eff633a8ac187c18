package format

// Schema is the JSON Schema (draft 7) of policy files, for editors. It describes their
// structure; expressions are only checked by the compiler.
func Schema() map[string]any {
	text := map[string]any{"type": "string"}
	expression := map[string]any{"type": []string{"string", "boolean", "number"}, "description": "a CEL expression"}
	return map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "Reflectory policy",
		"description": "The first match decides. Expressions are CEL (https://cel.dev).",
		"$ref":        "#/definitions/policy",
		"definitions": map[string]any{
			"policy": object([]string{"rule"}, map[string]any{
				"name": text, "description": text,
				"namespace": map[string]any{"type": "string", "pattern": namespaceForm().String(), "description": "where it holds: a/b, a/** or **", "default": "**"},
				"shadow":    map[string]any{"type": "boolean", "description": "only log what it would decide", "default": false},
				"mask":      map[string]any{"type": "array", "maxItems": MaxList, "items": map[string]any{"type": "string", "pattern": maskForm().String()}, "description": "inputs that decision logs leave out"},
				"imports": map[string]any{"type": "array", "maxItems": MaxList, "items": object([]string{"name"}, map[string]any{
					"name": map[string]any{"type": "string", "pattern": importForm().String()},
				})},
				"rule": map[string]any{"$ref": "#/definitions/rule"},
			}),
			"rule": object([]string{"match"}, map[string]any{
				"id": map[string]any{"type": "string", "pattern": ruleID().String()}, "description": text,
				"variables": map[string]any{"type": "array", "maxItems": MaxNested, "items": object([]string{"name", "expression"}, map[string]any{
					"name": map[string]any{"type": "string", "pattern": variableName().String()}, "expression": expression,
				})},
				"match": map[string]any{"type": "array", "minItems": 1, "maxItems": MaxMatches, "items": map[string]any{"$ref": "#/definitions/match"}},
			}),
			"match": map[string]any{
				"type": "object", "additionalProperties": false,
				"properties": map[string]any{
					"condition": expression, "output": expression, "explanation": expression,
					"rule": map[string]any{"$ref": "#/definitions/rule"},
				},
				"oneOf": []any{
					map[string]any{"required": []string{"output"}},
					map[string]any{"required": []string{"rule"}, "not": map[string]any{"required": []string{"explanation"}}},
				},
			},
		},
	}
}

// object is the schema of a mapping with the keys that it may have.
func object(required []string, properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "required": required, "properties": properties, "additionalProperties": false}
}
