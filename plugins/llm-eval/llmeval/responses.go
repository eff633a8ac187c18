package llmeval

import "github.com/reflectory/reflectory/sdk/modeltext"

// responsesProtocol is OpenAI's responses (as published in November 2026). It has neither stop
// nor seed. Nothing is stored at the endpoint.
func responsesProtocol() *protocol {
	return &protocol{
		replies: modeltext.Responses, path: "/responses", authorize: bearer, request: responses, files: "any",
		base:  "an endpoint with OpenAI's responses; it usually ends in /v1",
		lacks: dialect{noSeed: true, noStop: true, tokens: ownTokens},
	}
}

// responsesRequest is the body of POST {base}/responses.
type responsesRequest struct {
	Model           string          `json:"model"`
	Instructions    string          `json:"instructions,omitempty"`
	Input           []any           `json:"input"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty"`
	MaxOutputTokens int64           `json:"max_output_tokens,omitempty"`
	Text            *responsesText  `json:"text,omitempty"`
	Reasoning       *responsesThink `json:"reasoning,omitempty"`
	Stream          bool            `json:"stream,omitempty"`
	Store           bool            `json:"store"`
	Tools           []responsesTool `json:"tools,omitempty"`
	ToolChoice      any             `json:"tool_choice,omitempty"`
	Parallel        *bool           `json:"parallel_tool_calls,omitempty"`
}

type responsesText struct {
	Format responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type string `json:"type"`
	*form
}

type responsesThink struct {
	Effort string `json:"effort"`
}

type responsesTool struct {
	Type string `json:"type"`
	tool
	Strict bool `json:"strict"`
}

// responsesTools adds the tools. They aren't strict, since few schemas are as strict mode wants
// them; the arguments are checked here.
func (r *responsesRequest) responsesTools(b *toolbox) {
	for _, t := range b.tools {
		r.Tools = append(r.Tools, responsesTool{Type: "function", tool: t})
	}
	r.Parallel = b.parallel
	if r.ToolChoice = b.chatChoice(); b.find(b.choice) != nil {
		r.ToolChoice = map[string]string{"type": "function", "name": b.choice}
	}
}

type responsesMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or parts
}

// responsesInput are the messages as items: calls of tools and their results are items of
// their own.
func responsesInput(messages []message) (items []any) {
	for _, m := range messages {
		if m.Role == roleTool {
			items = append(items, map[string]string{"type": "function_call_output", "call_id": m.CallID, "output": m.Content})
			continue
		}
		if m.Content != "" || m.Parts != nil || len(m.Calls) == 0 {
			items = append(items, responsesMessage{m.Role, m.blocks("input_text", responsesBlock)})
		}
		for _, c := range m.Calls {
			items = append(items, map[string]string{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.text()})
		}
	}
	return items
}

func responses(x *exchange, stream bool) any {
	s := x.sampling()
	r := &responsesRequest{
		Model: x.endpoint.model, Temperature: s.temperature, TopP: s.topP, MaxOutputTokens: s.maxTokens, Stream: stream,
	}
	var turns []message
	r.Instructions, turns = apart(x.messages())
	r.Input = responsesInput(turns)
	r.responsesTools(&x.question.tools)
	if f, kind := x.form(); kind != "" {
		r.Text = &responsesText{responsesFormat{kind, f}}
	}
	if effort := x.effort(); effort != "" {
		r.Reasoning = &responsesThink{effort}
	}
	return r
}
