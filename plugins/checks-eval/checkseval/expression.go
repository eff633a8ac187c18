package checkseval

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// maxMessage limits the message that an expression gives, in bytes.
const maxMessage = 1_000

// readExpression reads a CEL expression. It gives whether the output passes, or an object of valid, score and
// message.
func readExpression(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
	var source string
	o.Take(key, "text", &source)
	x, problems := expression.Compile(source, expression.Cost, "output", "expected", "state")
	for _, problem := range problems {
		o.Report("%s: %s", key, problem)
	}
	return func(in *input) result { return in.evaluate(x) }
}

// evaluate evaluates an expression over a value. What can't be evaluated, such as one that
// names a missing member, doesn't pass.
func (in *input) evaluate(x *expression.Expression) result {
	if text, err := schema.Encode(in.value); err != nil || len(text) > expression.MaxInput {
		return in.tooLarge("expressions read at most 1 MiB")
	}
	var state map[string]any
	if x.Names("state") || x.Names("expected") {
		state = in.decodedState()
	}
	v, err := x.Object(in.ctx, map[string]any{"output": in.value, "expected": state["expected"], "state": state})
	if err != nil {
		return in.fail(0, "%s can't be evaluated: %v", excerpt(x.String(), 0), err)
	}
	score, _ := v["score"].(float64)
	if v["valid"] == true {
		return result{score: score}
	}
	message, _ := v["message"].(string)
	if message == "" {
		message = excerpt(x.String(), 0) + " is false"
	}
	return in.fail(score, "%s", strings.ToValidUTF8(message[:min(len(message), maxMessage)], ""))
}
