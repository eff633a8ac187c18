package llmeval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// judge is an evaluator that asks a model for a verdict.
type judge struct {
	config *judgeConfig
	client *client
}

// Evaluate asks for a verdict on the output. A reply that isn't a verdict is an invalid
// attempt with the reply as feedback. It is never a pass, and not an error.
func (j *judge) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	q := &question{
		messages:           j.config.messages(req.Output),
		sampling:           j.config.sampling,
		defaultTemperature: j.config.sampling.temperature == nil,
		form:               verdictForm,
		idempotencyKey:     req.IdempotencyKey,
	}
	if q.defaultTemperature {
		q.sampling.temperature = new(float64) // 0: the same output gets the same verdict
	}
	r, err := j.client.callModel(ctx, q)
	if err != nil {
		return nil, err
	}
	return &sdk.EvaluateResponse{Verdict: r.verdict(j.config.scale, q.sources(req.Output)), Usage: r.usage, Metadata: r.metadata()}, nil
}

// sources are the texts that the model reads, the judged output among them.
func (q *question) sources(output json.RawMessage) []string {
	var text string
	if json.Unmarshal(output, &text) != nil {
		text = string(output)
	}
	texts := []string{text}
	for _, m := range q.messages {
		texts = append(texts, m.Content)
	}
	return texts
}
