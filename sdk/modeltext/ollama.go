package modeltext

import "encoding/json"

// ollamaLine is a reply of Ollama's /api/chat, or a line of a stream, of which the last has done,
// its reason and the counts. An error may come in the place of any line.
type ollamaLine struct {
	Model      text            `json:"model"`
	Message    *message        `json:"message"`
	Done       bool            `json:"done"`
	DoneReason text            `json:"done_reason"`
	Prompt     count           `json:"prompt_eval_count"`
	Reply      count           `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
	Status     count           `json:"status"` // of the error
}

// decodeOllama reads a line.
func decodeOllama(data []byte) (*piece, error) {
	var l ollamaLine
	if err := unmarshal(data, &l); err != nil {
		return nil, err
	}
	p := &piece{Model: l.Model, Error: l.Error}
	if l.Status > 0 && present(l.Error) {
		p.Error, _ = json.Marshal(map[string]any{"message": plain(l.Error), "code": l.Status}) // plain values: can't fail
	}
	if l.Message == nil && !l.Done {
		return p, nil
	}
	c := &choice{}
	p.Choices[0] = c
	if l.Message != nil {
		c.Delta = *l.Message
	}
	if l.Done {
		c.Finish = l.DoneReason
		if c.Finish == "" { // as versions before 0.3 send it
			c.Finish = "stop"
		}
		p.Usage = counted{Prompt: l.Prompt, Completion: l.Reply}
	}
	return p, nil
}
