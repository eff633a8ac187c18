package llmeval

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

// messagesVersion is the version of the protocol, which every request names.
const messagesVersion = "2023-06-01"

// defaultReplyTokens limits a reply where the protocol demands a limit and the config has none:
// each model of 2026 allows as many.
const defaultReplyTokens = 8192

// messagesProtocol is Anthropic's messages, of version 2023-06-01 (as published in November 2026).
// It has no seed. The schema of structured output must close each object
// (additionalProperties: false); an endpoint that refuses one is asked in words.
func messagesProtocol() *protocol {
	return &protocol{
		replies: modeltext.Messages, path: "/messages", request: messages, files: "application/pdf", base: "Anthropic's API, such as https://api.anthropic.com",
		lacks: dialect{noSeed: true, noJSONMode: true, tokens: ownTokens},
		authorize: func(h http.Header, key string) {
			if h.Get("Anthropic-Version") == "" { // unless extra_headers set it
				h.Set("Anthropic-Version", messagesVersion)
			}
			if key != "" {
				h.Set("X-Api-Key", key)
			}
		},
	}
}

// messagesRequest is the body of POST {base}/messages. The turns of Messages alternate, and
// begin with the user's.
type messagesRequest struct {
	Model         string         `json:"model"`
	MaxTokens     int64          `json:"max_tokens"`
	System        string         `json:"system,omitempty"`
	Messages      []turn         `json:"messages"`
	Tools         []messagesTool `json:"tools,omitempty"`
	ToolChoice    *toolChoice    `json:"tool_choice,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	StopSequences []string       `json:"stop_sequences,omitempty"`
	OutputConfig  *outputConfig  `json:"output_config,omitempty"`
	Thinking      *thinking      `json:"thinking,omitempty"`
	Stream        bool           `json:"stream,omitempty"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type thinking struct {
	Type string `json:"type"`
}

func messages(x *exchange, stream bool) any {
	s := x.sampling()
	r := &messagesRequest{
		Model: x.endpoint.model, MaxTokens: cmp.Or(s.maxTokens, defaultReplyTokens), Stream: stream,
		Temperature: s.temperature, TopP: s.topP, StopSequences: s.stop,
	}
	var turns []message
	r.System, turns = apart(x.messages())
	for i := range turns {
		r.add(&turns[i])
	}
	r.addTools(&x.question.tools)
	var output outputConfig
	switch effort := x.effort(); effort {
	case "none":
		r.Thinking = &thinking{"disabled"}
	case "minimal":
		output.Effort = "low"
	default:
		output.Effort = effort
	}
	if f, _ := x.form(); f != nil {
		output.Format = &outputFormat{"json_schema", f.Schema}
	}
	if output != (outputConfig{}) {
		r.OutputConfig = &output
	}
	return r
}

// turn is a message of the protocol. Content is a text, or a list of blocks if it is more.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// add adds a message. The result of a tool is a user's block, and what one role says in a
// row is one turn.
func (r *messagesRequest) add(m *message) {
	role, blocks := m.Role, []any{}
	switch {
	case m.Role == roleTool:
		role = roleUser
		blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Content})
	case m.Content != "" && len(m.Calls) > 0:
		blocks = append(blocks, map[string]any{"type": "text", "text": m.Content})
	}
	if m.Parts != nil && m.Role != roleTool {
		blocks = m.blocks(partText, messagesBlock).([]any)
	}
	for _, c := range m.Calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.object()})
	}
	var content any = m.Content
	if len(blocks) > 0 {
		content = blocks
	}
	last := len(r.Messages) - 1
	if last < 0 || r.Messages[last].Role != role {
		r.Messages = append(r.Messages, turn{role, content})
		return
	}
	before, isText := r.Messages[last].Content.(string)
	if text, ok := content.(string); ok && isText {
		r.Messages[last].Content = before + "\n\n" + text
		return
	}
	r.Messages[last].Content = append(asBlocks(r.Messages[last].Content), asBlocks(content)...)
}

// asBlocks is a turn's content as blocks.
func asBlocks(content any) []any {
	if text, ok := content.(string); ok {
		return []any{map[string]any{"type": "text", "text": text}}
	}
	return content.([]any)
}

type messagesTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"`
	Disabled *bool  `json:"disable_parallel_tool_use,omitempty"`
}

func (r *messagesRequest) addTools(b *toolbox) {
	for _, t := range b.tools {
		r.Tools = append(r.Tools, messagesTool{t.Name, t.Description, t.Parameters})
	}
	if len(b.tools) == 0 || b.choice == "" && b.parallel == nil {
		return
	}
	r.ToolChoice = &toolChoice{Type: cmp.Or(b.choice, "auto")}
	switch {
	case b.choice == "required":
		r.ToolChoice.Type = "any"
	case b.find(b.choice) != nil:
		r.ToolChoice.Type, r.ToolChoice.Name = "tool", b.choice
	}
	if b.parallel != nil {
		disabled := !*b.parallel
		r.ToolChoice.Disabled = &disabled
	}
}
