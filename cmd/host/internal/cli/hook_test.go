package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/core/coretest"
)

// codingAgent is a scripted client: it runs the hooks of its settings as its documentation says.
type codingAgent struct {
	w      *world
	client string
	// commands are the command lines of its hooks, by the client's names of events.
	commands map[string][]string
	common   map[string]any
}

// newCodingAgent connects a client, and reads its settings.
func newCodingAgent(w *world, client string, flags ...string) *codingAgent {
	w.t.Helper()
	out, _ := w.ok(append([]string{"connect", client, "--json"}, flags...)...)
	var done struct{ Files []struct{ Path string } }
	if err := json.Unmarshal([]byte(out), &done); err != nil || len(done.Files) == 0 {
		w.t.Fatalf("%v: %s", err, out)
	}
	a := &codingAgent{w: w, client: client, commands: map[string][]string{}, common: map[string]any{"session_id": "abc123", "cwd": w.dir}}
	for _, f := range done.Files {
		text, err := os.ReadFile(f.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		var settings struct {
			Hooks map[string]json.RawMessage `json:"hooks"`
		}
		_ = json.Unmarshal(text, &settings) // the others aren't JSON, or have none
		for event, raw := range settings.Hooks {
			for _, found := range regexp.MustCompile(`"command": ?"((?:[^"\\]|\\.)*)"`).FindAllSubmatch(raw, -1) {
				a.commands[event] = append(a.commands[event], string(found[1]))
			}
		}
	}
	return a
}

// fires runs the hooks of an event, and returns what the client shows its model.
func (a *codingAgent) fires(event string, fields map[string]any) (context string) {
	a.w.t.Helper()
	input := map[string]any{"hook_event_name": event}
	for _, m := range []map[string]any{a.common, fields} {
		for k, v := range m {
			input[k] = v
		}
	}
	text, err := json.Marshal(input)
	if err != nil {
		a.w.t.Fatal(err)
	}
	if len(a.commands[event]) == 0 {
		a.w.t.Fatalf("%s has no hook for %s: %v", a.client, event, a.commands)
	}
	for _, line := range a.commands[event] {
		words := splitWords(line)
		code, out, errs := a.w.fed(a.w.t.Context(), string(text), words[1:]...)
		if code != 0 || errs != "" {
			a.w.t.Errorf("%s: exit %d, %s%s", line, code, out, errs)
		}
		if out == "" {
			continue
		}
		var said struct {
			Specific struct {
				Event   string `json:"hookEventName"`
				Context string `json:"additionalContext"`
			} `json:"hookSpecificOutput"`
			Additional string `json:"additional_context"`
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil || a.client != connect.Cursor && said.Specific.Event != event {
			a.w.t.Errorf("%s answers %s", line, out)
		}
		context += said.Specific.Context + said.Additional
	}
	return context
}

const shipped = "Releases are shipped with make ship, and never on Mondays."

// turns are the outcomes of a session's turns.
func (w *world) turns(session string) (outcomes []string) {
	w.t.Helper()
	var shown struct {
		Items []struct {
			Feedback *struct{ Outcome string } `json:"feedback"`
		}
	}
	out, _ := w.ok("session", "show", session, "--json")
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	for _, item := range shown.Items {
		if item.Feedback == nil {
			outcomes = append(outcomes, "")
		} else {
			outcomes = append(outcomes, item.Feedback.Outcome)
		}
	}
	return outcomes
}

// Each client that takes context at a prompt gets it there, and the end of the turn is its feedback.
func TestHook_AConversationOfEachClient(t *testing.T) {
	coretest.Long(t)
	for client, names := range map[string][5]string{ // of the events: start, prompt, tool, end, and the reply's field
		connect.ClaudeCode: {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "last_assistant_message"},
		connect.Codex:      {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "last_assistant_message"},
		connect.GeminiCLI:  {"SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "prompt_response"},
	} {
		t.Run(client, func(t *testing.T) {
			w := newPlainWorld(t)
			w.ok("memory", "observe", "--content", shipped)
			a := newCodingAgent(w, client)
			wantIn(t, a.fires(names[0], map[string]any{"source": "startup"}), `<context source="reflectory">`, "make ship")
			prompt := map[string]any{"prompt": "How are releases shipped?"}
			wantIn(t, a.fires(names[1], prompt), `<context source="reflectory">`, "make ship")
			if again := a.fires(names[1], prompt); again != "" {
				t.Errorf("a second hook of the prompt says %s", again)
			}
			a.fires(names[2], map[string]any{"tool_name": "Bash", "tool_use_id": "1", "tool_response": map[string]any{"exit_code": 2}})
			a.fires(names[2], map[string]any{"tool_name": "Bash", "tool_use_id": "2", "tool_response": map[string]any{"exit_code": 0}})
			a.fires(names[3], map[string]any{names[4]: "They are shipped with make ship, and never on Mondays."})
			wantIn(t, a.fires(names[1], prompt), "make ship") // the turn has ended, so it is another
			a.fires(names[2], map[string]any{"tool_name": "Bash", "tool_use_id": "3", "tool_response": map[string]any{"exit_code": 1}})
			a.fires(names[3], map[string]any{names[4]: "With make ship, and never on Mondays, it failed."})
			a.fires(names[1], map[string]any{"prompt": "Thanks"})
			a.fires(names[3], map[string]any{names[4]: "You're welcome."})
			if got := w.turns("agent:abc123"); !slices.Equal(got, []string{"", "success", "failure", ""}) {
				t.Errorf("the turns ended as %q", got)
			}
			var listed struct {
				Items []struct {
					Signals struct {
						HitCount int `json:"hit_count"`
					}
				}
			}
			out, _ := w.ok("memory", "list", "--json")
			if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Items) != 1 || listed.Items[0].Signals.HitCount != 2 {
				t.Errorf("the use wasn't inferred: %s", out)
			}
			got, _ := w.ok("audit", "show", "namespace/default", "--limit", "100", "--json")
			if n := strings.Count(got, `"agent.evidence.tool_recorded"`); n != 3 {
				t.Errorf("%d outcomes of tools are evidence", n)
			}
		})
	}
}

// Cursor gets its context when a session starts; its reply comes before the end.
func TestHook_AConversationOfCursor(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--content", "The "+filepath.Base(w.dir)+" is shipped with make ship, never on Mondays.")
	a := newCodingAgent(w, connect.Cursor)
	a.common = map[string]any{"conversation_id": "abc123", "cursor_version": "2.1.0", "workspace_roots": []string{w.dir}}
	wantIn(t, a.fires("sessionStart", nil), "make ship")
	if said := a.fires("beforeSubmitPrompt", map[string]any{"prompt": "How is it shipped? Remember that we use tabs."}); said != "" {
		t.Errorf("it says %s", said)
	}
	a.fires("postToolUse", map[string]any{"tool_name": "Shell", "tool_output": `{"exitCode":0}`})
	a.fires("afterAgentResponse", map[string]any{"text": "It is shipped with make ship, never on Mondays."})
	a.fires("stop", map[string]any{"status": "completed", "loop_count": 0})
	a.fires("sessionEnd", map[string]any{"reason": "completed"})
	if got := w.turns("agent:abc123"); !slices.Equal(got, []string{"success"}) {
		t.Errorf("the turns ended as %q", got)
	}
	out, _ := w.ok("memory", "list")
	wantIn(t, out, "we use tabs.")
}

// VS Code gets its context when a session starts, and there is no feedback.
func TestHook_AConversationOfVSCode(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--content", shipped)
	a := newCodingAgent(w, connect.VSCode)
	a.common = map[string]any{"sessionId": "abc123", "cwd": w.dir, "timestamp": "2026-02-09T10:30:00.000Z", "hookEventName": "x"}
	wantIn(t, a.fires("SessionStart", map[string]any{"source": "new"}), "make ship")
	if said := a.fires("UserPromptSubmit", map[string]any{"prompt": "# we use tabs"}); said != "" {
		t.Errorf("it says %s", said)
	}
	a.fires("Stop", map[string]any{"stop_hook_active": false})
	out, _ := w.ok("memory", "list")
	wantIn(t, out, "we use tabs")
}

func TestHook_StoresWhatTheUserWantsRemembered(t *testing.T) {
	for prompt, want := range map[string][]string{
		"remember that we use tabs":                       {"we use tabs"},
		"Please remember that we use tabs.":               {"we use tabs."},
		"Fix it. Remember that CI needs Go 1.26\nThanks.": {"CI needs Go 1.26"},
		"Remember: ship on Fridays":                       {"ship on Fridays"},
		"REMEMBER THIS: é 漢字":                             {"é 漢字"},
		"and remember that a; also remember that b":       {"a; also remember that b"},
		"remember that a\nremember that b":                {"a", "b"},
		"# we use tabs":                                   {"we use tabs"},
		"#we use tabs\n\n# and LF":                        {"we use tabs", "and LF"},
		"Do you remember that bug?":                       nil,
		"remember that time?":                             nil,
		"I don't remember that we did":                    nil,
		"He said to remember that":                        nil,
		"remember the milk":                               nil,
		"# Heading\n\nA text.":                            nil,
		"```\n# a comment\n```":                           nil,
		"## two":                                          nil,
		"#":                                               nil,
		"fix #12":                                         nil,
		"":                                                nil,
	} {
		if got := toRemember(prompt); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
	if got := toRemember(strings.Repeat("remember that x\n", 1000)); len(got) > maxRemembered {
		t.Errorf("%d memories of one prompt", len(got))
	}
}

// Without capture, nothing but what the user wants remembered is stored; with it, each turn once.
func TestHook_CapturesTurnsOnlyIfAsked(t *testing.T) {
	for _, capture := range []string{"off", "turns"} {
		w := newPlainWorld(t)
		a := newCodingAgent(w, connect.ClaudeCode)
		w.env["REFLECTORY_CAPTURE"] = capture
		a.fires("UserPromptSubmit", map[string]any{"prompt": "Zebulon " + strings.Repeat("é", 3000)})
		a.fires("Stop", map[string]any{"last_assistant_message": "Yes, " + strings.Repeat("x", 3000)})
		out, _ := w.ok("memory", "list", "--json")
		var listed struct{ Items []struct{ Content string } }
		if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Items) != map[string]int{"off": 0, "turns": 1}[capture] {
			t.Fatalf("%s: %v: %s", capture, err, out)
		}
		for _, m := range listed.Items {
			if n := len([]rune(m.Content)); n > maxCaptured || !strings.Contains(m.Content, "User: Zebulon é") || !strings.Contains(m.Content, "…\nAgent: Yes, xx") {
				t.Errorf("%d characters: %s", n, m.Content)
			}
		}
		if capture == "off" {
			if found, err := filepath.Glob(filepath.Join(w.env["REFLECTORY_DATA_DIR"], "hooks", "*", "*")); err != nil || len(found) > 0 {
				t.Errorf("after the turn there is %v, %v", found, err)
			}
		}
	}
}

// Whatever is wrong, a hook exits with 0 and says nothing.
func TestHook_IsSilentWhateverIsWrong(t *testing.T) {
	coretest.Long(t)
	good := func(w *world) string {
		return fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":"How are releases shipped?"}`, w.dir)
	}
	for name, c := range map[string]struct {
		spoil func(w *world)
		input func(w *world) string
		args  []string
		logs  string
	}{
		"nothing on standard input": {input: func(*world) string { return "" }, logs: "read the event"},
		"no JSON":                   {input: func(*world) string { return "remember that x" }, logs: "read the event"},
		"too much":                  {input: func(*world) string { return `{"x":"` + strings.Repeat("x", connect.MaxInput) + `"}` }},
		"an unknown event":          {args: []string{"hook", "prompts", "--client", "codex"}},
		"an unknown client":         {args: []string{"hook", "prompt", "--client", "zed"}},
		"no client":                 {args: []string{"hook", "prompt"}},
		"no event":                  {args: []string{"hook"}},
		"too many events":           {args: []string{"hook", "prompt", "stop", "--client", "codex"}},
		"an unknown flag":           {args: []string{"hook", "prompt", "--client", "codex", "--loud"}},
		"settings that are wrong":   {spoil: func(w *world) { w.env["REFLECTORY_SANDBOX"] = "perhaps" }},
		"a store that is damaged": {spoil: func(w *world) {
			dir := filepath.Join(w.env["REFLECTORY_DATA_DIR"], "store")
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				_ = os.WriteFile(filepath.Join(dir, e.Name()), []byte("no"), 0o600)
			}
		}, logs: "prompt"},
		"a list of connections that is damaged": {spoil: func(w *world) {
			_ = os.WriteFile(filepath.Join(w.env["REFLECTORY_DATA_DIR"], "connect", "connections.json"), []byte("{"), 0o600)
		}},
		"a state that is damaged": {spoil: func(w *world) {
			_ = os.WriteFile(filepath.Join(w.env["REFLECTORY_DATA_DIR"], "hooks"), []byte("x"), 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlainWorld(t)
			w.ok("memory", "observe", "--content", shipped)
			newCodingAgent(w, connect.Codex)
			if c.spoil != nil {
				c.spoil(w)
			}
			args, input := c.args, good(w)
			if args == nil {
				args = []string{"hook", "prompt", "--client", "codex"}
			}
			if c.input != nil {
				input = c.input(w)
			}
			code, out, errs := w.fed(t.Context(), input, args...)
			if name == "a state that is damaged" { // the context is there all the same
				wantIn(t, out, "make ship")
				out = ""
			}
			if name == "no event" { // which is for people
				out = ""
			}
			if code != 0 || out != "" || errs != "" {
				t.Errorf("exit %d, %q, %q", code, out, errs)
			}
			log, _ := os.ReadFile(filepath.Join(w.env["REFLECTORY_DATA_DIR"], "hooks", hookLog))
			if c.logs != "" && !strings.Contains(string(log), c.logs) {
				t.Errorf("the log says %q", log)
			}
		})
	}
}

// In a folder that isn't connected, nothing happens, and its settings aren't read.
func TestHook_DoesNothingWhereItIsNotConnected(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--content", shipped)
	for _, folder := range []string{"mine/below", "theirs"} {
		if err := os.MkdirAll(filepath.Join(w.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.file("theirs/reflectory.yaml", "namespace: theirs\nserver: https://example.org\n")
	t.Chdir(filepath.Join(w.dir, "mine"))
	a := newCodingAgent(w, connect.ClaudeCode, "--scope", "project")
	for folder, connected := range map[string]bool{"mine": true, "mine/below": true, "theirs": false, ".": false, "mine/../theirs": false, "missing": false} {
		a.common["cwd"] = filepath.Join(w.dir, folder)
		said := a.fires("UserPromptSubmit", map[string]any{"session_id": folder, "prompt": "How are releases shipped?"})
		if (said != "") != connected {
			t.Errorf("in %s it says %q", folder, said)
		}
	}
	// For every folder: the settings of the folder don't count, or a clone would choose the server.
	everywhere := newCodingAgent(w, connect.Codex)
	everywhere.common["cwd"] = filepath.Join(w.dir, "theirs")
	wantIn(t, everywhere.fires("UserPromptSubmit", map[string]any{"session_id": "x", "prompt": "How are releases shipped?"}), "make ship")
	w.ok("connect", "codex", "--undo")
	if said, err := os.ReadFile(filepath.Join(w.dir, ".codex", "hooks.json")); err == nil {
		t.Errorf("after the undoing there is %s", said)
	}
	if said := everywhere.fires("UserPromptSubmit", map[string]any{"session_id": "y", "prompt": "How are releases shipped?"}); said != "" {
		t.Errorf("after the undoing it says %s", said)
	}
}

// With a server, the hooks use it.
func TestHook_UsesTheServer(t *testing.T) {
	w := newPlainWorld(t)
	a := newCodingAgent(w, connect.Codex)
	w.serve()
	w.ok("memory", "observe", "--content", shipped)
	wantIn(t, a.fires("SessionStart", map[string]any{"source": "startup"}), "make ship")
	wantIn(t, a.fires("UserPromptSubmit", map[string]any{"prompt": "How are releases shipped?"}), "make ship")
	a.fires("PostToolUse", map[string]any{"tool_name": "Bash", "tool_response": map[string]any{"exit_code": 0}})
	a.fires("Stop", map[string]any{"last_assistant_message": "With make ship, and never on Mondays."})
	if got := w.turns("agent:abc123"); !slices.Equal(got, []string{"", "success"}) {
		t.Errorf("the turns ended as %q", got)
	}
}

// TestHook_Budget counts what a hook costs at a prompt: the command and its server together.
func TestHook_Budget(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := newPlainWorld(t)
	a := newCodingAgent(w, connect.Codex)
	w.serve()
	w.ok("memory", "observe", "--content", shipped)
	a.fires("SessionStart", map[string]any{"source": "startup"})
	coretest.Budget{Path: "a hook at a prompt", Allocations: 6420}.Check(t, func() {
		a.fires("UserPromptSubmit", map[string]any{"prompt": "How are releases shipped?"})
	})
}

// A server that doesn't answer costs the client no more than the hook's time.
func TestHook_GivesUpInTime(t *testing.T) {
	w := newPlainWorld(t)
	a := newCodingAgent(w, connect.Codex)
	l, err := net.Listen("unix", filepath.Join(w.env["REFLECTORY_DATA_DIR"], client.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody accepts a connection
	if said := a.fires("UserPromptSubmit", map[string]any{"prompt": "How are releases shipped?"}); said != "" {
		t.Errorf("it says %s", said)
	}
	log, err := os.ReadFile(filepath.Join(w.env["REFLECTORY_DATA_DIR"], "hooks", hookLog))
	if err != nil || !strings.Contains(string(log), "the hook didn't end in time") {
		t.Errorf("the log says %q, %v", log, err)
	}
}

// A hook that is killed leaves a conversation with which the next one works, and a store without damage.
func TestHook_IsKilledAtAnyMoment(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--content", shipped)
	a := newCodingAgent(w, connect.Codex)
	for i := range coretest.Cases(6, 40) {
		c := exec.Command(filepath.Join(programs, "reflectory"), "hook", "prompt", "--client", "codex")
		c.Env = []string{"HOME=" + w.dir, "REFLECTORY_DATA_DIR=" + w.env["REFLECTORY_DATA_DIR"]}
		c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"abc123","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":"How are releases shipped? %d"}`, w.dir, i))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range i * i * 2000 { // a little later each time
			runtime.Gosched()
		}
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	}
	wantIn(t, a.fires("UserPromptSubmit", map[string]any{"prompt": "How are releases shipped at last?"}), "make ship")
	a.fires("PostToolUse", map[string]any{"tool_name": "Bash", "tool_response": map[string]any{"exit_code": 0}})
	a.fires("Stop", map[string]any{"last_assistant_message": "With make ship, and never on Mondays."})
	if got := w.turns("agent:abc123"); len(got) == 0 || got[len(got)-1] != "success" {
		t.Errorf("the turns ended as %q", got)
	}
	w.ok("store", "check")
}

// With the gateway, the client has an own token, which the undoing revokes.
func TestConnect_TheGatewayHasATokenOfItsOwn(t *testing.T) {
	for client, path := range map[string]string{connect.ClaudeCode: ".claude/settings.json", connect.Codex: ".codex/config.toml", connect.OpenCode: ".config/opencode/opencode.json"} {
		t.Run(client, func(t *testing.T) {
			w := newPlainWorld(t)
			shown, _ := w.ok("connect", client, "--gateway")
			text, err := os.ReadFile(filepath.Join(w.dir, path))
			if err != nil {
				t.Fatal(err)
			}
			token := regexp.MustCompile(`rfl_[A-Za-z0-9_-]{20,}`).FindString(string(text))
			if token == "" || strings.Contains(shown, token) || w.holds(token) {
				t.Errorf("the token isn't only in the settings: %s\n%s", shown, text)
			}
			wantIn(t, string(text), "http://127.0.0.1:7842/"+map[bool]string{true: "anthropic", false: "openai/v1"}[client == connect.ClaudeCode])
			listed, _ := w.ok("token", "list", "--json")
			wantIn(t, listed, `"model"`, "reflectory connect "+client)
			w.ok("connect", client, "--undo")
			if listed, _ = w.ok("token", "list", "--json"); !strings.Contains(listed, `"revoked`) && strings.Contains(listed, "reflectory connect "+client) {
				t.Errorf("the token is still valid: %s", listed)
			}
			if left := w.settings(); len(left) > 0 {
				t.Errorf("remains %v", left)
			}
		})
	}
}

func TestConnect_ShowsListsAndUndoes(t *testing.T) {
	w := newPlainWorld(t)
	w.file(".claude.json", "{\n  // mine\n  \"theme\": \"dark\"\n}\n")
	before := w.settings()
	out, _ := w.ok("connect", "claude-code", "--dry-run")
	wantIn(t, out, `+    "reflectory": {`, "settings.json", "hook session-start --client claude-code")
	if now := w.settings(); !reflect.DeepEqual(now, before) {
		t.Errorf("a dry run changed %v", now)
	}
	out, _ = w.ok("connect", "claude-code")
	wantIn(t, out, "changed "+filepath.Join(w.dir, ".claude.json"))
	out, _ = w.ok("connect", "--list")
	wantIn(t, out, "claude-code", "user")
	if _, errs := w.ok("connect", "claude-code"); !strings.Contains(errs, "nothing to change") {
		t.Errorf("again: %s", errs)
	}
	w.ok("connect", "claude-code", "--undo")
	if now := w.settings(); !reflect.DeepEqual(now, before) {
		t.Errorf("after the undoing: %v", now)
	}
	for line, want := range map[string]struct {
		exit int
		code string
	}{
		"connect claude-code --undo": {exitFailure, "not_connected"}, "connect cursor --gateway": {exitDenied, "gateway_unsupported"},
		"connect zed": {exitUsage, "usage"}, "connect": {exitUsage, "usage"}, "connect codex --scope team": {exitUsage, "usage"},
	} {
		if code, _, _ := w.refusal(want.exit, line); code != want.code {
			t.Errorf("%s: %s", line, code)
		}
	}
}

// settings are the files of the home, without the data folder.
func (w *world) settings() map[string]string {
	files := map[string]string{}
	_ = filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(path, w.env["REFLECTORY_DATA_DIR"]) {
			text, _ := os.ReadFile(path)
			files[path] = string(text)
		}
		return err
	})
	return files
}
