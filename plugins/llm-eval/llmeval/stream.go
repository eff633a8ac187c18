package llmeval

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// maxEventBytes limits one event of a stream, which is all that reading a stream holds.
// An event is usually a few words; an endpoint that sends a whole reply as one event
// may send 60,000 tokens. The limit also bounds the search for an event's end, which
// go-sse begins again after each read: an endpoint that sends a long event in single
// bytes costs time, but at most llm.timeout.
const maxEventBytes = 256 << 10

// streamEnd is the event that ends a complete stream.
const streamEnd = "[DONE]"

// stream reads a reply that arrives in pieces.
func (x *exchange) stream(body io.Reader) error {
	shown := scrubber{secret: x.endpoint.key, emit: x.show}
	c := collector{endpoint: x.endpoint, show: shown.write}
	if err := c.read(body); err != nil {
		x.lost = x.lost.Add(x.endpoint.cost(c.usage))
		return err
	}
	shown.flush()
	x.reply = x.endpoint.reply(c.model, c.finish, said{text(c.text.String()), text(c.refusal.String())}, c.usage)
	return nil
}

// collector puts a streamed reply together.
type collector struct {
	endpoint *endpoint
	show     func(piece string)

	text, refusal strings.Builder
	model, finish text
	usage         usage
	counted       bool // the usage of the whole reply has arrived
}

// read reads events until the reply is complete. Endpoints show that it is by an event of
// its own, by a finish reason, or by the usage, which comes last.
func (c *collector) read(body io.Reader) error {
	// An empty line ends an event. Some endpoints leave it out after the last one.
	body = io.MultiReader(body, strings.NewReader("\n\n"))
	for event, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return streamless("an event of the stream is too long")
		case err != nil:
			return c.endpoint.unread(err)
		case event.Data == "": // it keeps the connection alive
			continue
		case strings.HasPrefix(event.Data, streamEnd):
			return nil
		case event.Type == "error":
			return refusal(0, []byte(event.Data), c.endpoint.key)
		}
		piece, err := c.endpoint.decode([]byte(event.Data), "has an event that isn't a JSON object")
		if err != nil {
			return err
		}
		if piece.Error != nil {
			return refusal(0, *piece.Error, c.endpoint.key)
		}
		c.add(piece)
	}
	if c.finish == "" && !c.counted {
		return &fault{err: io.ErrUnexpectedEOF, text: "the stream ended before the reply did"}
	}
	return nil
}

func (c *collector) add(piece *chatReply) {
	if piece.Model != "" {
		c.model = piece.Model
	}
	// The last piece has the usage of the whole reply; some endpoints send running
	// totals before it.
	c.usage.In = max(c.usage.In, piece.Usage.In)
	c.usage.Out = max(c.usage.Out, piece.Usage.Out)
	first := piece.Choices[0]
	if first == nil {
		c.counted = c.counted || piece.Usage.Out > 0
		return
	}
	if first.Finish != "" {
		c.finish = first.Finish
	}
	c.refusal.WriteString(string(first.Delta.Refusal))
	c.text.WriteString(string(first.Delta.Content))
	c.show(string(first.Delta.Content))
}

// streamless has the effect of a refusal to stream: the endpoint is then asked for
// whole replies.
func streamless(why string) *fault {
	return &fault{status: http.StatusUnprocessableEntity, param: fieldStream, text: why}
}
