package connect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/sdk"
)

// place is a home with a settings file of a client.
type place struct {
	t          *testing.T
	home, data string
	options    connect.Options
}

func newPlace(t *testing.T, client string) *place {
	dir := connect.Resolved(t.TempDir())
	return &place{t, dir, filepath.Join(dir, "data"), connect.Options{
		Client: client, Scope: connect.User, Home: dir, Program: "/opt/re flectory/bin/reflectory", Getenv: func(string) string { return "" },
	}}
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) read(path string) string {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// tree are all files of the home, without the data folder.
func (p *place) tree() map[string]string {
	files := map[string]string{}
	_ = filepath.WalkDir(p.home, func(path string, e os.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(path, p.data) && path != p.home {
			if files[path] = "folder"; !e.IsDir() {
				files[path] = p.read(path)
			}
		}
		return err
	})
	return files
}

func (p *place) connect() *connect.Connection {
	p.t.Helper()
	changes, err := p.options.Plan()
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := p.options.Apply(p.data, changes, "", time.Unix(0, 0))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) undo() []error {
	p.t.Helper()
	list, err := connect.Connections(p.data)
	if err != nil || len(list) == 0 {
		p.t.Fatal(err, list)
	}
	left, err := list[len(list)-1].Undo(p.data)
	if err != nil {
		p.t.Fatal(err)
	}
	return left
}

// decoded is the content of a settings file, without comments.
func decoded(t *testing.T, path, text string) (value map[string]any) {
	t.Helper()
	body := bytes.TrimPrefix([]byte(text), []byte("\ufeff"))
	if strings.HasSuffix(path, ".toml") {
		if err := toml.Unmarshal(body, &value); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		return value
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return map[string]any{}
	}
	plain, err := hujson.Standardize(body)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(plain))
		d.UseNumber()
		err = d.Decode(&value)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return value
}

// without removes what is ours from settings: entries named reflectory, hooks that call the program, and
// what is empty then.
func without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if key == "reflectory" || key == "ANTHROPIC_BASE_URL" || key == "ANTHROPIC_AUTH_TOKEN" {
				delete(v, key)
				continue
			}
			if v[key] = without(inner); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		var rest []any
		for _, inner := range v {
			if text, _ := json.Marshal(inner); !strings.Contains(string(text), "/reflectory' hook ") {
				rest = append(rest, inner)
			}
		}
		if rest == nil {
			return nil
		}
		return rest
	}
	return value
}

