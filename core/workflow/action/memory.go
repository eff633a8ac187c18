package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// remember runs a memory.* action. A run that was killed before it could record the visit
// repeats an action that writes, so the request has a key that makes the repetition
// return the first result. A request without a namespace uses the run's namespace; a
// reflection uses the namespace of its first source.
func (a *Actions) remember(ctx context.Context, req *Request, s *MemorySpec) (any, error) {
	if a.Memories == nil {
		return nil, sdk.Errorf(sdk.Unavailable, "memory_not_available", "memory.%s: this host has no memories", s.Verb).
			WithHint("run the workflow where a memory is open").WithAction("run", "workflow", nil)
	}
	text, err := s.Request.Render(Variables{State: req.State})
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("run:%s:%d", req.RunID, req.Visit)
	switch s.Verb {
	case VerbObserve:
		r, err := memoryRequest[core.ObserveRequest](text)
		if err != nil {
			return nil, err
		}
		r.Namespace, r.IdempotencyKey = cmp.Or(r.Namespace, a.Namespace), cmp.Or(r.IdempotencyKey, key)
		return a.Memories.Observe(ctx, r)
	case VerbReflect:
		r, err := memoryRequest[core.ReflectRequest](text)
		if err != nil {
			return nil, err
		}
		r.IdempotencyKey = cmp.Or(r.IdempotencyKey, key)
		return a.Memories.Reflect(ctx, r)
	case VerbRecall:
		r, err := memoryRequest[core.RecallRequest](text)
		if err != nil {
			return nil, err
		}
		r.Namespace, r.Session = cmp.Or(r.Namespace, a.Namespace), cmp.Or(r.Session, req.Session)
		return a.Memories.Recall(ctx, r)
	case VerbFeedback:
		r, err := memoryRequest[core.FeedbackRequest](text)
		if err != nil {
			return nil, err
		}
		return a.feedback(ctx, req, r)
	}
	panic(fmt.Sprintf("action: no memory verb %q", s.Verb))
}

// feedback ends a turn, by default the run's newest. Without an outcome it only names the
// memories that were used, and the run's end decides the outcome.
func (a *Actions) feedback(ctx context.Context, req *Request, r *core.FeedbackRequest) (any, error) {
	r.Session = cmp.Or(r.Session, req.Turn.Session)
	if r.Turn == 0 && r.Session == req.Turn.Session {
		r.Turn = req.Turn.Turn
	}
	if r.Session == "" || r.Turn == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "turn_missing", "memory.feedback: the run has no turn that waits for a feedback").
			WithHint("recall before it, or name the session and turn of another recall")
	}
	if r.Outcome == "" && len(r.ToolOutcomes) == 0 {
		return &UsesNamed{Session: r.Session, Turn: r.Turn, Used: append([]string{}, r.Used...)}, nil
	}
	return a.Memories.Feedback(ctx, r)
}

// memoryRequest decodes a rendered request. The loader checked its keys; the values that
// templates produced are only checked here.
func memoryRequest[R any](text json.RawMessage) (*R, error) {
	r := new(R)
	d := json.NewDecoder(bytes.NewReader(wholeNumbers(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "memory_request_invalid", "the request can't be read: %w", err).
			WithHint("check what the templates under with: produce")
	}
	return r, nil
}

// wholeNumbers writes the whole numbers of a request as Go reads integers: in YAML and in a template, 5.0
// and 5e0 are 5. Metadata stays as it is.
func wholeNumbers(text json.RawMessage) json.RawMessage {
	switch jsontext.Kind(text) {
	case "a number":
		if whole, is := sdk.WholeNumber(text); is {
			return whole
		}
	case "a list":
		var items []json.RawMessage
		if json.Unmarshal(text, &items) == nil {
			for i := range items {
				items[i] = wholeNumbers(items[i])
			}
			return jsontext.MustEncode(items)
		}
	case "an object":
		members := jsontext.Members(text)
		for i, m := range members {
			if m.Key != "metadata" {
				members[i].Value = wholeNumbers(m.Value)
			}
		}
		return jsontext.JoinMembers(members)
	}
	return text
}
