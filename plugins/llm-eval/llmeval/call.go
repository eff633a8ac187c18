package llmeval

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// caller is a generator and a corrector: both send the config's messages to the model
// and return its reply.
type caller struct {
	config *callConfig
	client *client
}

// Generate returns the model's reply: a JSON string, or with parse: json the
// one JSON value in it.
func (c *caller) Generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	output, r, err := c.call(ctx, req.IdempotencyKey, req.Emit)
	if err != nil {
		return nil, err
	}
	return &sdk.GenerateResponse{Output: output, Usage: r.usage, Metadata: r.metadata()}, nil
}

// Correct does the same as [caller.Generate]: the prompt contains what must be
// repaired.
func (c *caller) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	output, r, err := c.call(ctx, req.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	return &sdk.CorrectResponse{Output: output, Usage: r.usage, Metadata: r.metadata()}, nil
}

func (c *caller) call(ctx context.Context, idempotencyKey string, emit func(string)) (json.RawMessage, *reply, error) {
	r, err := c.client.callModel(ctx, &question{
		messages:       c.config.messages,
		attached:       c.config.attached,
		sampling:       c.config.sampling,
		idempotencyKey: idempotencyKey,
		emit:           emit,
		form:           c.config.schema.form(),
		tools:          c.config.tools,
	})
	if err != nil {
		return nil, nil, err
	}
	if len(r.ToolCalls) > 0 && len(c.config.tools.tools) > 0 && r.Finish == modeltext.Whole {
		return c.calls(r), r, nil
	}
	output, err := c.output(r)
	if err != nil {
		// The tokens are spent in any case, and a corrector may still be able to use
		// the reply.
		err = sdk.AsError(err).WithDetail(sdk.UsageDetail, r.usage).WithDetail(sdk.RawDetail, raw(r))
		return nil, nil, sdk.WithPrompt(err, r.sent)
	}
	return output, r, nil
}

// rawBytes limits how much of a reply an error quotes: its details may have 64 KiB as JSON, of
// which the prompt may take 32.
const (
	rawBytes = 8 << 10
	rawJSON  = 24 << 10 // as JSON, which may take six bytes for one
)

// raw is the model's reply when it isn't an output.
func raw(r *reply) string {
	text := cmp.Or(r.Text, r.Refusal)
	for most := rawBytes; ; most /= 2 {
		text = strings.ToValidUTF8(text[:min(len(text), most)], "")
		if encoded, _ := json.Marshal(text); len(encoded) <= rawJSON {
			return text
		}
	}
}

// output is the reply's output, or the reason why it has none.
func (c *caller) output(r *reply) (json.RawMessage, error) {
	model, url := r.endpoint.model, r.endpoint.url
	switch {
	case r.Finish == modeltext.Refused:
		return nil, sdk.Errorf(sdk.Invalid, "llm_refused", "model %q at %s refuses: %s", model, url, r.refusal())
	case r.Finish == modeltext.Cut:
		return nil, sdk.Errorf(sdk.Exhausted, "llm_reply_cut", "the reply of model %q at %s was cut off at its length limit (finish reason %q), after: %s",
			model, url, cut(r.FinishReason, excerptRunes), excerpt(r.Text, "")).
			WithHint("raise max_tokens or the model's context length, or ask for less")
	case r.Text == "":
		return nil, sdk.Errorf(sdk.Invalid, "llm_reply_empty", "the reply of model %q at %s is empty (finish reason %q, %d characters of reasoning)",
			model, url, cut(r.FinishReason, excerptRunes), utf8.RuneCountInString(r.Thought))
	}
	if !c.config.parse {
		text, err := json.Marshal(r.Text)
		return text, err
	}
	value, misfit, err := c.config.schema.read(r)
	switch {
	case sdk.Permanent(err): // the schema itself
		return nil, err
	case err != nil:
		return nil, sdk.Errorf(sdk.Invalid, "llm_reply_not_json", "the reply of model %q at %s is not JSON: %s; it says: %s", model, url, err, excerpt(r.Text, "")).
			WithHint("ask for JSON only in the prompt, or leave parse out and let the loop repair the text")
	case misfit != "":
		return nil, sdk.Errorf(sdk.Invalid, "llm_reply_invalid", "the reply of model %q at %s doesn't fit response_schema: %s; it says: %s", model, url, misfit, excerpt(r.Text, ""))
	}
	return value, nil
}

// refusal is what a refused reply says.
func (r *reply) refusal() string {
	if said := cmp.Or(r.Refusal, r.Text); said != "" {
		return excerpt(said, "") + " (finish reason " + strconv.Quote(cut(r.FinishReason, excerptRunes)) + ")"
	}
	return "finish reason " + strconv.Quote(cut(r.FinishReason, excerptRunes))
}
