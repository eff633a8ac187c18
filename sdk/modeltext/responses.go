package modeltext

import (
	"encoding/json"
	"strings"
)

// response is a reply of the responses protocol.
type response struct {
	Model  text `json:"model"`
	Status text `json:"status"`
	// Output is a list of items: message, whose content is a list of parts, reasoning, and calls.
	Output     content         `json:"output"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason text `json:"reason"`
	} `json:"incomplete_details"`
	Usage counted `json:"usage"`
}

// responsesEvent is a reply, or an event of a stream. The last event of one is
// response.completed, response.incomplete or response.failed, with the whole reply.
type responsesEvent struct {
	Type     text            `json:"type"`
	Delta    text            `json:"delta"`
	Response *response       `json:"response"`
	Error    json.RawMessage `json:"error"`
	Object   text            `json:"object"`
}

// decodeResponses reads a reply or an event of the responses protocol.
func decodeResponses(data []byte) (*piece, error) {
	var e responsesEvent
	if err := unmarshal(data, &e); err != nil {
		return nil, err
	}
	var c choice
	kind := strings.ToLower(string(e.Type))
	switch {
	case e.Object == "response":
		var whole response
		_ = unmarshal(data, &whole) // it is an object
		return whole.piece(), nil
	case kind == "response.completed", kind == "response.incomplete", kind == "response.failed":
		if e.Response == nil {
			return nil, ErrNotReply
		}
		return e.Response.piece(), nil
	case kind == "response.output_text.delta":
		c.Delta.Content.text = string(e.Delta)
	case kind == "response.refusal.delta":
		c.Delta.Refusal = e.Delta
	case strings.HasPrefix(kind, "response.reasoning") && strings.HasSuffix(kind, ".delta"):
		c.Delta.Content.thought = string(e.Delta)
	case kind == "error" && !present(e.Error): // the event is the error
		return &piece{Error: data}, nil
	default:
		return &piece{Error: e.Error}, nil
	}
	return answering(&c), nil
}

// piece is a whole reply.
func (r *response) piece() *piece {
	c := &choice{Finish: r.Status}
	c.Message.Content = r.Output
	switch {
	case r.Incomplete.Reason != "":
		c.Finish = r.Incomplete.Reason
	case r.Status == "":
		c.Finish = "in_progress"
	}
	p := answering(c)
	p.Model, p.Usage, p.Error = r.Model, r.Usage, r.Error
	return p
}
