package config

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

func namespaceSchema() schema {
	return schema{
		"maxLength": core.MaxNamespaceRunes,
		"pattern":   `^[^\s/\\]+(/[^\s/\\]+){0,7}$`,
		"not":       schema{"pattern": `(^|/)(\.|\.\.|\*|\*\*)(/|$)`},
	}
}

// Schema is the JSON Schema (draft 7) of reflectory.yaml, for editors. It has the shape
// and the limits of each value. Rules that a pattern can't express, and rules about two
// settings, are only checked by [Load].
func Schema() json.RawMessage {
	root := definitions().groupSchema("")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Reflectory settings"
	root["description"] = "The settings of a host. Paths are relative to this file's folder; flags and environment variables beat what is here."
	return jsontext.MustEncode(root)
}

// groupSchema is the schema of the mapping at a key.
func (t table) groupSchema(key string) schema {
	properties := schema{}
	for _, name := range t.below(key) {
		path := strings.TrimPrefix(key+"."+name, ".")
		if d, is := t.at(path); is {
			properties[name] = d.valueSchema()
		} else {
			properties[name] = t.groupSchema(path)
		}
	}
	s := schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
	if doc := groupDocs()[key]; doc != "" {
		s["description"] = doc
	}
	return s
}

// groupDocs describe the mappings of the file.
func groupDocs() map[string]string {
	return map[string]string{
		"keep":                 "how long what store prune moves to files stays in the store",
		"commands":             "which programs of this machine plugins may have run",
		"settings":             "models, and how memories are recalled",
		"limits":               "what callers of a server here may send, how often, and what they may hold open",
		"settings.llm":         "the models that plugins ask",
		"settings.llm.dialect": "how that model is asked",
		"settings.embeddings":  "what makes the vectors of memories",
		"gateway":              "the gateway for clients of models, whose models are in gateway.yaml next to this file",
		"serve":                "how others reach a server here; its flags and variables override it",
		"oidc":                 "who says to a server who asks, besides its own tokens",
		"settings.summaries":   "what summarizes what is promoted, and the oldest turns of sessions",
		"settings.reflection":  "what makes insights of what was observed",
		"settings.discover":    "what discover finds",
		"settings.recall":      "how recalls rank memories",
		"settings.dream":       "what passes of housekeeping do",
	}
}

// valueSchema is the schema of a setting's value. A key without a value (null) counts as
// missing.
func (d Definition) valueSchema() schema {
	s := schema{}
	switch d.kind {
	case text:
		s = d.with(schema{"type": "string", "minLength": 1})
	case number:
		s = d.with(schema{"type": "number"})
	case flag:
		s = schema{"type": "boolean"}
	case span:
		s = schema{"anyOf": []any{d.with(schema{"type": "string", "minLength": 1}), schema{"const": 0}}}
	case texts:
		s = schema{"type": "array", "items": d.with(schema{"type": "string"})}
	case endpoints:
		host := d.with(schema{"type": "string"})
		s = schema{"type": "array", "items": schema{"anyOf": []any{host, schema{
			"type": "object", "required": []string{"host", "key_env"}, "additionalProperties": false,
			"properties": schema{"host": host, "key_env": keyEnvSchema().as("string")},
		}}}}
	case counts:
		s = schema{"type": "object", "propertyNames": schema{"pattern": countName}, "additionalProperties": d.with(schema{"type": "integer"})}
	case folders:
		s = schema{"type": "array", "items": schema{
			"type": "object", "required": []string{"path", "dev"}, "additionalProperties": false,
			"properties": schema{"path": schema{"type": "string", "minLength": 1}, "dev": schema{"const": true}, "replace": schema{"type": "boolean"}},
		}}
	}
	s = schema{"anyOf": []any{s, schema{"type": "null"}}, "description": d.described()}
	if d.computed == nil && d.Default != "" {
		s["default"] = d.Default
		if d.kind == number || d.kind == flag || d.Default == "0" {
			s["default"] = json.RawMessage(d.Default)
		}
	}
	return s
}

// as is the schema of a value of a type.
func (s schema) as(kind string) schema {
	s["type"] = kind
	return s
}

// with adds what the definition says about its values.
func (d Definition) with(s schema) schema {
	for name, value := range d.schema {
		s[name] = value
	}
	return s
}

// described is the description of a setting for editors and people: its doc, and a
// default that isn't a value.
func (d Definition) described() string {
	if d.computed == nil {
		return d.Doc
	}
	return d.Doc + " (default: " + d.Default + ")"
}
