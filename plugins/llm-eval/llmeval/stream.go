package llmeval

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tmaxmax/go-sse"

	"github.com/reflectory/reflectory/sdk/modeltext"
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
	var s modeltext.Stream
	if err := x.endpoint.readStream(body, &s, shown.write); err != nil {
		x.lost = x.lost.Add(x.endpoint.cost(s.Usage()))
		return err
	}
	shown.flush()
	return x.accept(s.Reply(), 0)
}

// readStream reads events until the reply is complete. Endpoints show that it is by an event
// of its own, by a finish reason, or by the usage, which comes last.
func (e *endpoint) readStream(body io.Reader, s *modeltext.Stream, show func(piece string)) error {
	// An empty line ends an event. Some endpoints leave it out after the last one.
	body = io.MultiReader(body, strings.NewReader("\n\n"))
	for event, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return streamless("an event of the stream is too long")
		case err != nil:
			return e.unread(err)
		case event.Data == "": // it keeps the connection alive
			continue
		case strings.HasPrefix(event.Data, streamEnd):
			return nil
		case event.Type == "error":
			return refusal(0, []byte(event.Data), e.key)
		}
		piece, err := s.Add([]byte(event.Data))
		if err != nil {
			return e.unreadable(err, []byte(event.Data), "has an event that isn't a JSON object")
		}
		if raw := s.Error(); raw != nil {
			return refusal(0, raw, e.key)
		}
		show(piece)
	}
	if !s.Finished() && !s.Counted() {
		return &fault{err: io.ErrUnexpectedEOF, text: "the stream ended before the reply did"}
	}
	return nil
}

// streamless has the effect of a refusal to stream: the endpoint is then asked for
// whole replies.
func streamless(why string) *fault {
	return &fault{status: http.StatusUnprocessableEntity, param: fieldStream, text: why}
}
