package llmeval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
	"github.com/reflectory/reflectory/sdk/jsontext"
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

// verdict reads the reply as a verdict.
func (r *reply) verdict() sdk.Verdict {
	text := cmp.Or(r.text, r.refusal)
	v, err := parseVerdict(text)
	if err == nil {
		return v
	}
	message := "the judge's reply isn't a verdict: " + err.Error()
	if r.finish == finishLength {
		message += " (the reply was cut off at its length limit; raise max_tokens)"
	}
	return sdk.Verdict{
		Feedback: cut(text, maxFeedback),
		Errors:   []sdk.Finding{{Message: cut(message, maxFeedback), Code: codeReply}},
	}
}

// parseVerdict reads {"pass": bool, "score": number, "feedback": string} from a text
// that contains nothing else, or from the one JSON object inside prose. Only pass:
// true, as a JSON boolean, passes.
func parseVerdict(text string) (sdk.Verdict, error) {
	object, err := verdictObject(jsontext.AfterThought(text))
	if err != nil {
		return sdk.Verdict{}, err
	}
	var pass *bool
	if raw := object["pass"]; json.Unmarshal(raw, &pass) != nil || pass == nil {
		return sdk.Verdict{}, errors.New(`"pass" is not true or false`)
	}
	v := sdk.Verdict{Valid: *pass, Feedback: feedbackText(object["feedback"])}
	if v.Score, err = scoreOf(object["score"], *pass); err != nil {
		return sdk.Verdict{}, err
	}
	if !v.Valid {
		message := cmp.Or(v.Feedback, "the judge didn't pass this output, and gave no reason")
		v.Errors = []sdk.Finding{{Message: message, Code: codeJudge}}
	}
	return v, nil
}

// verdictObject finds the one object in a text. If there is a second verdict, perhaps
// quoted from the output, neither counts.
func verdictObject(text string) (map[string]json.RawMessage, error) {
	value, note, err := jsontext.ExtractObject(text)
	if err != nil {
		return nil, err
	}
	if note != "" && strings.Contains(strings.Replace(text, string(value), "", 1), `"pass"`) {
		return nil, errors.New(`more than one "pass" in the reply`)
	}
	return decodeObject(value)
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

// scoreOf clamps a score to [0,1]. A missing score follows from pass.
func scoreOf(raw json.RawMessage, pass bool) (float64, error) {
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
	return min(1, max(0, score)), nil
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
