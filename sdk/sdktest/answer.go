package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// sample is a question with a config that the plugin accepts.
type sample struct {
	name     string
	kind     sdk.Kind
	prepared Prepared
	config   json.RawMessage
	request  Request
	call     sdk.Call
	// steady reports whether the same question always has the same answer.
	steady bool
}

// answer is an answer from any kind of plugin, or an error.
type answer struct {
	Verdict  *sdk.Verdict
	Output   json.RawMessage
	Usage    sdk.Usage
	Metadata map[string]string
	err      error
}

// ask asks one question.
func ask(ctx context.Context, s sample) answer {
	answers, err := askAll(ctx, s.kind, s.prepared, []sample{s})
	if err != nil {
		return answer{err: err}
	}
	return answers[0]
}

// askAll asks several questions in one call. The samples have one kind and config.
func askAll(ctx context.Context, kind sdk.Kind, p Prepared, samples []sample) ([]answer, error) {
	var answers []answer
	var err error
	switch kind {
	case sdk.KindEvaluator:
		answers, err = evaluate(ctx, p, samples)
	case sdk.KindGenerator:
		answers, err = generate(ctx, p, samples)
	default:
		answers, err = correct(ctx, p, samples)
	}
	if err == nil && len(answers) != len(samples) {
		return nil, fmt.Errorf("%d results for %d requests", len(answers), len(samples))
	}
	return answers, err
}

func evaluate(ctx context.Context, p Prepared, samples []sample) ([]answer, error) {
	reqs := make([]*sdk.EvaluateRequest, len(samples))
	for i, s := range samples {
		reqs[i] = &sdk.EvaluateRequest{Call: s.call, State: s.request.State, Output: s.request.Output}
	}
	results, err := p.Evaluate(ctx, reqs)
	answers := make([]answer, len(results))
	for i, r := range results {
		answers[i].err = missing(r.Response == nil, r.Err)
		if r.Response != nil {
			answers[i] = answer{&r.Response.Verdict, r.Response.Verdict.Output, r.Response.Usage, r.Response.Metadata, r.Err}
		}
	}
	return answers, err
}

func generate(ctx context.Context, p Prepared, samples []sample) ([]answer, error) {
	reqs := make([]*sdk.GenerateRequest, len(samples))
	for i, s := range samples {
		reqs[i] = &sdk.GenerateRequest{Call: s.call, State: s.request.State}
	}
	results, err := p.Generate(ctx, reqs)
	answers := make([]answer, len(results))
	for i, r := range results {
		answers[i].err = missing(r.Response == nil, r.Err)
		if r.Response != nil {
			answers[i] = answer{nil, r.Response.Output, r.Response.Usage, r.Response.Metadata, r.Err}
		}
	}
	return answers, err
}

func correct(ctx context.Context, p Prepared, samples []sample) ([]answer, error) {
	reqs := make([]*sdk.CorrectRequest, len(samples))
	for i, s := range samples {
		reqs[i] = &sdk.CorrectRequest{
			Call: s.call, State: s.request.State, Output: s.request.Output,
			Errors: s.request.Errors, Feedback: s.request.Feedback,
		}
	}
	results, err := p.Correct(ctx, reqs)
	answers := make([]answer, len(results))
	for i, r := range results {
		answers[i].err = missing(r.Response == nil, r.Err)
		if r.Response != nil {
			answers[i] = answer{nil, r.Response.Output, r.Response.Usage, r.Response.Metadata, r.Err}
		}
	}
	return answers, err
}

func missing(response bool, err error) error {
	if response && err == nil {
		return sdk.Errorf(sdk.Internal, "no_response", "neither a response nor an error")
	}
	return err
}

// same reports whether two answers are equal. Their usage may differ.
func same(a, b answer) bool {
	if a.err != nil || b.err != nil {
		return sdk.CodeOf(a.err) == sdk.CodeOf(b.err) && sdk.ReasonOf(a.err) == sdk.ReasonOf(b.err)
	}
	return sameJSON(encoded(a.Verdict), encoded(b.Verdict)) && sameJSON(a.Output, b.Output)
}

// alike is [same] without regard to the order of lists.
func alike(a, b answer) bool {
	if a.err != nil || b.err != nil {
		return same(a, b)
	}
	return sameJSON(sorted(encoded(a.Verdict)), sorted(encoded(b.Verdict))) && sameJSON(sorted(a.Output), sorted(b.Output))
}

// sorted is a value with its lists sorted. A value that isn't JSON stays unchanged.
func sorted(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, err := json.Marshal(sortLists(v))
	if err != nil {
		return raw
	}
	return out
}

func sortLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = sortLists(member)
		}
	case []any:
		for i, element := range v {
			v[i] = sortLists(element)
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// encoded is a verdict as JSON. Another case reports a verdict that has no JSON form.
func encoded(v *sdk.Verdict) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}

// sameJSON compares values, so the order of keys and the form of numbers don't matter.
// Text that isn't JSON is compared byte for byte.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return string(a) == string(b)
	}
	return reflect.DeepEqual(x, y)
}

// String shows an answer in messages.
func (a answer) String() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("%s (%s)", a.err, sdk.ReasonOf(a.err))
	case a.Verdict != nil:
		return cut(string(encoded(a.Verdict)))
	}
	return cut(string(a.Output))
}

// cut truncates what a message quotes.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
