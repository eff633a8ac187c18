package llmeval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// question is a request to a model.
type question struct {
	messages []message
	attached *attachments // of the messages; nil is none
	sampling sampling
	// defaultTemperature means that the plugin chose the temperature, so a model that
	// refuses it is asked again without it.
	defaultTemperature bool
	// effort is the endpoint's, see [endpoint.effort].
	effort string
	// tools are what the model may call.
	tools toolbox
	// form, if not nil, is the requested form of the reply.
	form *form
	// idempotencyKey is sent if it is set.
	idempotencyKey string
	// emit, if not nil, gets the reply's pieces. No piece is emitted twice.
	emit func(chunk string)
}

// form is the JSON that a reply should have, requested as the endpoint's structured
// output.
type form struct {
	Name string `json:"name"`
	// Strict makes the endpoint follow the schema exactly; the schema must then list
	// every property.
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
	// words request the form in the prompt if the endpoint has no structured output; ""
	// if the messages already do.
	words string
}

// object reports whether the form is an object, which is all that JSON mode can ask for.
func (f *form) object() bool {
	var schema struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(f.Schema, &schema) == nil && schema.Type == "object"
}

// reply is the model's reply, without the key.
type reply struct {
	*modeltext.Reply
	// endpoint is the one that replied.
	endpoint *endpoint
	model    string
	usage    sdk.Usage
	tries    int
	// prompt is how many characters the question had.
	prompt int
	// note describes what parsing removed from the text.
	note string
	// failed are the models that weren't served before, with the reasons.
	failed []string
	// notSent are the fields of the config that the model refuses.
	notSent []string
	// refuses is what the model is known to refuse, see [endpoint.refuses].
	refuses []string
	// sent are the messages that were sent, without the key.
	sent []sdk.PromptMessage
}

// chars is the length of the messages, in characters.
func (q *question) chars() (n int) {
	for _, m := range q.messages {
		n += utf8.RuneCountInString(m.Content)
	}
	return n
}

// client sends questions to one endpoint's model. It is safe for concurrent use.
type client struct {
	endpoint *endpoint
	http     *http.Client
	dialects *dialects
}

// callModel sends a question, with what a person doesn't see in its messages made visible
// ([sdk.Visible]): they may repeat recalled text. A model that isn't served is followed by the
// next of the config's.
func (c *client) callModel(ctx context.Context, q *question) (*reply, error) {
	q.messages = slices.Clone(q.messages) // a config's are used again
	for i := range q.messages {
		q.messages[i].change(sdk.Visible)
	}
	q.effort = c.endpoint.effort
	x := &exchange{client: c, question: q}
	r, err := x.ask(ctx)
	key := q.idempotencyKey
	var failed []string
	best := err // of the errors, the one that may pass
	for _, model := range c.endpoint.others {
		if !unserved(ctx, err) {
			break
		}
		failed = append(failed, x.endpoint.model+": "+sdk.ReasonOf(err))
		next := *c.endpoint
		next.model = model
		x.client = &client{endpoint: &next, http: c.http, dialects: c.dialects}
		if key != "" {
			q.idempotencyKey = key + ":" + model // another request
		}
		if r, err = x.ask(ctx); sdk.Permanent(best) || !sdk.Permanent(err) {
			best = err
		}
	}
	switch {
	case err == nil:
		r.failed = failed
		r.usage = r.usage.Add(x.lost)
		return r, nil
	case len(failed) > 0:
		err = sdk.AsError(best).WithDetail("models_failed", append(failed, x.endpoint.model+": "+sdk.ReasonOf(err)))
	}
	if x.lost != (sdk.Usage{}) {
		err = sdk.AsError(err).WithDetail(sdk.UsageDetail, x.lost)
	}
	return nil, sdk.WithPrompt(err, x.sent())
}

// unserved reports whether an error means that this model isn't served now, and there is time for
// another.
func unserved(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && slices.Contains([]sdk.Code{sdk.Unavailable, sdk.Exhausted, sdk.Timeout}, sdk.CodeOf(err))
}

// ask sends the question to the exchange's model. It tries again if a fault may be temporary, and
// in another dialect if the endpoint refuses this one.
func (x *exchange) ask(ctx context.Context) (*reply, error) {
	known := x.dialects.of(x.endpoint)
	x.dialect = known
	for total := 0; ; {
		tries, err := x.endpoint.retry(ctx, func() error { return x.run(ctx) })
		total += tries
		if err == nil {
			if x.dialect != known {
				x.dialects.remember(x.endpoint, x.dialect)
			}
			x.reply.tries = total
			x.reply.notSent, x.reply.refuses = x.dialect.notSent(x.question), x.endpoint.refuses(x.dialect)
			return x.reply, nil
		}
		var f *fault
		if errors.As(err, &f) {
			if adapted, ok := x.dialect.adapt(x.question, f); ok {
				x.dialect = adapted
				continue
			}
		}
		return nil, x.endpoint.explain(ctx, err, total)
	}
}

// metadata is what a response contains in addition to its output.
func (r *reply) metadata() map[string]string {
	m := map[string]string{sdk.MetadataPrompt: sdk.EncodePrompt(r.sent)}
	if r.model != "" {
		m["model"] = r.model
	}
	if r.tries > 1 {
		m["tries"] = strconv.Itoa(r.tries)
	}
	if len(r.failed) > 0 {
		m["models_failed"] = strings.Join(r.failed, ", ")
		m["model"] = cmp.Or(r.model, r.endpoint.model)
	}
	if len(r.notSent) > 0 {
		m["not_sent"] = strings.Join(r.notSent, ", ")
	}
	if n := len(r.ToolCalls); n > 0 {
		m[sdk.MetadataToolCalls] = strconv.Itoa(n)
	}
	if n := utf8.RuneCountInString(r.Thought); n > 0 {
		m["thought"] = strconv.Itoa(n) // characters
	}
	if len(r.refuses) > 0 {
		m["refuses"] = strings.Join(r.refuses, ",")
	}
	switch {
	case r.PromptCut:
		m[sdk.MetadataNotCached] = "prompt_cut"
	case r.Unknown != "":
		m[sdk.MetadataNotCached] = "unknown_finish"
	}
	if notes := slices.Concat([]string{r.note}, r.Notes); strings.Join(notes, "") != "" {
		m["note"] = strings.TrimPrefix(strings.Join(notes, "; "), "; ")
	}
	return m
}
