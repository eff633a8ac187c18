package peers

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// request is what every loop is asked for.
const request = "Who wrote the first program, and how old was she?"

// The three attempts of every loop. Only the last is valid.
const (
	firstOutput  = `{"name":"","age":"27"}`
	secondOutput = `{"name":"Ada Lovelace","age":"27"}`
	thirdOutput  = `{"name":"Ada Lovelace","age":27}`
)

// draft is an attempt as the peers hand it from step to step.
type draft struct {
	iteration int
	output    json.RawMessage
	verdict   sdk.Verdict
}

// outcome is what a loop says of itself at its end.
type outcome struct {
	attempts int
	passed   bool
	output   string
}

// work is the steps that every variant runs, and how often they ran in the
// current loop.
type work struct {
	generated, evaluated, corrected int
}

func (w *work) generate() json.RawMessage {
	w.generated++
	return json.RawMessage(firstOutput)
}

func (w *work) evaluate(output json.RawMessage) sdk.Verdict {
	w.evaluated++
	switch string(output) {
	case thirdOutput:
		return sdk.Verdict{Valid: true, Score: 1}
	case secondOutput:
		return sdk.Verdict{Score: 0.8, Errors: []sdk.Finding{{Message: "is not a number", Path: "/age"}}}
	}
	return sdk.Verdict{Score: 0.6, Errors: []sdk.Finding{
		{Message: "is empty", Path: "/name"}, {Message: "is not a number", Path: "/age"},
	}}
}

func (w *work) correct(output json.RawMessage) json.RawMessage {
	w.corrected++
	if string(output) == firstOutput {
		return json.RawMessage(secondOutput)
	}
	return json.RawMessage(thirdOutput)
}

// plain is the steps in a for loop: what the loop costs without any engine.
type plain struct{ work *work }

func (p *plain) run(context.Context) (outcome, error) {
	d := &draft{iteration: 1, output: p.work.generate()}
	for {
		d.verdict = p.work.evaluate(d.output)
		if d.verdict.Valid || d.iteration == maxIterations {
			return d.outcome(), nil
		}
		d = &draft{iteration: d.iteration + 1, output: p.work.correct(d.output)}
	}
}

func (d *draft) outcome() outcome {
	return outcome{attempts: d.iteration, passed: d.verdict.Valid, output: string(d.output)}
}
