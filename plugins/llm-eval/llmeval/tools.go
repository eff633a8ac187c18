package llmeval

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// The plugin offers tools to a model and returns the calls that it asks for, as an output. The host
// does what they say, since only it can make that durable, and asks again with the results
// among the messages.

// tool is what a model may call.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	schema      *schema.Schema
}

// toolbox are the tools of a call, and what the model reads about using them.
type toolbox struct {
	tools []tool
	// choice is "", auto, none, required or the name of a tool.
	choice string
	// parallel is whether several calls may be asked for at a time; nil is the endpoint's default.
	parallel *bool
}

// toolCall is a call that a model asks for. Arguments is an object.
type toolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// Problem is why the call can't be made; "" if it can. Then Arguments may be text.
	Problem string `json:"problem,omitempty"`
}

// maxTools limits the tools of a call; OpenAI's protocol allows as many.
const maxTools = 128

// toolName is the form of names that all endpoints take.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func decodeTools(f *jsonconfig.Object) (b toolbox) {
	f.Each("tools", func(item *jsonconfig.Object) {
		t := tool{Parameters: json.RawMessage(`{"type":"object"}`)}
		if item.Take("name", "text", &t.Name); !toolName.MatchString(t.Name) {
			item.Report("name has other characters than letters, digits, _ and -, or isn't 1 to 64 long")
		}
		if slices.ContainsFunc(b.tools, func(other tool) bool { return other.Name == t.Name }) {
			item.Report("name %q is there twice", t.Name)
		}
		item.Take("description", "text", &t.Description)
		item.Take("parameters", "JSON", &t.Parameters)
		var err error
		if t.schema, err = schema.Compile(t.Parameters, schema.Options{}); err != nil {
			item.Report("parameters: %v", err)
		}
		item.Done()
		b.tools = append(b.tools, t)
	})
	if len(b.tools) > maxTools {
		f.Report("tools has %d tools (limit %d)", len(b.tools), maxTools)
	}
	f.Take("tool_choice", "text", &b.choice)
	if named := !slices.Contains([]string{"", "auto", "none", "required"}, b.choice); named && b.find(b.choice) == nil {
		f.Report("tool_choice %q is not auto, none, required or the name of a tool", b.choice)
	}
	var parallel bool
	if f.Take("parallel_tool_calls", "a boolean", &parallel) {
		b.parallel = &parallel
	}
	return b
}

func (b *toolbox) find(name string) *tool {
	if i := slices.IndexFunc(b.tools, func(t tool) bool { return t.Name == name }); i >= 0 {
		return &b.tools[i]
	}
	return nil
}

// asked are the calls of a reply, checked.
func (b *toolbox) asked(r *reply) []toolCall {
	list := make([]toolCall, len(r.ToolCalls))
	for i, c := range r.ToolCalls {
		list[i] = b.check(c)
		list[i].ID = cmp.Or(list[i].ID, "call_"+strconv.Itoa(i+1)) // Ollama gives none
	}
	return list
}

// check makes a call of what a model wrote. Its problem tells the model what to do.
func (b *toolbox) check(c modeltext.ToolCall) toolCall {
	call := toolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(cmp.Or(strings.TrimSpace(c.Arguments), "{}"))}
	t := b.find(c.Name)
	var object map[string]json.RawMessage
	switch {
	case t == nil:
		names := make([]string, len(b.tools))
		for i := range b.tools {
			names[i] = b.tools[i].Name
		}
		call.Problem = "there is no tool " + strconv.Quote(cut(c.Name, excerptRunes)) + "; the tools are " + strings.Join(names, ", ")
	case json.Unmarshal(call.Arguments, &object) != nil || object == nil:
		call.Problem = "the arguments aren't a JSON object"
	default:
		call.Problem = t.misfit(call.Arguments)
	}
	if call.Problem != "" && !json.Valid(call.Arguments) {
		call.Arguments, _ = json.Marshal(c.Arguments) // a text: it can't fail
	}
	return call
}

