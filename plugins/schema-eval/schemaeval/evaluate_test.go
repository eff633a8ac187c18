package schemaeval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

// evaluator prepares a config: JSON text, or a value to encode.
func evaluator(config any) (sdk.Evaluator, error) {
	data, ok := config.(string)
	if !ok {
		encoded, err := json.Marshal(config)
		if err != nil {
			return nil, err
		}
		data = string(encoded)
	}
	p := schemaeval.Plugin()
	return p.Evaluator(context.Background(), json.RawMessage(data))
}

// evaluate judges one output by a config.
func evaluate(t *testing.T, config, output string) *sdk.EvaluateResponse {
	t.Helper()
	e, err := evaluator(config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
