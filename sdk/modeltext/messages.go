package modeltext

import "encoding/json"

// messagesEvent is a whole reply of the messages protocol, or an event of a stream: message_start,
// content_block_start, content_block_delta, content_block_stop, message_delta, message_stop, ping,
// error, and any that a later version adds.
type messagesEvent struct {
	Type  text            `json:"type"`
	Error json.RawMessage `json:"error"`

	// Of a whole reply. Content is a list of blocks: text, thinking, redacted_thinking, tool_use.
	Model      text    `json:"model"`
	Content    content `json:"content"`
	StopReason text    `json:"stop_reason"`
	Usage      counted `json:"usage"`

	// Of events.
	Message *messagesEvent `json:"message"` // message_start: the reply without its content
	Block   content        `json:"content_block"`
	Delta   struct {
		Type       text `json:"type"`
		Text       text `json:"text"`
		Thinking   text `json:"thinking"`
		Arguments  text `json:"partial_json"`
		StopReason text `json:"stop_reason"`
	} `json:"delta"`
}

// decodeMessages reads a reply or an event of the messages protocol.
func decodeMessages(data []byte) (*piece, error) {
	var e messagesEvent
	if err := unmarshal(data, &e); err != nil {
		return nil, err
	}
	var c choice
	p := answering(&c)
	switch e.Type {
	case "message":
		p.Model, p.Usage = e.Model, e.Usage
		c.Finish, c.Message.Content = e.StopReason, e.Content
	case "message_start":
		if e.Message != nil {
			p.Model, p.Usage = e.Message.Model, e.Message.Usage
		}
	case "content_block_start":
		c.Delta.Content = e.Block
		c.Delta.beginCall()
	case "content_block_delta": // of signatures too, which have none of these
		c.Delta.Content.text, c.Delta.Content.thought = string(e.Delta.Text), string(e.Delta.Thinking)
		c.Delta.arguments = string(e.Delta.Arguments)
	case "message_delta":
		c.Finish, p.Usage = e.Delta.StopReason, e.Usage
	default:
		p.Choices[0] = nil
	}
	p.Error = e.Error
	return p, nil
}
