package workflow

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core/jsontext"
)

// jsonSchema is a JSON Schema, or a part of one.
type jsonSchema map[string]any

// Schema is the JSON Schema (draft 7) of workflow files, for editors. It describes the
// shape, the words and the bounds of each value. It can't describe how two keys depend on
// each other, or what templates and expressions may contain: only [Load] checks these.
func Schema() json.RawMessage {
	definitions := jsonSchema{
		"generator": stepSchema(stepTypes, formCall),
		"corrector": stepSchema(stepTypes, formCall),
		"evaluator": stepSchema(judgeTypes, formLLM, formJudge),
		blockChild:  stepSchema(judgeTypes, formLLM, formJudge, blockChild), blockWeighted: stepSchema(judgeTypes, formLLM, formJudge, blockWeighted),
	}
	for _, b := range append(outerBlocks(), actionBlocks()...) {
		definitions[b.Name] = objectOf(b.Doc, b.Name)
	}
	for _, name := range []string{blockMessage, blockPart, blockToolCall, blockTool, formCall, formLua, formCommand, formPlugin, formMCP} {
		definitions[name] = objectOf(blocks()[name].Doc, name)
	}
	definitions[blockNode] = nodeSchema()
	return jsontext.MustEncode(jsonSchema{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "Reflectory workflow", "$ref": ref(blockWorkflow)["$ref"],
		"definitions": definitions,
	})
}

func ref(block string) jsonSchema {
	return jsonSchema{"$ref": "#/definitions/" + block}
}

// objectOf is the schema of a mapping that has the keys of some blocks.
func objectOf(doc string, names ...string) jsonSchema {
	properties, required := jsonSchema{}, []string{}
	for _, name := range names {
		for _, k := range blocks()[name].Keys {
			properties[k.Name] = k.schema()
			if k.Required {
				required = append(required, k.Name)
			}
		}
	}
	slices.Sort(required)
	return jsonSchema{"type": "object", "description": doc, "properties": properties, "required": required, "additionalProperties": false}
}

// nodeSchema is the schema of a node. The content of with depends on the node's action.
func nodeSchema() jsonSchema {
	s := objectOf(blocks()[blockNode].Doc, blockNode)
	var cases []jsonSchema
	for _, action := range actionNames() {
		cases = append(cases, jsonSchema{
			"if":   jsonSchema{"properties": jsonSchema{"action": jsonSchema{"const": action}}},
			"then": jsonSchema{"properties": jsonSchema{"with": ref(action)}},
		})
	}
	s["allOf"] = cases
	return s
}

// stepSchema is the schema of a step: one of its forms, each with the keys that every form
// has. model is the form of a language model.
func stepSchema(types []string, model string, every ...string) jsonSchema {
	tool := formMCP
	if model == formLLM {
		tool = formMCPJudge
	}
	forms := []jsonSchema{
		variant("action", actionLLM, model, every), variant("action", actionLua, formLua, every), variant("action", actionCommand, formCommand, every), variant("action", actionPlugin, formPlugin, every), variant("action", actionMCP, tool, every),
		variant("", "run", formLua, every), variant("", "plugin", formPlugin, every),
	}
	for _, t := range types {
		form := map[string]string{"schema": formSchema, "checks": formChecks, "mcp": tool, "llm": model, "lua": formLua, "command": formCommand, "all": formAll, "any": formAll, "weighted": formWeighted}[t]
		forms = append(forms, variant("type", t, form, every))
	}
	return jsonSchema{"anyOf": forms}
}

// variant is a form that is chosen by the word under a key or, without such a key, by the
// presence of the form's own key.
func variant(key, word, form string, every []string) jsonSchema {
	s := objectOf(blocks()[form].Doc, append([]string{form}, every...)...)
	required, properties := s["required"].([]string), s["properties"].(jsonSchema)
	if key == "" {
		s["required"] = slices.Compact(slices.Sorted(slices.Values(append(required, word))))
		return s
	}
	properties[key] = jsonSchema{"const": word}
	s["required"] = append(required, key)
	return s
}

// schema is the schema of a key's value.
func (k Key) schema() jsonSchema {
	s := k.valueSchema()
	if len(k.Sees) > 0 && k.Type != TypeText && k.Type != TypeAny {
		s = jsonSchema{"anyOf": []any{s, jsonSchema{"type": "string", "pattern": `\{[{%]`}}}
	}
	s["description"] = k.Doc
	if k.Default != "" {
		s["description"] = k.Doc + " Default: " + k.Default + "."
	}
	return s
}

func (k Key) valueSchema() jsonSchema {
	switch k.Type {
	case TypeText:
		return jsonSchema{"type": "string"}
	case TypeWord:
		return jsonSchema{"enum": k.Values}
	case TypeName:
		return jsonSchema{"type": "string", "pattern": k.Form().String()}
	case TypeFlag:
		return jsonSchema{"type": "boolean"}
	case TypeNumber:
		return k.bounded("number")
	case TypeInteger:
		return k.bounded("integer")
	case TypeDuration:
		return jsonSchema{"type": "string", "pattern": `^([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$`}
	case TypeExpression:
		return jsonSchema{"type": []string{"string", "boolean"}}
	case TypeMapping:
		if k.Block != "" {
			return jsonSchema{"allOf": []any{ref(k.Block)}} // draft 7 ignores what is next to $ref
		}
		return jsonSchema{"type": "object"}
	case TypeList:
		if k.Block != "" {
			return jsonSchema{"type": "array", "items": ref(k.Block)}
		}
		if k.Values != nil {
			return jsonSchema{"type": "array", "items": jsonSchema{"enum": k.Values}}
		}
		return jsonSchema{"type": "array"}
	case TypeAny:
		if k.Block != "" {
			return jsonSchema{"anyOf": []any{jsonSchema{"type": "string"}, jsonSchema{"type": "array", "items": ref(k.Block)}}}
		}
	}
	return jsonSchema{}
}

func (k Key) bounded(kind string) jsonSchema {
	s := jsonSchema{"type": kind, "minimum": k.Least}
	if k.Most != math.MaxInt32 && k.Most != math.MaxFloat64 {
		s["maximum"] = k.Most
	}
	return s
}
