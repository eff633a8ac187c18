package gateway

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

type schema = map[string]any

// Schema is the JSON Schema (draft 7) of [FileName], for editors. It has the shape and the limits of each value; what an
// evaluator and a workflow say, and rules about two values, are only checked by [Read].
func Schema() json.RawMessage {
	mapping := func(doc string, properties schema, required ...string) schema {
		s := schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false, "description": doc}
		if required != nil {
			s["type"], s["required"] = "object", required
		}
		return s
	}
	value := func(kind, doc string, more schema) schema {
		s := schema{"type": []string{kind, "null"}, "description": doc}
		for key, v := range more {
			s[key] = v
		}
		return s
	}
	words := func(doc string, list ...any) schema { return schema{"enum": append(list, nil), "description": doc} }
	text := func(doc string) schema { return value("string", doc, nil) }
	flag := func(doc string) schema { return value("boolean", doc, nil) }
	whole := func(doc string, most int64) schema {
		return value("integer", doc, schema{"minimum": 1, "maximum": most})
	}
	number := func(doc string, most float64) schema {
		return value("number", doc, schema{"exclusiveMinimum": 0, "maximum": most})
	}
	namespace := text("where its runs and memories are; the token's default namespace without it")
	limits := mapping("limits of all callers together", schema{
		"requests_per_minute": whole("requests in a minute", maxPerMinute), "parallel": whole("requests at once", maxParallel),
	})
	budget := mapping("what the requests together may use", schema{
		"tokens": whole("tokens of prompts and answers", core.MaxBudgetTokens), "cost_usd": number("US dollars", core.MaxBudgetUSD),
		"per": words("a day, which begins at midnight UTC, or each request by itself", core.PerDay, core.PerRequest),
	})
	model := mapping("a model with an upstream; as settings.llm without one", schema{
		"upstream": mapping("where it is asked", schema{
			"provider": words("what the endpoint speaks", "openai", "ollama", "anthropic"), "base_url": text("the base of the endpoint's paths, which settings.llm.endpoints must allow"),
			"model": text("what the endpoint calls the model"), "api_key_env": value("string", "the variable with the endpoint's key", schema{"pattern": variableForm}),
			"credentials": words("sends the client's own key instead of one of this host", "client"),
			"price":       mapping("US dollars for a million tokens", schema{"in": number("of prompts", maxPrice), "out": number("of answers", maxPrice)}),
		}),
		"namespace": namespace,
		"recall":    mapping("adds what the namespace remembers", schema{"max_tokens": whole("of a turn's context", maxRecall)}, "max_tokens"),
		"check": mapping("what a reply has to pass", schema{
			"tools": flag("arguments of tool calls fit the request's schemas"), "response_format": flag("a reply asked for as json_schema fits it"),
			"live": flag("streams the first attempt at once, and only records its verdict"), "evaluator": schema{"type": []string{"object", "null"}, "description": "any evaluator, for texts"},
			"max_iterations": whole("attempts", maxIterations), "on_failure": words("what the client gets if none passes", "return_best", "raise"),
		}),
		"learn":  flag("records how turns went, as feedback on what was recalled"),
		"record": words("what is kept of requests", RecordContent, RecordDigests), "budget": budget, "limits": limits,
	})
	workflow := mapping("a workflow as a model: its input is the user's last message, and the reply is its result", schema{
		"workflow": schema{"type": "string", "description": "the workflow's file, next to this file or below"}, "namespace": namespace, "limits": limits, "budget": budget,
	}, "workflow")
	root := mapping("The models of the gateway.", schema{
		"models": schema{
			"type": []string{"object", "null"}, "description": "the models by the names that clients write", "maxProperties": maxServed,
			"additionalProperties": schema{"if": schema{"type": "object", "required": []string{"workflow"}}, "then": workflow, "else": model},
		},
		"pass": schema{"type": []string{"array", "null"}, "items": schema{"type": "string", "minLength": 1}, "description": "patterns of names that go to settings.llm's endpoint unchecked"},
	})
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Reflectory gateway"
	return jsontext.MustEncode(root)
}
