package llmeval

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/reflectory/reflectory/sdk"
)

// question is a request to a model.
type question struct {
	messages []message
	sampling sampling
	// defaultTemperature means that the plugin chose the temperature, so a model that
	// refuses it is asked again without it.
	defaultTemperature bool
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
	name   string
	schema json.RawMessage
	// strict makes the endpoint follow the schema exactly; the schema must then list
	// every property.
	strict bool
	// words request the form in the prompt if the endpoint has no structured output; ""
	// if the messages already do.
	words string
}

// reply is the model's reply, without the key.
type reply struct {
	text string
	// refusal is set instead of text if the model refuses.
	refusal string
	// finish is why it ended: "stop", "length" (cut off), "content_filter".
	finish string
	model  string
	usage  sdk.Usage
	tries  int
	// note describes what parsing removed from the text.
	note string
}

// client sends questions to one endpoint's model. It is safe for concurrent use.
type client struct {
	endpoint *endpoint
	chat     openai.ChatCompletionService
	dialects *dialects
}

func newClient(m *maker, e *endpoint) *client {
	opts := []option.RequestOption{
		option.WithBaseURL(e.url + "/"),
		option.WithHTTPClient(m.http()),
		option.WithMaxRetries(0), // retry.go does it, within the call's deadline
		option.WithMiddleware(e.guard),
	}
	if e.key != "" {
		opts = append(opts, option.WithAPIKey(string(e.key)))
	}
	return &client{endpoint: e, chat: openai.NewChatCompletionService(opts...), dialects: m.dialects}
}

// ask sends a question. It tries again if a fault may be temporary, and in another
// dialect if the endpoint refuses this one.
func (c *client) ask(ctx context.Context, q *question) (*reply, error) {
	total := 0
	known := c.dialects.of(c.endpoint)
	var lost sdk.Usage // by tries without a reply
	for d := known; ; {
		x := &exchange{client: c, question: q, dialect: d, lost: &lost}
		tries, err := c.endpoint.retry(ctx, func() error { return x.run(ctx) })
		total += tries
		if err == nil {
			if d != known {
				c.dialects.learn(c.endpoint, d)
			}
			x.reply.tries = total
			x.reply.usage = x.reply.usage.Add(lost)
			return x.reply, nil
		}
		var f *fault
		adapted, ok := d, false
		if errors.As(err, &f) {
			adapted, ok = d.adapt(q, f)
		}
		if !ok {
			err = c.endpoint.explain(ctx, err, total)
			if lost != (sdk.Usage{}) {
				err = sdk.AsError(err).WithDetail(sdk.UsageDetail, lost)
			}
			return nil, err
		}
		d = adapted
	}
}

// exchange is one question in one dialect, and its reply.
type exchange struct {
	*client
	question *question
	dialect  dialect
	emitted  bool       // a broken stream has shown a part of the reply
	lost     *sdk.Usage // usage by tries without a reply, which counts too
	reply    *reply
}

// run makes one HTTP exchange within the endpoint's timeout.
func (x *exchange) run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, x.endpoint.timeout)
	defer cancel()
	var err error
	// Once pieces were shown, the next try requests the whole reply, so that no piece
	// is repeated.
	if x.question.emit != nil && !x.dialect.noStream && !x.emitted {
		err = x.stream(limited)
	} else {
		err = x.whole(limited)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return &fault{err: context.DeadlineExceeded, text: "no complete reply within llm.timeout (" + x.endpoint.timeout.String() + ")"}
	}
	return err
}

func (x *exchange) whole(ctx context.Context) error {
	res, err := x.chat.New(ctx, x.params(), x.options()...)
	if err != nil {
		return x.classify(err)
	}
	return x.take(res)
}

// take reads a whole reply.
func (x *exchange) take(res *openai.ChatCompletion) error {
	if len(res.Choices) == 0 {
		*x.lost = x.lost.Add(x.endpoint.cost(res.Usage.PromptTokens, res.Usage.CompletionTokens))
		return x.endpoint.malformed("has no choices")
	}
	choice := res.Choices[0]
	key := x.endpoint.key
	x.reply = &reply{
		text:    key.scrub(choice.Message.Content),
		refusal: key.scrub(choice.Message.Refusal),
		finish:  key.scrub(choice.FinishReason),
		model:   excerpt(res.Model, key),
		usage:   x.endpoint.cost(res.Usage.PromptTokens, res.Usage.CompletionTokens),
	}
	if x.question.emit != nil && !x.emitted {
		x.show(x.reply.text)
	}
	return nil
}

// classify distinguishes the guard's own errors from errors of a body that is JSON but
// not a reply.
func (x *exchange) classify(err error) error {
	var f *fault
	var final *sdk.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &final):
		return final
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) {
		return x.endpoint.malformed("can't be decoded: " + excerpt(err.Error(), x.endpoint.key))
	}
	return x.endpoint.unread(err)
}

func (x *exchange) options() []option.RequestOption {
	if x.question.idempotencyKey == "" {
		return nil
	}
	return []option.RequestOption{option.WithHeader("Idempotency-Key", x.question.idempotencyKey)}
}

// params translates the question into the protocol's parameters.
func (x *exchange) params() openai.ChatCompletionNewParams {
	q := x.question
	p := openai.ChatCompletionNewParams{Model: x.endpoint.model}
	for _, m := range q.messages {
		p.Messages = append(p.Messages, m.param())
	}
	if q.sampling.temperature != nil && !x.dialect.noTemperature {
		p.Temperature = openai.Float(*q.sampling.temperature)
	}
	if n := q.sampling.maxTokens; n > 0 && x.dialect.completionTokens {
		p.MaxCompletionTokens = openai.Int(n)
	} else if n > 0 {
		p.MaxTokens = openai.Int(n)
	}
	if q.sampling.topP != nil {
		p.TopP = openai.Float(*q.sampling.topP)
	}
	if q.sampling.seed != nil {
		p.Seed = openai.Int(*q.sampling.seed)
	}
	if len(q.sampling.stop) > 0 {
		p.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: q.sampling.stop}
	}
	switch {
	case q.form == nil:
	case !x.dialect.noFormat:
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: q.form.name, Strict: openai.Bool(q.form.strict), Schema: q.form.schema,
			},
		}
	case q.form.words != "":
		p.Messages = append(p.Messages, openai.UserMessage(q.form.words))
	}
	return p
}

func (m message) param() openai.ChatCompletionMessageParamUnion {
	switch m.role {
	case roleSystem:
		return openai.SystemMessage(m.content)
	case roleAssistant:
		return openai.AssistantMessage(m.content)
	}
	return openai.UserMessage(m.content)
}

// metadata is what a response contains in addition to its output.
func (r *reply) metadata() map[string]string {
	m := map[string]string{}
	if r.model != "" {
		m["model"] = r.model
	}
	if r.tries > 1 {
		m["tries"] = strconv.Itoa(r.tries)
	}
	if r.note != "" {
		m["note"] = r.note
	}
	return m
}
