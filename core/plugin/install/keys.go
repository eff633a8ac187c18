package install

import (
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Key is a key of plugin.yaml. The reader takes the names from the tables of keys, and the
// JSON Schema is made of them.
type Key struct {
	Name string `json:"name"`
	// Doc describes the key in a line, and Default is its default in words; "" is none.
	Doc     string `json:"doc"`
	Default string `json:"default,omitempty"`
	// Required is whether it must be there.
	Required bool `json:"required,omitempty"`
	// Runtime is the only runtime that it means something to; "" is any.
	Runtime plugin.Runtime `json:"runtime,omitempty"`

	schema schema
}

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// words is the schema of one of some words.
func words[T ~string](values ...T) schema { return schema{"enum": values} }

// scalar is the schema of a single value. Its text counts as it is written: 1.10 is a
// version, though YAML has it for a number.
func scalar(limits schema) schema {
	limits["type"] = []string{"string", "number"}
	return limits
}

func list(items schema) schema {
	return schema{"type": "array", "items": items, "maxItems": maxCapabilities, "uniqueItems": true}
}

// PackageKeys lists the keys of plugin.yaml.
func PackageKeys() []Key {
	flag := schema{"enum": []any{true, false, "true", "false"}}
	entry := schema{"anyOf": []any{schema{"type": "string"}, schema{"type": "array", "minItems": 1}}}
	return []Key{
		{Name: "name", Required: true, Doc: "publisher/name, each of a-z, 0-9 and -", schema: scalar(schema{"pattern": nameForm().String()})},
		{Name: "version", Required: true, Doc: "a semantic version, as in the plugin's manifest", schema: scalar(schema{"pattern": versionForm().String(), "maxLength": maxVersion})},
		{
			Name: "kinds", Required: true, Doc: "what it does, as in the plugin's manifest",
			schema: schema{"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": true, "items": words(sdk.KindEvaluator, sdk.KindGenerator, sdk.KindCorrector)},
		},
		{Name: "description", Doc: "one line", schema: scalar(schema{"maxLength": maxDescription})},
		{Name: "examples", Doc: fmt.Sprintf("up to %d lines that say in other words what it is for; discover searches them", maxExamples), schema: schema{"type": "array", "items": scalar(schema{"maxLength": maxExample}), "maxItems": maxExamples}},
		{Name: "runtime", Default: string(plugin.RuntimeProcess), Doc: "what runs it", schema: words(plugin.RuntimeProcess, plugin.RuntimeWASM)},
		{
			Name: "entry", Required: true, Doc: "the program, a file in the folder; or a list of the program and its arguments; or a mapping from OS/arch to either",
			schema: schema{"anyOf": append(entry["anyOf"].([]any), schema{
				"type": "object", "minProperties": 1, "propertyNames": schema{"pattern": platformForm().String()}, "additionalProperties": entry,
			})},
		},
		{Name: "capabilities", Doc: "what it needs beyond computing", schema: objectOf(CapabilityKeys())},
		{Name: "limits", Doc: "limits of each instance", schema: objectOf(LimitKeys())},
		{Name: "tls", Default: "true", Runtime: plugin.RuntimeProcess, Doc: "false for a program that can't speak TLS", schema: flag},
		{Name: "abi", Default: "detected", Runtime: plugin.RuntimeWASM, Doc: "extism for an Extism plug-in that imports nothing from Extism", schema: words("detected", "extism")},
		{Name: "stateful", Default: "false", Runtime: plugin.RuntimeWASM, Doc: "whether its memory is kept from call to call", schema: flag},
		{Name: "isolation", Default: "none", Runtime: plugin.RuntimeWASM, Doc: "call for fresh memory in each call", schema: words("none", "call")},
	}
}

// CapabilityKeys lists the keys below capabilities.
func CapabilityKeys() []Key {
	return []Key{
		{Name: "network", Doc: "endpoints that it may reach through the host, as host:port", schema: list(scalar(schema{}))},
		{Name: "fs", Doc: "absolute paths that it may read, or system for the system's own folders", schema: list(scalar(schema{}))},
		{Name: "env", Doc: "variables of the host's environment that it may see", schema: list(scalar(schema{"pattern": envForm().String()}))},
		{Name: "host", Doc: "services of the host that it may call", schema: list(words(services()...))},
	}
}

// LimitKeys lists the keys below limits.
func LimitKeys() []Key {
	count := func(most int64) schema { return scalar(schema{"minimum": 1, "maximum": most}) }
	size := func() schema { return scalar(schema{"pattern": sizeForm().String()}) }
	return []Key{
		{Name: "memory", Default: "256MiB; for a module 64MiB", Doc: "how much memory an instance may take", schema: size()},
		{Name: "fuel", Default: "1e9", Runtime: plugin.RuntimeWASM, Doc: "how much a call may compute", schema: count(maxFuel)},
		{Name: "timeout", Default: "30s", Doc: "how long a call may take, 1ms to 24h; a step's own timeout overrides it", schema: schema{"type": "string"}},
		{Name: "instances", Default: "2", Doc: fmt.Sprintf("how many run at once, 1 to %d", maxInstances), schema: count(maxInstances)},
		{Name: "parallel", Default: "what the manifest says", Doc: fmt.Sprintf("how many calls an instance takes at once, 1 to %d", maxParallel), schema: count(maxParallel)},
		{Name: "output", Default: "8MiB", Doc: "how large a request and an answer may be", schema: size()},
		{Name: "processes", Default: "1", Runtime: plugin.RuntimeProcess, Doc: fmt.Sprintf("how many processes and threads it may have, 1 to %d", maxProcesses), schema: count(maxProcesses)},
	}
}

// Schema is the JSON Schema (draft 7) of plugin.yaml, for editors. It describes the shape;
// what two keys must have in common, only [ParsePackage] knows.
func Schema() json.RawMessage {
	root := objectOf(PackageKeys())
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Reflectory plugin"
	return jsontext.MustEncode(root)
}

// objectOf is the schema of a mapping with these keys.
func objectOf(keys []Key) schema {
	properties, required := schema{}, []string{}
	for _, k := range keys {
		s := schema{"description": k.Doc}
		if k.Default != "" {
			s["description"] = k.Doc + " (default: " + k.Default + ")"
		}
		for name, v := range k.schema {
			s[name] = v
		}
		properties[k.Name] = s
		if k.Required {
			required = append(required, k.Name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// names are the keys' names.
func names(keys []Key) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Name
	}
	return list
}
