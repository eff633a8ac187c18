package loop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// CompositeKind describes how a composite combines its children.
type CompositeKind string

// The kinds of composites.
const (
	CompositeAll      CompositeKind = "all"      // valid if all are; the lowest score
	CompositeAny      CompositeKind = "any"      // valid if any is; the highest score
	CompositeWeighted CompositeKind = "weighted" // Σw·s/Σw; valid from Threshold
)

// DefaultThreshold is the lowest score at which a weighted composite is valid.
const DefaultThreshold = 0.7

// Child is one evaluator of a [Composite].
type Child struct {
	Name      string
	Evaluator sdk.Evaluator
	// Weight is the child's weight in a weighted composite.
	Weight float64
}

// Composite judges with several evaluators: in parallel, or, with FailFast, in list order
// up to the first that isn't valid. With FailFast, once a child has parsed the output,
// the later children see the parsed value. Children that didn't run count as score 0 in a
// weighted composite. If a child fails, the composite fails.
type Composite struct {
	Kind     CompositeKind
	Children []Child
	// Threshold is the lowest score at which a weighted composite is valid. 0 means
	// DefaultThreshold.
	Threshold float64
	FailFast  bool
}

// Evaluate implements sdk.Evaluator.
func (c *Composite) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	responses, err := c.run(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.combine(responses), nil
}

// run returns the children's responses in list order, nil for those that FailFast
// skipped. The error has the usage of all children that were asked.
func (c *Composite) run(ctx context.Context, req *sdk.EvaluateRequest) ([]*sdk.EvaluateResponse, error) {
	responses, errs := make([]*sdk.EvaluateResponse, len(c.Children)), make([]error, len(c.Children))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ask := func(i int) {
		if responses[i], errs[i] = c.Children[i].evaluate(ctx, req); errs[i] != nil {
			cancel(errs[i]) // the first failure is the cause of the others
		}
	}
	if c.FailFast {
		replaced := false
		for i := range c.Children {
			if ask(i); errs[i] != nil || !responses[i].Verdict.Valid {
				break
			}
			if output := responses[i].Verdict.Output; len(output) > 0 && !replaced {
				replaced = true
				if req, errs[i] = withOutput(req, output); errs[i] != nil {
					cancel(errs[i])
					break
				}
			}
		}
	} else {
		var wg sync.WaitGroup
		for i := range c.Children {
			wg.Go(func() { ask(i) })
		}
		wg.Wait()
	}
	if errors.Join(errs...) == nil {
		return responses, nil
	}
	var usage sdk.Usage
	for i, resp := range responses {
		if usage = usage.Add(sdk.UsageOf(errs[i])); resp != nil {
			usage = usage.Add(resp.Usage)
		}
	}
	return nil, sdk.WithUsage(context.Cause(ctx), usage)
}

func (c *Child) evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	child := *req
	if child.IdempotencyKey != "" {
		child.IdempotencyKey += "/" + c.Name
	}
	resp, err := c.Evaluator.Evaluate(ctx, &child)
	if err == nil {
		err = sdk.WithUsage(resp.Verdict.Check(), resp.Usage)
	}
	if err != nil {
		return nil, sdk.Wrap("evaluator "+c.Name, err)
	}
	return resp, nil
}

func (c *Composite) combine(responses []*sdk.EvaluateResponse) *sdk.EvaluateResponse {
	out := &sdk.EvaluateResponse{Verdict: sdk.Verdict{Children: map[string]sdk.Verdict{}}}
	var feedback []string
	for i, resp := range responses {
		if resp == nil {
			continue
		}
		name, v := c.Children[i].Name, resp.Verdict
		out.Verdict.Children[name] = v
		out.Verdict.Errors = append(out.Verdict.Errors, sourced(name, v.Errors)...)
		out.Verdict.Output = firstSet(out.Verdict.Output, v.Output)
		out.Usage = out.Usage.Add(resp.Usage)
		if v.Feedback != "" {
			feedback = append(feedback, name+": "+v.Feedback)
		}
	}
	out.Verdict.Feedback = strings.Join(feedback, "\n")
	out.Verdict.Valid, out.Verdict.Score = c.score(responses)
	return out
}

func (c *Composite) score(responses []*sdk.EvaluateResponse) (valid bool, score float64) {
	all, some, lowest, highest := true, false, 1.0, 0.0
	var sum, weights float64
	for i, resp := range responses {
		weights += c.Children[i].Weight
		if resp == nil {
			continue
		}
		v := resp.Verdict
		all, some = all && v.Valid, some || v.Valid
		lowest, highest = min(lowest, v.Score), max(highest, v.Score)
		sum += c.Children[i].Weight * v.Score
	}
	switch c.Kind {
	case CompositeAny:
		return some, highest
	case CompositeWeighted:
		if weights > 0 {
			// If all children score 0.7, the sum must be exactly 0.7, whatever the
			// weights.
			score = core.Rounded(sum / weights)
		}
		return score >= c.threshold(), score
	}
	return all, lowest
}

func (c *Composite) threshold() float64 {
	if c.Threshold == 0 {
		return DefaultThreshold
	}
	return c.Threshold
}

// sourced adds the child's name to its findings: outer/inner if composites are nested.
func sourced(name string, findings []sdk.Finding) []sdk.Finding {
	out := make([]sdk.Finding, len(findings))
	for i, f := range findings {
		if f.Source != "" {
			f.Source = "/" + f.Source
		}
		f.Source = name + f.Source
		out[i] = f
	}
	return out
}

func firstSet(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}
