package trace

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Work follows work by a span. It implements [work.Observer].
func (t *Tracer) Work(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
	ctx = withCaller(ctx)
	switch w.Kind {
	case work.Run:
		return t.run(ctx, &w)
	case work.Iteration:
		return t.iteration(ctx, &w)
	case work.Call:
		return t.call(ctx, &w)
	case work.Search, work.Update, work.Delete:
		return t.memory(ctx, &w)
	}
	return ctx, func(work.Outcome) {}
}

// begin begins a span.
func (t *Tracer) begin(ctx context.Context, name string, kind oteltrace.SpanKind, attributes ...attribute.KeyValue) (context.Context, oteltrace.Span) {
	return t.spans.Start(ctx, name, oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attributes...))
}

// end ends a span. It has an error's class and reason, but not its text, which may quote
// content.
func end(span oteltrace.Span, err error) {
	if err != nil {
		reason := sdk.ReasonOf(err)
		span.SetAttributes(errorType.String(reason))
		span.SetStatus(codes.Error, reason)
	}
	span.End()
}

func (t *Tracer) run(ctx context.Context, w *work.Work) (context.Context, func(work.Outcome)) {
	ctx, span := t.begin(ctx, invokeWorkflow+" "+w.Name, oteltrace.SpanKindInternal,
		genAIOperation.String(invokeWorkflow), genAIWorkflow.String(w.Name), runID.String(w.RunID), namespace.String(w.Namespace))
	return ctx, func(out work.Outcome) {
		span.SetAttributes(runStatus.String(string(out.Run.Status)), runScore.Float64(out.Run.Score))
		setUsage(span, out.Run.Usage.Usage)
		end(span, failureOf(out.Err, out.Run))
	}
}

// failureOf is why a run failed, even if a loop ended it.
func failureOf(err error, run *core.Run) error {
	if err == nil && run.Status == core.StatusError && run.Error != nil {
		return sdk.Errorf(sdk.Internal, run.Error.Code, "%s", run.Error.Message)
	}
	return err
}

func setUsage(span oteltrace.Span, u sdk.Usage) {
	if u.TokensIn != 0 || u.TokensOut != 0 {
		span.SetAttributes(genAIInputTokens.Int64(u.TokensIn), genAIOutputTokens.Int64(u.TokensOut))
	}
}

// iterating is the iteration that a call belongs to. Its calls come one after the other,
// except calls of evaluators, which don't change it.
type iterating struct {
	// maker is the context of the call that made the attempt; nil before.
	maker context.Context
}

type iteratingKey struct{}

func (t *Tracer) iteration(ctx context.Context, w *work.Work) (context.Context, func(work.Outcome)) {
	ctx, span := t.begin(ctx, "iteration", oteltrace.SpanKindInternal, node.String(w.Name), iteration.Int(w.Iteration))
	made := &iterating{}
	inner := context.WithValue(ctx, iteratingKey{}, made)
	return inner, func(out work.Outcome) {
		if a := out.Attempt; a != nil && a.Judged {
			span.SetAttributes(accepted.Bool(a.Accepted))
			judged := ctx
			if made.maker != nil {
				judged = made.maker
			}
			if !a.GeneratorFailed() {
				t.judged(judged, w.Name, &sdk.Verdict{Valid: a.Valid, Score: a.Score, Feedback: a.Feedback, Children: a.Children})
			}
		}
		end(span, out.Err)
	}
}

// model has the fields of a config about the model that a plugin asks.
type model struct {
	LLM struct {
		Provider string `json:"provider"`
		Model    string `json:"model"`
	} `json:"llm"`
}

// call is the span of a plugin's call: the convention's span for a model, if the plugin's
// config names the model.
func (t *Tracer) call(ctx context.Context, w *work.Work) (context.Context, func(work.Outcome)) {
	var asked model
	_ = json.Unmarshal(w.Config, &asked) // what is no such config names no model
	name, kind := string(w.Role)+" "+w.Name, oteltrace.SpanKindInternal
	attributes := []attribute.KeyValue{plugin.String(w.Name), role.String(string(w.Role))}
	isChat := asked.LLM.Model != ""
	if isChat {
		name, kind = chat+" "+asked.LLM.Model, oteltrace.SpanKindClient
		attributes = append(attributes, genAIOperation.String(chat), genAIProvider.String(asked.LLM.Provider), genAIRequestModel.String(asked.LLM.Model))
	}
	inner, span := t.begin(ctx, name, kind, attributes...)
	in, _ := ctx.Value(iteratingKey{}).(*iterating)
	return context.WithValue(inner, iteratingKey{}, (*iterating)(nil)), func(out work.Outcome) {
		if in != nil && w.Role != sdk.RoleEvaluate {
			in.maker = inner
		}
		t.answered(span, isChat, &out)
		if in == nil { // nobody else says what was judged
			for _, r := range out.Results {
				if r.Verdict != nil && r.Err == nil {
					t.judged(ctx, w.Name, r.Verdict)
				}
			}
		}
		end(span, core.JoinErrors(append(errorsOf(out.Results), out.Err)...))
	}
}

// answered puts the outcome of a plugin's call into a span.
func (t *Tracer) answered(span oteltrace.Span, isChat bool, out *work.Outcome) {
	used := sdk.UsageOf(out.Err)
	for _, r := range out.Results {
		used = used.Add(r.Usage)
		if name := r.Metadata["model"]; isChat && name != "" {
			span.SetAttributes(genAIResponseModel.String(name))
		}
		switch {
		case !t.content || r.Output == nil:
		case isChat:
			span.SetAttributes(genAIOutput.String(message(r.Output)))
		default:
			span.SetAttributes(output.String(bounded(string(r.Output))))
		}
	}
	setUsage(span, used)
}

func errorsOf(results []work.CallResult) (errs []error) {
	for _, r := range results {
		errs = append(errs, r.Err)
	}
	return errs
}

// memory is the span of what is done with memories.
func (t *Tracer) memory(ctx context.Context, w *work.Work) (context.Context, func(work.Outcome)) {
	name := string(w.Kind)
	ctx, span := t.begin(ctx, name, oteltrace.SpanKindInternal, genAIOperation.String(name), action.String(w.Name))
	if w.Namespace != "" {
		span.SetAttributes(namespace.String(w.Namespace))
	}
	if t.content && w.Query != "" {
		span.SetAttributes(genAIMemoryQuery.String(bounded(w.Query)))
	}
	return ctx, func(out work.Outcome) { end(span, out.Err) }
}