var jsonFiles = map[string]string{
	"empty":                   "",
	"blank":                   " \n\n",
	"empty object":            "{}",
	"empty object, line":      "{}\n",
	"empty lines":             "{\n}\n",
	"two spaces":              "{\n  \"theme\": \"dark\"\n}\n",
	"four spaces":             "{\n    \"theme\": \"dark\",\n    \"n\": 1.50\n}",
	"tabs":                    "{\n\t\"theme\": \"dark\",\n\t\"deep\": {\n\t\t\"x\": [\n\t\t\t1\n\t\t]\n\t}\n}\n",
	"one line":                `{"theme":"dark","list":[1,2]}`,
	"one line with spaces":    `{ "theme": "dark", "list": [ 1, 2 ] }`,
	"comments":                "// mine\n{\n  // the theme\n  \"theme\": \"dark\" // very\n  /* end */\n}\n// bye\n",
	"a comment alone":         "{\n  // nothing yet\n}\n",
	"a comment in one line":   "{ /* nothing */ }\n",
	"trailing comma":          "{\n  \"theme\": \"dark\",\n}\n",
	"trailing comma, comment": "{\n  \"theme\": \"dark\", // very\n  // \"old\": 1\n}\n",
	"windows lines":           "{\r\n  \"theme\": \"dark\",\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}\r\n",
	"byte order mark":         "\ufeff{\n  \"theme\": \"dark\"\n}\n",
	"mark and windows lines":  "\ufeff{\r\n\t\"theme\": \"dark\"\r\n}",
	"other servers":           "{\n  \"mcpServers\": {\n    \"github\": {\"command\": \"gh\", \"args\": [\"mcp\"]},\n    \"fs\": {\n      \"command\": \"npx\"\n    }\n  },\n  \"z\": null\n}\n",
	"servers in one line":     "{\n  \"mcpServers\": {\"github\": {\"command\": \"gh\"}}\n}\n",
	"empty servers":           "{\n  \"mcpServers\": {},\n  \"hooks\": {}\n}\n",
	"servers, comma":          "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n  }, // all\n}\n",
	"other hooks":             "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]\n      }\n    ],\n    \"PreToolUse\": []\n  }\n}\n",
	"hooks in one line":       `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}], "SessionStart": []}}`,
	"hooks, comma":            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []},\n      // more\n    ],\n  },\n}\n",
	"environment":             "{\n  \"env\": {\n    \"A\": \"1\"\n  },\n  \"model\": \"opus\"\n}\n",
	"our old entry":           "{\n  \"mcpServers\": {\n    \"reflectory\": {\"command\": \"old\"} // stays\n  }\n}\n",
	"escaped names":           "{\n  \"mcp\\u0053ervers\": {\n    \"a\": {}\n  },\n  \"é\": \"\\ud83d\\ude00\"\n}\n",
	"exact numbers":           "{\n  \"a\": 12345678901234567890,\n  \"b\": 1e400,\n  \"c\": 1.0\n}\n",
	"spaces at the end":       "{\n  \"a\": 1   \n  }   \n\n",
	"comma on its own line":   "{\n  \"a\": 1\n  , \"b\": 2\n}\n",
	"brace on the last line":  "{\n  \"a\": 1,\n  \"b\": {\"c\": 2}}\n",
	"names like ours":         "{\n  \"mcpServers2\": {},\n  \"servers\": {\"x\": {}},\n  \"mcp\": {\"x\": {\"type\": \"local\", \"command\": [\"a\"]}}\n}\n",
	"version":                 "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{\"command\": \"a.sh\"}]\n  }\n}\n",
	"a comment between":       "{\n  \"hooks\" /* h */ : /* v */ {\n    \"Stop\" : [ /* none */ ]\n  } /* after */\n}\n",
	"large":                   "{\n  \"history\": [" + strings.Repeat("\n    {\"display\": \"line\", \"n\": 12},", 3000) + "\n    {}\n  ]\n}\n",
}

var tomlFiles = map[string]string{
	"empty":                  "",
	"keys":                   "# mine\nmodel = \"gpt-5\" # best\n\napproval_policy = 'on-request'\n",
	"no line at the end":     "model = \"gpt-5\"",
	"windows lines":          "model = \"gpt-5\"\r\n\r\n[mcp_servers.github]\r\ncommand = \"gh\"\r\nargs = [\"mcp\"]\r\n",
	"byte order mark":        "\ufeffmodel = \"gpt-5\"\n",
	"other servers":          "[mcp_servers.github]\ncommand = \"gh\"\n\n[mcp_servers.github.env]\nTOKEN = \"x\" # secret\n",
	"dotted":                 "mcp_servers.github.command = \"gh\"\n[tui]\nx = 1\n",
	"a header alone":         "[mcp_servers]\n\n[profiles.a]\nmodel = \"x\"\n",
	"arrays of tables":       "[[projects]]\nname = \"a\"\n\n[[projects]]\nname = \"b\"\ndate = 1979-05-27T07:32:00Z\n",
	"texts of several lines": "a = \"\"\"\n[mcp_servers.x]\nmodel_provider = \"no\"\n\"\"\"\nb = '''\n[y]'''\n",
	"our name in a text":     "note = \"[mcp_servers.reflectory]\"\n",
}

