package schemaeval

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// maxFindings limits how many findings a verdict lists: far more than anyone corrects
// at once, and they easily fit one message.
const maxFindings = 1_000

// evaluator judges outputs by one prepared schema. It never changes, so it is safe for
// concurrent use.
type evaluator struct {
	gate    *goJudge       // accepts what matches; nil if it can't handle the schema
	schema  *schema.Schema // judges the rest, explains and guides conversion
	strict  bool
	coerces bool
}

// prepare makes the evaluator of one config. All mistakes in its schema are found here,
// before the first attempt.
func prepare(data json.RawMessage) (*evaluator, error) {
	c, err := parseConfig(data)
	if err != nil {
		return nil, err
	}
	s, err := schema.Compile(c.Schema, schema.Options{Draft: c.Draft, Formats: c.Formats, Base: c.Base, Documents: c.Documents})
	if err != nil {
		return nil, err
	}
	return &evaluator{chooseGate(c.Schema, s.Doc, c.Draft, s.Rules), s, c.Scoring == "strict", c.Coerce}, nil
}

// engine names the engine that judges.
func (e *evaluator) engine() string {
	if e.gate != nil {
		return engineGo
	}
	return engineSanthosh
}

// judging is the evaluation of one output.
type judging struct {
	*evaluator
	check *schema.Check
	gate  *goJudge // the evaluator's, if the output is small enough for it
}

// outcome is the result for one value.
type outcome struct {
	value    any             // after conversion
	changed  bool            // by conversion
	replaced json.RawMessage // the value as it was written in a text
	findings []sdk.Finding
	weight   int // what the findings count in the score
	notes    []string
	unread   bool // there was no JSON value to judge
}

// Evaluate judges one output. An output beyond a limit is a bad output, not an error of
// the evaluation.
func (e *evaluator) Evaluate(_ context.Context, req *sdk.EvaluateRequest) (_ *sdk.EvaluateResponse, err error) {
	check, err := e.schema.Begin()
	if err != nil {
		return nil, err
	}
	defer check.End(&err)
	j := &judging{evaluator: e, check: check}
	if e.gate != nil && e.gate.fit(req.Output) {
		j.gate = e.gate
	}
	value, err := schema.Decode(req.Output, schema.MaxOutputBytes)
	if err != nil {
		if sdk.ReasonOf(err) != "json_limit" {
			return nil, sdk.Wrap("read the output", err)
		}
		return e.respond(unreadable("the output has " + err.Error()))
	}
	var found *outcome
	if text, ok := value.(string); ok {
		found, err = j.examineText(text)
	} else {
		found, err = j.examine(value)
	}
	if err != nil {
		return nil, err
	}
	return e.respond(found)
}

func unreadable(message string) *outcome {
	return &outcome{findings: []sdk.Finding{{Message: message, Code: "json"}}, unread: true}
}

// examine judges a value, and converts it first if the config asks for that.
func (j *judging) examine(value any) (*outcome, error) {
	found := &outcome{value: value}
	if j.gate != nil && j.gate.matches(value) {
		return found, nil
	}
	if j.coerces {
		found.value, found.notes = j.coerce(value)
		found.changed = len(found.notes) > 0
	}
	var err error
	found.findings, found.weight, err = j.check.Findings(found.value)
	return found, err
}

// examineText judges a text output: as the JSON in it, and also as a string if the
// schema explicitly accepts strings.
func (j *judging) examineText(text string) (*outcome, error) {
	value, raw, note, parseErr := parse(text)
	var parsed *outcome
	if parseErr == nil {
		var err error
		if parsed, err = j.examine(value); err != nil {
			return nil, err
		}
		parsed.replaced = raw
		parsed.notes = append([]string{note}, parsed.notes...)
		if _, isText := value.(string); isText || len(parsed.findings) == 0 {
			return parsed, nil
		}
	}
	if j.schema.Text {
		plain, err := j.examine(text)
		if err != nil || len(plain.findings) == 0 || parsed == nil || isScalar(value) {
			return plain, err
		}
	}
	if parsed == nil {
		return unreadable("the text is not JSON: " + parseErr.Error()), nil
	}
	return parsed, nil
}

// parse finds the JSON value in a text, and reports how it was found.
func parse(text string) (value any, raw json.RawMessage, note string, err error) {
	raw, note, err = modeltext.Value(text, nil)
	if err != nil {
		return nil, nil, "", err
	}
	value, err = schema.Decode(raw, schema.MaxOutputBytes)
	if note != "" {
		return value, raw, "parsed from text: " + note, err
	}
	return value, raw, "parsed from text", err
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func (e *evaluator) respond(found *outcome) (*sdk.EvaluateResponse, error) {
	v := sdk.Verdict{
		Valid:    len(found.findings) == 0,
		Score:    e.score(found),
		Errors:   listed(found.findings),
		Feedback: schema.Join(found.notes),
		Output:   found.replaced,
	}
	if found.changed {
		output, err := schema.Encode(found.value)
		if err != nil {
			return nil, sdk.Errorf(sdk.Internal, "encode_failed", "%w", err)
		}
		v.Output = output
	}
	return &sdk.EvaluateResponse{Verdict: v, Metadata: map[string]string{metadataEngine: e.engine()}}, nil
}

// score subtracts a fifth for each error and for each member that is missing or not
// allowed; with strict scoring it is 1 or 0. It is rounded so that three errors give
// 0.4 and not 0.3999…. Text that can't be read scores 0: no assertion was tried, and it
// must never be the best attempt.
func (e *evaluator) score(found *outcome) float64 {
	if found.unread || e.strict && len(found.findings) > 0 {
		return 0
	}
	return max(0, math.Round(100-20*float64(found.weight))/100)
}

// listed limits the list, and reports how many findings it leaves out.
func listed(findings []sdk.Finding) []sdk.Finding {
	if len(findings) <= maxFindings {
		return findings
	}
	more := fmt.Sprintf("%d further errors are not listed", len(findings)-maxFindings)
	return append(findings[:maxFindings:maxFindings], sdk.Finding{Message: more, Severity: "info"})
}
