package llmeval

import (
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
	Name string `json:"name"`
	// Strict makes the endpoint follow the schema exactly; the schema must then list
	// every property.
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
	// words request the form in the prompt if the endpoint has no structured output; ""
	// if the messages already do.
	words string
}

// reply is the model's reply, without the key.
type reply struct {
	*modeltext.Reply
	model string
	usage sdk.Usage
	tries int
	// prompt is how many characters the question had.
	prompt int
	// note describes what parsing removed from the text.
	note string
	// notSent are the fields of the config that the model refuses.
	notSent []string
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
// ([sdk.Visible]): they may repeat recalled text. It tries again if a fault may be temporary, and in
// another dialect if the endpoint refuses this one.
func (c *client) callModel(ctx context.Context, q *question) (*reply, error) {
	q.messages = slices.Clone(q.messages) // a config's are used again
	for i := range q.messages {
		q.messages[i].Content = sdk.Visible(q.messages[i].Content)
	}
	known := c.dialects.of(c.endpoint)
	x := &exchange{client: c, question: q, dialect: known}
	for total := 0; ; {
		tries, err := c.endpoint.retry(ctx, func() error { return x.run(ctx) })
		total += tries
		if err == nil {
			if x.dialect != known {
				c.dialects.remember(c.endpoint, x.dialect)
			}
			x.reply.tries = total
			x.reply.notSent = x.dialect.notSent(q)
			x.reply.usage = x.reply.usage.Add(x.lost)
			return x.reply, nil
		}
		var f *fault
		if errors.As(err, &f) {
			if adapted, ok := x.dialect.adapt(q, f); ok {
				x.dialect = adapted
				continue
			}
		}
		err = c.endpoint.explain(ctx, err, total)
		if x.lost != (sdk.Usage{}) {
			err = sdk.AsError(err).WithDetail(sdk.UsageDetail, x.lost)
		}
		return nil, sdk.WithPrompt(err, x.sent())
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
	if len(r.notSent) > 0 {
		m["not_sent"] = strings.Join(r.notSent, ", ")
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
