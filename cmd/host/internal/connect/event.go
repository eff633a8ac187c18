package connect

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// MaxInput bounds what a hook reads: a tool's result can be a whole file.
const MaxInput = 8 << 20

// Kind is what a hook is called for.
type Kind string

// The kinds of events. Clients have other names for them: see [Client].
const (
	SessionStart Kind = "session-start"
	Prompt       Kind = "prompt"
	Tool         Kind = "tool"
	Reply        Kind = "reply"
	Stop         Kind = "stop"
	SessionEnd   Kind = "session-end"
)

// Kinds lists the kinds of events.
func Kinds() []Kind { return []Kind{SessionStart, Prompt, Tool, Reply, Stop, SessionEnd} }

// Event is what a client reports to a hook.
type Event struct {
	// Name is the client's own name of the event, which its answer repeats.
	Name string
	// Client is the client that reports it. A client may run the hooks of another client's file.
	Client string
	// Session is the client's id of the conversation; Folder is where it works.
	Session, Folder string
	// Prompt is what the user wrote, and Reply what the agent answered.
	Prompt, Reply string
	// Tool and ToolID are a tool that was called, and its call; Failed is whether that failed.
	Tool, ToolID string
	Failed       bool
}

// input has the fields of all clients: no two of them mean different things by one name.
//
// Claude Code (code.claude.com/docs/en/hooks, November 2026) and Codex (developers.openai.com/codex/hooks,
// November 2026): session_id, cwd, hook_event_name, prompt, tool_name, tool_use_id, tool_response,
// error (of PostToolUseFailure), last_assistant_message. Gemini CLI (geminicli.com/docs/hooks/reference,
// 2026): the same, with prompt_response. VS Code (code.visualstudio.com/docs/agent-customization/hooks,
// July 2026): the same, with sessionId and hookEventName. Cursor (cursor.com/docs/agent/hooks, 2026):
// conversation_id, workspace_roots, cursor_version, tool_output, error_message, and the text of a reply.
type input struct {
	SessionID      string          `json:"session_id"`
	SessionIDCamel string          `json:"sessionId"`
	ConversationID string          `json:"conversation_id"`
	Cwd            string          `json:"cwd"`
	Roots          []string        `json:"workspace_roots"`
	Event          string          `json:"hook_event_name"`
	EventCamel     string          `json:"hookEventName"`
	CursorVersion  string          `json:"cursor_version"`
	Prompt         string          `json:"prompt"`
	LastMessage    *string         `json:"last_assistant_message"`
	Response       string          `json:"prompt_response"`
	Text           string          `json:"text"`
	Tool           string          `json:"tool_name"`
	ToolID         string          `json:"tool_use_id"`
	Result         json.RawMessage `json:"tool_response"`
	Output         json.RawMessage `json:"tool_output"`
	Error          json.RawMessage `json:"error"`
	ErrorMessage   string          `json:"error_message"`
}

// ReadEvent reads what a client reports. Fields that it doesn't know are ignored: clients add some.
func ReadEvent(data []byte, client string) (*Event, error) {
	if _, err := jsontext.Decode(data); err != nil { // which bounds the nesting
		return nil, sdk.Wrap("read the event", err)
	}
	var in input
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "event_invalid", "the event can't be read: %w", jsontext.Problem(err))
	}
	e := &Event{
		Name: first(in.Event, in.EventCamel), Client: client, Session: first(in.SessionID, in.SessionIDCamel, in.ConversationID), Folder: in.Cwd,
		Prompt: in.Prompt, Reply: first(in.Response, in.Text), Tool: in.Tool, ToolID: in.ToolID,
	}
	if in.LastMessage != nil {
		e.Reply = *in.LastMessage
	}
	if e.Folder == "" && len(in.Roots) > 0 {
		e.Folder = in.Roots[0]
	}
	if in.CursorVersion != "" {
		e.Client = Cursor
	}
	e.Failed = strings.Contains(e.Name, "Failure") || in.ErrorMessage != "" || failed(in.Result) || failed(in.Output) || given(in.Error)
	if e.Session == "" {
		return nil, sdk.Errorf(sdk.Invalid, "event_invalid", "the event names no session")
	}
	return e, nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// failed reports whether a tool's result says that it failed: is_error, an error, or an exit code that
// isn't 0. Its text isn't guessed at.
func failed(result json.RawMessage) bool {
	if len(result) > 0 && result[0] == '"' { // Cursor's is JSON in a text
		var text string
		if json.Unmarshal(result, &text) != nil || !strings.HasPrefix(text, "{") {
			return false
		}
		result = json.RawMessage(text)
	}
	var said struct {
		IsError       bool            `json:"is_error"`
		IsErrorCamel  bool            `json:"isError"`
		Error         json.RawMessage `json:"error"`
		ExitCode      *float64        `json:"exit_code"`
		ExitCodeCamel *float64        `json:"exitCode"`
	}
	if json.Unmarshal(result, &said) != nil {
		return false
	}
	code := said.ExitCode
	if code == nil {
		code = said.ExitCodeCamel
	}
	return said.IsError || said.IsErrorCamel || given(said.Error) || code != nil && *code != 0
}

// given reports whether a value is there and says something.
func given(raw json.RawMessage) bool {
	text := string(raw)
	return text != "" && text != "null" && text != `""` && text != "false" && text != "{}"
}

// Answer is what a client expects to read when it gets context; nil if it takes none at this event.
func (e *Event) Answer(kind Kind, context string) []byte {
	if context == "" || !TakesContext(e.Client, kind) {
		return nil
	}
	if e.Client == Cursor {
		return append(jsontext.MustEncode(map[string]string{"additional_context": context}), '\n')
	}
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return append(jsontext.MustEncode(map[string]specific{"hookSpecificOutput": {e.Name, context}}), '\n')
}
