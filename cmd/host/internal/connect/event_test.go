package connect_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/connect"
)

// The events are from the clients' documentation, with its example values.
func TestEvent_ReadsWhatEachClientTells(t *testing.T) {
	const common = `"session_id":"abc123","transcript_path":"/home/u/t.jsonl","cwd":"/home/u/p","permission_mode":"default",`
	const cursor = `"conversation_id":"abc123","generation_id":"g","model":"m","cursor_version":"2.1.0","workspace_roots":["/home/u/p"],"user_email":null,`
	event := func(name string, fill func(e *connect.Event)) connect.Event {
		e := connect.Event{Name: name, Client: connect.ClaudeCode, Session: "abc123", Folder: "/home/u/p"}
		fill(&e)
		return e
	}
	for name, c := range map[string]struct {
		text string
		want connect.Event
	}{
		"a start":             {`{` + common + `"hook_event_name":"SessionStart","source":"startup"}`, event("SessionStart", func(*connect.Event) {})},
		"a prompt":            {`{` + common + `"hook_event_name":"UserPromptSubmit","prompt":"Write a function"}`, event("UserPromptSubmit", func(e *connect.Event) { e.Prompt = "Write a function" })},
		"a tool":              {`{` + common + `"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"/x"},"tool_response":{"filePath":"/x","success":true},"tool_use_id":"toolu_1"}`, event("PostToolUse", func(e *connect.Event) { e.Tool, e.ToolID = "Write", "toolu_1" })},
		"a failed tool":       {`{` + common + `"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_use_id":"toolu_2","error":"Command exited with status 1","is_interrupt":false}`, event("PostToolUseFailure", func(e *connect.Event) { e.Tool, e.ToolID, e.Failed = "Bash", "toolu_2", true })},
		"an end":              {`{` + common + `"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Done."}`, event("Stop", func(e *connect.Event) { e.Reply = "Done." })},
		"codex: an end":       {`{` + common + `"hook_event_name":"Stop","turn_id":"t","model":"gpt-5","stop_hook_active":false,"last_assistant_message":null}`, event("Stop", func(*connect.Event) {})},
		"codex: an exit code": {`{` + common + `"hook_event_name":"PostToolUse","turn_id":"t","tool_name":"Bash","tool_response":{"exit_code":1,"output":"x"}}`, event("PostToolUse", func(e *connect.Event) { e.Tool, e.Failed = "Bash", true })},
		"a text result":       {`{` + common + `"hook_event_name":"PostToolUse","tool_name":"editFiles","tool_response":"error: none"}`, event("PostToolUse", func(e *connect.Event) { e.Tool = "editFiles" })},
		"gemini: a reply":     {`{` + common + `"hook_event_name":"AfterAgent","timestamp":"2026-01-01T00:00:00Z","prompt":"p","prompt_response":"r","stop_hook_active":false}`, event("AfterAgent", func(e *connect.Event) { e.Prompt, e.Reply = "p", "r" })},
		"gemini: an error":    {`{` + common + `"hook_event_name":"AfterTool","tool_name":"read_file","tool_response":{"llmContent":"x","returnDisplay":"x","error":{"message":"no"}}}`, event("AfterTool", func(e *connect.Event) { e.Tool, e.Failed = "read_file", true })},
		"vscode":              {`{"timestamp":"2026-02-09T10:30:00.000Z","cwd":"/home/u/p","sessionId":"abc123","hookEventName":"SessionStart","transcript_path":"/t","source":"new"}`, event("SessionStart", func(*connect.Event) {})},
		"cursor: a start":     {`{` + cursor + `"hook_event_name":"sessionStart","session_id":"abc123","is_background_agent":false,"composer_mode":"agent"}`, event("sessionStart", func(e *connect.Event) { e.Client = connect.Cursor })},
		"cursor: a reply":     {`{` + cursor + `"hook_event_name":"afterAgentResponse","text":"Done."}`, event("afterAgentResponse", func(e *connect.Event) { e.Client, e.Reply = connect.Cursor, "Done." })},
		"cursor: a tool":      {`{` + cursor + `"hook_event_name":"postToolUse","tool_name":"Shell","tool_output":"{\"exitCode\":2,\"stdout\":\"\"}","tool_use_id":"t1","cwd":"/home/u/p"}`, event("postToolUse", func(e *connect.Event) { e.Client, e.Tool, e.ToolID, e.Failed = connect.Cursor, "Shell", "t1", true })},
		"cursor: a failure":   {`{` + cursor + `"hook_event_name":"postToolUseFailure","tool_name":"Shell","error_message":"timed out","failure_type":"timeout"}`, event("postToolUseFailure", func(e *connect.Event) { e.Client, e.Tool, e.Failed = connect.Cursor, "Shell", true })},
		"no error":            {`{` + common + `"hook_event_name":"PostToolUse","tool_name":"x","error":null,"tool_response":{"is_error":false,"error":"","exit_code":0}}`, event("PostToolUse", func(e *connect.Event) { e.Tool = "x" })},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := connect.ReadEvent([]byte(c.text), connect.ClaudeCode)
			if err != nil || !reflect.DeepEqual(*e, c.want) {
				t.Errorf("%+v, %v\nwant %+v", e, err, c.want)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing": "", "a list": "[]", "half": `{"session_id":`, "no session": `{"cwd":"/x"}`, "a number": `{"session_id":3}`, "deep": `{"session_id":"a","x":` + strings.Repeat("[", 5000), "two": `{"session_id":"a"} {}`, "bytes": "\xff\xfe",
	} {
		if e, err := connect.ReadEvent([]byte(text), connect.Codex); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestEvent_AnswersAsEachClientExpects(t *testing.T) {
	for _, c := range []struct {
		client, name string
		kind         connect.Kind
		want         string
	}{
		{connect.ClaudeCode, "SessionStart", connect.SessionStart, `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"<c>"}}`},
		{connect.ClaudeCode, "UserPromptSubmit", connect.Prompt, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"<c>"}}`},
		{connect.Codex, "UserPromptSubmit", connect.Prompt, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"<c>"}}`},
		{connect.GeminiCLI, "BeforeAgent", connect.Prompt, `{"hookSpecificOutput":{"hookEventName":"BeforeAgent","additionalContext":"<c>"}}`},
		{connect.VSCode, "SessionStart", connect.SessionStart, `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"<c>"}}`},
		{connect.VSCode, "UserPromptSubmit", connect.Prompt, ""},
		{connect.Cursor, "sessionStart", connect.SessionStart, `{"additional_context":"<c>"}`},
		{connect.Cursor, "beforeSubmitPrompt", connect.Prompt, ""},
		{connect.OpenCode, "prompt", connect.Prompt, `{"hookSpecificOutput":{"hookEventName":"prompt","additionalContext":"<c>"}}`},
		{connect.ClaudeCode, "Stop", connect.Stop, ""},
		{connect.ClaudeCode, "PostToolUse", connect.Tool, ""},
	} {
		e := connect.Event{Client: c.client, Name: c.name}
		if got := strings.TrimSpace(string(e.Answer(c.kind, "<c>"))); got != c.want {
			t.Errorf("%s %s: %s", c.client, c.name, got)
		}
		if got := e.Answer(c.kind, ""); got != nil {
			t.Errorf("%s %s answers %s to no context", c.client, c.name, got)
		}
	}
}

func TestConnected_IsTheInnermostFolder(t *testing.T) {
	dir := connect.Resolved(t.TempDir())
	for _, folder := range []string{"a/b/c", "ab", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	project := func(client, folder string) connect.Connection {
		return connect.Connection{Client: client, Scope: connect.Project, Folder: filepath.Join(dir, folder)}
	}
	list := []connect.Connection{project(connect.Codex, "a/b"), project(connect.Codex, "a"), {Client: connect.Cursor, Scope: connect.User}}
	for _, c := range []struct{ client, folder, want string }{
		{connect.Codex, "a", "a"}, {connect.Codex, "a/b", "a/b"}, {connect.Codex, "a/b/c", "a/b"}, {connect.Codex, "link/b", "a/b"}, {connect.Codex, "link", "a"}, {connect.Codex, "a/new", "a"},
		{connect.Codex, "ab", "none"}, {connect.Codex, "other", "none"}, {connect.Codex, "", "none"}, {connect.Codex, "a/../other", "none"}, {connect.ClaudeCode, "a", "none"}, {connect.Cursor, "other", ""},
	} {
		got := connect.Connected(list, c.client, filepath.Join(dir, c.folder))
		switch {
		case got == nil && c.want == "none":
		case got == nil || c.want == "none", c.want != "" && got.Folder != filepath.Join(dir, c.want):
			t.Errorf("%s in %s: %+v", c.client, c.folder, got)
		}
	}
}

func TestConversation_OneHookAnswersAPrompt(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	c := connect.ConversationOf(dir, "s")
	claims := func(what string, at time.Time) bool {
		first, err := c.Claim(what, at)
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	if !claims("a", now) || claims("a", now) || claims("a", now.Add(9*time.Minute)) || !claims("b", now) || !claims("a", now.Add(11*time.Minute)) {
		t.Error("a prompt isn't claimed once")
	}
	if other, err := connect.ConversationOf(dir, "other").Claim("a", now); err != nil || !other {
		t.Error("another session's prompt is the same")
	}
	if err := c.End(); err != nil || !claims("a", now) {
		t.Errorf("the end of the turn doesn't end the claim: %v", err)
	}
}

func TestConversation_KeepsTheOpenTurn(t *testing.T) {
	dir := t.TempDir()
	c := connect.ConversationOf(dir, "../../etc")
	if err := c.Called(connect.Call{Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	if open, err := c.Open(); err != nil || open != nil {
		t.Errorf("%+v, %v", open, err)
	}
	if err := c.Begin(connect.Turn{Session: "s", Turn: 3}); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if err := c.Called(connect.Call{Tool: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Called(connect.Call{Tool: "last", Failed: true}); err != nil {
		t.Fatal(err)
	}
	calls, err := c.Calls()
	if err != nil || len(calls) != 100 || calls[99] != (connect.Call{Tool: "last", Failed: true}) {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	if err := c.Said("r"); err != nil {
		t.Fatal(err)
	}
	if open, err := c.Open(); err != nil || *open != (connect.Turn{Session: "s", Turn: 3, Reply: "r"}) {
		t.Errorf("%+v, %v", open, err)
	}
	if err := c.Begin(connect.Turn{Session: "s", Turn: 4}); err != nil {
		t.Fatal(err)
	}
	if calls, err := c.Calls(); err != nil || len(calls) != 0 {
		t.Errorf("a turn has the calls of the one before: %v, %v", calls, err)
	}
	connect.ForgetOld(dir, time.Now().Add(6*24*time.Hour))
	if open, _ := c.Open(); open == nil {
		t.Error("it was forgotten too early")
	}
	connect.ForgetOld(dir, time.Now().Add(8*24*time.Hour))
	if open, _ := c.Open(); open != nil {
		t.Error("it wasn't forgotten")
	}
}
