package llmeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// essentials are the parts of a reply that this plugin reads. Only they reach the
// client library. A hostile endpoint can send JSON for which the library's values take
// about 280 times as many bytes.
type essentials struct {
	Error   json.RawMessage `json:"error,omitempty"`
	Model   json.RawMessage `json:"model"`
	Choices firstChoice     `json:"choices"`
	Usage   struct {
		In  json.RawMessage `json:"prompt_tokens"`
		Out json.RawMessage `json:"completion_tokens"`
	} `json:"usage"`
}

// firstChoice is a list in which only the first item counts, since only one is
// requested.
type firstChoice []choice

type choice struct {
	Finish  json.RawMessage `json:"finish_reason"`
	Message struct {
		Content json.RawMessage `json:"content"`
		Refusal json.RawMessage `json:"refusal"`
	} `json:"message"`
}

// UnmarshalJSON decodes the first item. A value that isn't a list has none.
func (f *firstChoice) UnmarshalJSON(list []byte) error {
	d := json.NewDecoder(bytes.NewReader(list))
	if start, err := d.Token(); err != nil || start != json.Delim('[') || !d.More() {
		return err
	}
	var first choice
	if err := d.Decode(&first); err != nil {
		return err
	}
	*f = firstChoice{first}
	return nil
}

// maxEventBytes limits one event of a stream. An event is usually a few words; an
// endpoint that sends a whole reply as one event may send 60,000 tokens.
const maxEventBytes = 256 << 10

// errLongEvent ends a stream with an event over [maxEventBytes].
var errLongEvent = errors.New("an event of the stream is too long")

// eventLimiter limits the events of a stream. An event ends with an empty line.
type eventLimiter struct {
	io.ReadCloser
	event int    // bytes of the event so far
	line  int    // bytes of the line so far
	done  bool   // the stream has said that it is complete
	begin []byte // the line's first len(streamEnd) bytes
}

// streamEnd is the line that ends a complete stream, without its optional space.
const streamEnd = "data:[DONE]"

// Read reads, and fails in the middle of an event that is too long.
func (l *eventLimiter) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	for _, c := range p[:n] {
		if l.event++; l.event > maxEventBytes {
			return 0, errLongEvent
		}
		switch {
		case c == '\n' && l.line == 0:
			l.event = 0
		case c == '\n':
			l.line, l.begin = 0, l.begin[:0]
		case c != '\r':
			if l.line++; c != ' ' && len(l.begin) < len(streamEnd) {
				l.begin = append(l.begin, c)
				l.done = l.done || string(l.begin) == streamEnd
			}
		}
	}
	return n, err
}
