package llmeval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// verdictSchema is the form of a verdict for endpoints with structured output. Strict
// mode requires that every property is listed as required and that no others are
// allowed.
const verdictSchema = `{"type":"object","properties":{"pass":{"type":"boolean"},"score":{"type":"number"},"feedback":{"type":"string"}},"required":["pass","score","feedback"],"additionalProperties":false}`

var verdictForm = &form{Name: "verdict", Strict: true, Schema: json.RawMessage(verdictSchema)}

// Codes of the judge's findings.
const (
	codeJudge = "llm_judge"       // the judge didn't pass the output
	codeReply = "llm_judge_reply" // the judge's reply isn't a verdict
)

// maxFeedback limits feedback, in characters. Feedback goes into the history, which
// every later prompt may repeat. 16,000 characters are about 4,000 tokens.
const maxFeedback = 16_000

// verdict reads the reply as a verdict on what the sources say. A reply that isn't whole, or
// whose prompt was cut, is none.
func (r *reply) verdict(scale float64, sources []string) sdk.Verdict {
	v, err := r.judged(scale, sources)
	if err == nil {
		return v
	}
	return sdk.Verdict{
		Feedback: cut(cmp.Or(r.Refusal, r.Text, r.Thought), maxFeedback),
		Errors:   []sdk.Finding{{Message: cut("the judge's reply isn't a verdict: "+err.Error(), maxFeedback), Code: codeReply, Type: sdk.TypeEvaluatorError}},
	}
}

func (r *reply) judged(scale float64, sources []string) (v sdk.Verdict, err error) {
	switch {
	case r.Finish == modeltext.Refused:
		return v, errors.New("the judge refuses: " + r.refusal())
	case r.Finish == modeltext.Cut:
		return v, errors.New("the reply was cut off at its length limit; raise max_tokens")
	case r.PromptCut:
		return v, fmt.Errorf("the endpoint counted %d tokens for a prompt of %d characters, so it cut the prompt; raise the model's context length", r.usage.TokensIn, r.prompt)
	case r.Text == "":
		return v, fmt.Errorf("there is no text in the reply (%d characters of reasoning)", utf8.RuneCountInString(r.Thought))
	}
	value, _, err := r.Own([]string{"pass"}, sources...)
	if err != nil {
		return v, err
	}
	return parseVerdict(value, scale)
}

// parseVerdict reads {"pass": bool, "score": number, "feedback": string}. Only pass: true, as
// a JSON boolean, passes.
func parseVerdict(value json.RawMessage, scale float64) (sdk.Verdict, error) {
	object, err := decodeObject(value)
	if err != nil {
		return sdk.Verdict{}, err
	}
	var pass *bool
	if raw := object["pass"]; json.Unmarshal(raw, &pass) != nil || pass == nil {
		return sdk.Verdict{}, errors.New(`"pass" is not true or false`)
	}
	v := sdk.Verdict{Valid: *pass, Feedback: feedbackText(object["feedback"])}
	if v.Score, err = scoreOf(object["score"], *pass, scale); err != nil {
		return sdk.Verdict{}, err
	}
	if !v.Valid {
		message := cmp.Or(v.Feedback, "the judge didn't pass this output, and gave no reason")
		v.Errors = []sdk.Finding{{Message: message, Code: codeJudge}}
	}
	return v, nil
}

// decodeObject decodes an object, and refuses one that has a key twice.
func decodeObject(value json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("the JSON in it is not an object")
	}
	object := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the JSON in it is broken: %w", err)
		}
		name, _ := key.(string)
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("more than one %q in the reply", cut(name, excerptRunes))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("the JSON in it is broken: %w", err)
		}
		object[name] = raw
	}
	return object, nil
}

// scoreOf reads a score from 0 to scale. A missing score follows from pass. A score outside is
// none: nothing says what the judge meant by it.
func scoreOf(raw json.RawMessage, pass bool, scale float64) (float64, error) {
	if len(raw) == 0 || string(raw) == "null" {
		if pass {
			return 1, nil
		}
		return 0, nil
	}
	score, err := strconv.ParseFloat(string(raw), 64)
	if raw[0] == '"' || err != nil {
		return 0, fmt.Errorf(`"score" is %s, not a number`, jsonconfig.TypeName(raw))
	}
	if score < 0 || score > scale {
		return 0, fmt.Errorf(`"score" is %s, not from 0 to %g (scale: 10 or scale: 100 sets another range)`, cut(string(raw), 20), scale)
	}
	return score / scale, nil
}

// feedbackText is the feedback. Feedback that isn't text, such as a list, is shown as
// JSON.
func feedbackText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return cut(text, maxFeedback)
}
