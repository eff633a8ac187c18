package llmeval

import (
	"context"
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
	if mediaType(res) != typeEvents {
		return streamless("the reply is no stream of events")
	}
	var c collector
	shown := scrubber{secret: x.endpoint.key, emit: x.show}
	for s.Next() {
		shown.write(c.add(s.Current()))
	}
	if err := s.Err(); err != nil {
		return x.streamFault(err)
	}
	if c.finish == "" {
		return &fault{err: io.ErrUnexpectedEOF, text: "the stream ended before the reply did"}
	}
	shown.flush()
	x.reply = c.reply(x.endpoint)
	return nil
}

func (x *exchange) show(chunk string) {
	x.emitted = true
	x.question.emit(chunk)
}

// streamless is as if the endpoint had refused to stream, so that it is asked
// for whole replies.
func streamless(why string) *fault {
	return &fault{status: http.StatusUnprocessableEntity, param: "stream", text: why}
}

// streamFault explains a stream that broke: the endpoint says so in an event,
// or the connection ended.
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
}

// add takes a chunk and returns its text.
func (c *collector) add(chunk openai.ChatCompletionChunk) string {
	if chunk.Model != "" {
		c.model = chunk.Model
	}
	// The last chunk has the usage of the whole; some endpoints count up to it.
	c.in = max(c.in, chunk.Usage.PromptTokens)
	c.out = max(c.out, chunk.Usage.CompletionTokens)
	if len(chunk.Choices) == 0 {
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

func (c *collector) reply(e *endpoint) *reply {
	return &reply{
		text:    e.key.scrub(c.text.String()),
		refusal: e.key.scrub(c.refusal.String()),
		finish:  e.key.scrub(c.finish),
		model:   excerpt(c.model, e.key),
		usage:   e.cost(c.in, c.out),
	}
}