// files are the files of each client that hold entries of others, and the fixtures that they get.
var files = []struct{ client, path string }{
	{connect.ClaudeCode, ".claude.json"}, {connect.ClaudeCode, ".claude/settings.json"}, {connect.Codex, ".codex/hooks.json"}, {connect.Codex, ".codex/config.toml"},
	{connect.Cursor, ".cursor/mcp.json"}, {connect.Cursor, ".cursor/hooks.json"}, {connect.VSCode, ".config/Code/User/mcp.json"},
	{connect.GeminiCLI, ".gemini/settings.json"}, {connect.OpenCode, ".config/opencode/opencode.json"}, {connect.OpenCode, ".config/opencode/opencode.jsonc"},
}

// eachFile runs a test for each client's file with each fixture.
func eachFile(t *testing.T, test func(t *testing.T, p *place, path, text string)) {
	for _, f := range files {
		fixtures := jsonFiles
		if strings.HasSuffix(f.path, ".toml") {
			fixtures = tomlFiles
		}
		for name, text := range fixtures {
			for _, gateway := range []string{"", "http://127.0.0.1:7842"} {
				if gateway != "" && f.path != ".claude/settings.json" && f.path != ".codex/config.toml" && f.path != ".config/opencode/opencode.json" {
					continue
				}
				t.Run(fmt.Sprint(f.path, "/", name, "/", gateway != ""), func(t *testing.T) {
					t.Parallel() // most of the time is waiting for the disk
					p := newPlace(t, f.client)
					p.options.GatewayURL, p.options.Token, p.options.Models = gateway, "rfl_secret", []string{"gpt-5-mini"}
					if gateway == "" {
						p.options.Token = ""
					}
					test(t, p, p.write(f.path, text), text)
				})
			}
		}
	}
}