// misfit is what is wrong with the arguments of a call.
func (t *tool) misfit(arguments json.RawMessage) string {
	check, err := t.schema.Begin()
	if err != nil {
		return err.Error()
	}
	misfit := misfits(check, arguments)
	check.End(&err)
	if misfit == "" && err != nil {
		misfit = err.Error()
	}
	if misfit != "" {
		misfit = "the arguments don't fit the tool's parameters: " + misfit
	}
	return misfit
}

// calls is the output of a reply that asks for calls of tools.
func (c *caller) calls(r *reply) json.RawMessage {
	out, _ := json.Marshal(struct {
		Calls []toolCall `json:"tool_calls"`
		Text  string     `json:"text,omitempty"`
	}{c.config.tools.asked(r), r.Text}) // texts and valid JSON: it can't fail
	return out
}

// decodeCalls reads the calls of an assistant's message.
func decodeCalls(f *jsonconfig.Object) (calls []toolCall) {
	f.Each("tool_calls", func(item *jsonconfig.Object) {
		var c toolCall
		item.Take("id", "text", &c.ID)
		item.Take("name", "text", &c.Name)
		item.Take("arguments", "JSON", &c.Arguments)
		item.Take("problem", "text", &c.Problem)
		item.Done()
		calls = append(calls, c)
	})
	return calls
}

// text is the arguments as a text of JSON.
func (c *toolCall) text() string {
	var written string
	if json.Unmarshal(c.Arguments, &written) == nil {
		return written // it wasn't JSON
	}
	return string(c.Arguments)
}

// object is the arguments as an object.
func (c *toolCall) object() json.RawMessage {
	if len(c.Arguments) > 0 && c.Arguments[0] == '{' {
		return c.Arguments
	}
	return json.RawMessage("{}")
}

// shown is a message with its calls as text, for a person.
func (m *message) shown() sdk.PromptMessage {
	content := m.Content
	for i := range m.Parts {
		if m.Parts[i].Type != partText {
			content = strings.TrimPrefix(content+"\n"+m.Parts[i].described(), "\n")
		}
	}
	if len(m.Calls) > 0 {
		calls, _ := json.Marshal(m.Calls) // they were decoded from JSON
		content = strings.TrimPrefix(content+"\n"+string(calls), "\n")
	}
	return sdk.PromptMessage{Role: m.Role, Content: content}
}

// The tools and messages of chat completions. Others differ in a few names.

type chatTool struct {
	Type     string `json:"type"`
	Function tool   `json:"function"`
}

// chatTools are the tools in the form of chat completions, which Ollama has too.
func (x *exchange) chatTools() (list []chatTool) {
	for _, t := range x.question.tools.tools {
		list = append(list, chatTool{"function", t})
	}
	return list
}

// chatChoice is tool_choice of chat completions.
func (b *toolbox) chatChoice() any {
	switch b.choice {
	case "":
		return nil
	case "auto", "none", "required":
		return b.choice
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": b.choice}}
}

type chatCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"`          // a text, or parts
	Images  []string   `json:"images,omitempty"` // Ollama's
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
	Name    string     `json:"tool_name,omitempty"` // Ollama's, in place of the call's id
}

// chatMessages are messages in the form of chat completions.
func chatMessages(messages []message) []chatMessage {
	list := make([]chatMessage, len(messages))
	for i, m := range messages {
		list[i] = chatMessage{Role: m.Role, Content: m.blocks(partText, chatBlock), CallID: m.CallID}
		for _, c := range m.Calls {
			list[i].Calls = append(list[i].Calls, chatCall{c.ID, "function", chatFunction{c.Name, c.text()}})
		}
	}
	return list
}

// ollamaMessages are messages in the form of Ollama, whose calls have no ids.
func ollamaMessages(messages []message) []chatMessage {
	list := chatMessages(messages)
	for i, m := range messages {
		list[i].Name, list[i].CallID, list[i].Content, list[i].Images = m.Tool, "", m.Content, ollamaImages(&m)
		for j := range m.Calls {
			list[i].Calls[j] = chatCall{Function: chatFunction{m.Calls[j].Name, m.Calls[j].object()}}
		}
	}
	return list
}
