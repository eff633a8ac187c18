package trace

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	otellog "go.opentelemetry.io/otel/log"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// judged sends a verdict, and a composite's children's, as events in the context of the span
// whose output was judged, unless that isn't kept.
func (t *Tracer) judged(ctx context.Context, name string, v *sdk.Verdict) {
	if span := oteltrace.SpanContextFromContext(ctx); span.IsValid() && !span.IsSampled() {
		return
	}
	label := "fail"
	if v.Valid {
		label = "pass"
	}
	var event otellog.Record
	event.SetEventName(genAIEvaluation)
	event.SetTimestamp(time.Now())
	event.SetSeverity(otellog.SeverityInfo)
	event.AddAttributes(genAIEvaluationName.String(name), genAIEvaluationScore.Float64(v.Score), genAIEvaluationLabel.String(label))
	if t.content && v.Feedback != "" {
		event.AddAttributes(genAIEvaluationExplanation.String(bounded(v.Feedback)))
	}
	t.events.Emit(ctx, event)
	for _, child := range slices.Sorted(maps.Keys(v.Children)) {
		verdict := v.Children[child]
		t.judged(ctx, name+"/"+child, &verdict)
	}
}

// maxContent is how many bytes of a text are sent: a span is no place for a document, and
// collectors refuse messages of a few MB.
const maxContent = 64 << 10

// bounded is a text, or its beginning.
func bounded(text string) string {
	if len(text) <= maxContent {
		return text
	}
	return strings.ToValidUTF8(text[:maxContent], "") + "…"
}

// message is an output as the conventions have a model's messages.
func message(output []byte) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type spoken struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	return string(jsontext.MustEncode([]spoken{{"assistant", []part{{"text", bounded(string(output))}}}}))
}