// Whatever a file looks like, its own content stays, and undoing gives the same bytes.
func TestConnect_UndoGivesTheSameBytes(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, path, text string) {
		before := p.tree()
		p.connect()
		after := p.read(path)
		if after == text {
			t.Fatal("nothing was changed")
		}
		got, want := without(decoded(t, path, after)), without(decoded(t, path, text))
		if m, _ := got.(map[string]any); m != nil {
			for key, ours := range map[string]any{"model_provider": "reflectory", "version": json.Number("1")} {
				if w, _ := want.(map[string]any); m[key] == ours && w[key] == nil {
					delete(m, key)
				}
			}
			if len(m) == 0 {
				got = nil
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("something else changed: %v\nwas %v\n%s", got, want, after)
		}
		if !strings.Contains(text, `"old"`) { // which is replaced
			keepsOrder(t, text, after)
		}
		if strings.Contains(text, "\r\n") && strings.Count(after, "\n") != strings.Count(after, "\r\n") {
			t.Errorf("a line ends in another way:\n%q", after)
		}
		if changes, err := p.options.Plan(); err != nil || len(changes) > 0 {
			t.Errorf("connecting again would change %v, %v", changes, err)
		}
		if left := p.undo(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if now := p.tree(); !reflect.DeepEqual(now, before) {
			t.Errorf("after the undoing:\n%v\nbefore:\n%v", now, before)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
}

// keepsOrder checks that each line of a text is still there, in the same order, but for an added comma.
func keepsOrder(t *testing.T, before, after string) {
	t.Helper()
	rest := after
	for _, c := range strings.Join(strings.Fields(before), "") {
		at := strings.IndexRune(rest, c)
		if at < 0 {
			t.Errorf("%q is gone or elsewhere:\n%s", c, after)
			return
		}
		rest = rest[at+1:]
	}
}

// A file that was changed since the connection keeps the change, and loses what was added.
func TestConnect_UndoLeavesWhatWasChangedSince(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, path, text string) {
		old := decoded(t, path, text)
		_, had := without(decoded(t, path, text)).(map[string]any)
		p.connect()
		var changed string
		if strings.HasSuffix(path, ".toml") {
			changed = p.read(path) + "\n[later]\nx = 1\n"
		} else { // the client writes it in its own way
			value := decoded(t, path, p.read(path))
			value["later"] = map[string]any{"x": 1}
			data, err := json.MarshalIndent(value, "", "   ")
			if err != nil {
				t.Fatal(err)
			}
			changed = string(data)
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if left := p.undo(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		after := p.read(path)
		value := decoded(t, path, after)
		if value["later"] == nil {
			t.Errorf("the later change is gone:\n%s", after)
		}
		delete(value, "later")
		if !reflect.DeepEqual(value, old) && !(len(value) == 0 && !had && len(old) == 0) {
			t.Errorf("got %v\nwant %v\n%s", value, old, after)
		}
	})
}

func TestConnect_LeavesAloneWhatItCantChange(t *testing.T) {
	for name, c := range map[string]struct{ client, path, text, reason, says string }{
		"half an object":      {connect.ClaudeCode, ".claude.json", `{"a": 1`, "settings_unreadable", "can't be parsed"},
		"a list":              {connect.ClaudeCode, ".claude.json", `[]`, "settings_unreadable", "it has a list, not an object"},
		"a text":              {connect.Cursor, ".cursor/mcp.json", `"x"`, "settings_unreadable", "a text"},
		"servers are a list":  {connect.Cursor, ".cursor/mcp.json", `{"mcpServers": []}`, "settings_unclear", "its mcpServers is a list, not an object"},
		"servers are null":    {connect.GeminiCLI, ".gemini/settings.json", `{"mcpServers": null}`, "settings_unclear", "its mcpServers is null"},
		"hooks are a list":    {connect.ClaudeCode, ".claude/settings.json", `{"hooks": ["x"]}`, "settings_unclear", "its hooks is a list"},
		"an event is a text":  {connect.ClaudeCode, ".claude/settings.json", `{"hooks": {"Stop": "x"}}`, "settings_unclear", "its hooks.Stop is a text, not a list"},
		"a name twice":        {connect.Codex, ".codex/hooks.json", `{"hooks": {}, "hooks": {}}`, "settings_unclear", `it has "hooks" twice`},
		"single quotes":       {connect.OpenCode, ".config/opencode/opencode.json", `{'a': 1}`, "settings_unreadable", "can't be parsed"},
		"two bytes a letter":  {connect.VSCode, ".config/Code/User/mcp.json", "\xff\xfe{\x00}\x00", "settings_unreadable", "can't be parsed"},
		"wrong TOML":          {connect.Codex, ".codex/config.toml", "a = \n", "settings_unreadable", "can't be parsed"},
		"an inline table":     {connect.Codex, ".codex/config.toml", "mcp_servers = {a = {command = \"x\"}}\n", "settings_unreadable", "mcp_servers"},
		"a table of ours":     {connect.Codex, ".codex/config.toml", "[mcp_servers.reflectory]\ncommand = \"old\"\n", "settings_taken", "already has a table [mcp_servers.reflectory]"},
		"servers are a text":  {connect.Codex, ".codex/config.toml", "mcp_servers = \"x\"\n", "settings_unreadable", "mcp_servers"},
		"a merge conflict":    {connect.ClaudeCode, ".claude.json", "{\n<<<<<<< HEAD\n  \"a\": 1\n=======\n}\n", "settings_unreadable", "can't be parsed"},
		"a list for environm": {connect.ClaudeCode, ".claude/settings.json", `{"env": ["A=1"]}`, "settings_unclear", "its env is a list"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, c.client)
			if strings.Contains(c.text, "env") {
				p.options.GatewayURL, p.options.Token = "http://127.0.0.1:7842", "t"
			}
			path := p.write(c.path, c.text)
			before := p.tree()
			_, err := p.options.Plan()
			if sdk.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", sdk.ReasonOf(err), err)
			}
			if !reflect.DeepEqual(p.tree(), before) {
				t.Error("something was changed")
			}
		})
	}
	t.Run("read-only", func(t *testing.T) {
		p := newPlace(t, connect.Cursor)
		if err := os.Chmod(p.write(".cursor/mcp.json", "{}"), 0o400); err != nil {
			t.Fatal(err)
		}
		if _, err := p.options.Plan(); sdk.ReasonOf(err) != "settings_read_only" {
			t.Error(err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		p := newPlace(t, connect.Cursor)
		if err := os.MkdirAll(filepath.Join(p.home, ".cursor", "mcp.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := p.options.Plan(); sdk.ReasonOf(err) != "file_unreadable" {
			t.Error(err)
		}
	})
}

// A link stays a link: what it leads to is changed, and gets its bytes back.
func TestConnect_FollowsLinks(t *testing.T) {
	p := newPlace(t, connect.ClaudeCode)
	real := p.write("dotfiles/claude.json", "{\n  \"theme\": \"dark\"\n}\n")
	link := filepath.Join(p.home, ".claude.json")
	if err := os.Symlink(filepath.Join("dotfiles", "claude.json"), link); err != nil {
		t.Fatal(err)
	}
	p.connect()
	if to, err := os.Readlink(link); err != nil || to != filepath.Join("dotfiles", "claude.json") || !strings.Contains(p.read(real), "reflectory") {
		t.Errorf("%s, %v: %s", to, err, p.read(real))
	}
	p.undo()
	if got := p.read(link); got != "{\n  \"theme\": \"dark\"\n}\n" {
		t.Errorf("%s", got)
	}
}

// Where there were no files, none remain, nor the folders that were made for them.
func TestConnect_UndoRemovesWhatItMade(t *testing.T) {
	for _, client := range connect.Clients() {
		for _, scope := range []connect.Scope{connect.User, connect.Project} {
			t.Run(client+"/"+string(scope), func(t *testing.T) {
				p := newPlace(t, client)
				if p.options.Scope = scope; scope == connect.Project {
					p.options.Folder = filepath.Join(p.home, "project")
					p.write("project/README.md", "x")
				}
				before := p.tree()
				c := p.connect()
				for _, f := range c.Files {
					if text := p.read(f.Path); !strings.Contains(text, "reflectory") || strings.HasSuffix(f.Path, ".json") && !json.Valid([]byte(text)) {
						t.Errorf("%s:\n%s", f.Path, text)
					}
				}
				if left := p.undo(); len(left) > 0 {
					t.Errorf("left %v", left)
				}
				if now := p.tree(); !reflect.DeepEqual(now, before) {
					t.Errorf("remains %v", now)
				}
			})
		}
	}
}

func TestConnect_KeepsTheTokenOutOfItsList(t *testing.T) {
	for _, client := range []string{connect.ClaudeCode, connect.Codex, connect.OpenCode} {
		p := newPlace(t, client)
		p.options.GatewayURL, p.options.Token = "http://127.0.0.1:7842", "rfl_secret"
		p.connect()
		if list := p.read(filepath.Join(p.data, "connect", "connections.json")); strings.Contains(list, "rfl_secret") {
			t.Errorf("%s: %s", client, list)
		}
	}
	p := newPlace(t, connect.ClaudeCode)
	p.options.Scope, p.options.Folder, p.options.GatewayURL = connect.Project, p.home, "http://127.0.0.1:7842"
	if _, err := p.options.Plan(); sdk.ReasonOf(err) != "gateway_not_in_project" {
		t.Error(err)
	}
	for _, client := range []string{connect.Cursor, connect.VSCode, connect.GeminiCLI} {
		p := newPlace(t, client)
		p.options.GatewayURL = "http://127.0.0.1:7842"
		if _, err := p.options.Plan(); sdk.ReasonOf(err) != "gateway_unsupported" {
			t.Errorf("%s: %v", client, err)
		}
	}
}

// What was changed between the plan and the change isn't overwritten, and what was written before is
// taken back.
func TestConnect_ChangedMeanwhile(t *testing.T) {
	p := newPlace(t, connect.ClaudeCode)
	p.write(".claude/settings.json", "{}")
	changes, err := p.options.Plan()
	if err != nil {
		t.Fatal(err)
	}
	p.write(".claude/settings.json", `{"a": 1}`)
	before := p.tree()
	if _, err := p.options.Apply(p.data, changes, "", time.Unix(0, 0)); sdk.ReasonOf(err) != "settings_changed" {
		t.Error(err)
	}
	if now := p.tree(); !reflect.DeepEqual(now, before) {
		t.Errorf("%v", now)
	}
}
