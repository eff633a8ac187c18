package llmeval

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// stream makes one exchange whose reply arrives in pieces.
func (x *exchange) stream(ctx context.Context) error {
	params := x.params()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	var res *http.Response
	s := x.chat.NewStreaming(ctx, params, append(x.options(), option.WithHeader("Accept", acceptStream), option.WithResponseInto(&res))...)
	defer func() { _ = s.Close() }() // it was only read
	if s.Err() != nil {
		return x.classify(s.Err())
	}
	events, ok := res.Body.(*eventLimiter)
	if !ok {
		return x.unstreamed(res)
	}
	var c collector
	shown := scrubber{secret: x.endpoint.key, emit: x.show}
	for s.Next() {
		shown.write(c.add(s.Current()))
	}
	err := s.Err()
	if err == nil && !c.whole(events.done) {
		err = &fault{err: io.ErrUnexpectedEOF, text: "the stream ended before the reply did"}
	}
	if err != nil {
		*x.lost = x.lost.Add(x.endpoint.cost(c.in, c.out))
		return x.streamFault(err)
	}
	shown.flush()
	x.reply = c.reply(x.endpoint)
	return nil
}

// unstreamed accepts the whole reply of an endpoint that was asked for a stream, since
// it is already paid for.
func (x *exchange) unstreamed(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return x.endpoint.unread(err)
	}
	var whole openai.ChatCompletion
	if err := json.Unmarshal(body, &whole); err != nil {
		return x.classify(err)
	}
	return x.take(&whole)
}

func (x *exchange) show(chunk string) {
	x.emitted = true
	x.question.emit(chunk)
}

// streamless has the effect of a refusal to stream: the endpoint is then asked for
// whole replies.
func streamless(why string) *fault {
	return &fault{status: http.StatusUnprocessableEntity, param: "stream", text: why}
}

// streamFault explains a broken stream: the endpoint reports an error in an event, or
// the connection ended.
func (x *exchange) streamFault(err error) error {
	if errors.Is(err, errLongEvent) {
		return streamless(errLongEvent.Error())
	}
	var said *ssestream.StreamError
	if errors.As(err, &said) {
		return refusal(0, said.Event.Data, x.endpoint.key)
	}
	return x.classify(err)
}

// collector puts a streamed reply together.
type collector struct {
	text, refusal strings.Builder
	finish, model string
	in, out       int64
	usage         bool // of the whole reply
}

// add takes a chunk and returns its text.
func (c *collector) add(chunk openai.ChatCompletionChunk) string {
	if chunk.Model != "" {
		c.model = chunk.Model
	}
	// The last chunk has the usage of the whole reply; some endpoints send running
	// totals before it.
	c.in = max(c.in, chunk.Usage.PromptTokens)
	c.out = max(c.out, chunk.Usage.CompletionTokens)
	if len(chunk.Choices) == 0 {
		c.usage = c.usage || chunk.Usage.CompletionTokens > 0
		return ""
	}
	choice := chunk.Choices[0]
	if choice.FinishReason != "" {
		c.finish = choice.FinishReason
	}
	c.refusal.WriteString(choice.Delta.Refusal)
	c.text.WriteString(choice.Delta.Content)
	return choice.Delta.Content
}

// whole reports whether the reply has ended. Endpoints show this by its finish reason,
// by the usage, which comes last, or by the end of the stream.
func (c *collector) whole(done bool) bool { return c.finish != "" || done || c.usage }

func (c *collector) reply(e *endpoint) *reply {
	return &reply{
		text:    e.key.scrub(c.text.String()),
		refusal: e.key.scrub(c.refusal.String()),
		finish:  e.key.scrub(c.finish),
		model:   excerpt(c.model, e.key),
		usage:   e.cost(c.in, c.out),
	}
}
