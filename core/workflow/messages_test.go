package workflow_test

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

const messagesText = `settings: {llm: {model: m}}
nodes:
  - name: a
    action: llm.call
    with:
      messages:
        - role: user
          content:
            - {type: text, text: "What is {{ state.what }}?"}
            - {type: image, file: pictures/a.png}
            - {type: image, url: "https://pictures.example/b.png"}
            - {type: file, base64: "{{ state.data }}", media_type: application/pdf, name: c.pdf}
        - {role: assistant, tool_calls: [{id: c1, name: find, arguments: {q: "{{ state.what }}"}}]}
        - {role: tool, tool_call_id: c1, name: find, content: "{{ state.found }}"}
`

// TestMessages_HavePartsFilesAndTools, and a run of the source needs no file, wherever it came from.
func TestMessages_HavePartsFilesAndTools(t *testing.T) {
	const picture = "\x89PNG\xff\x00"
	dir := folder(t, map[string]string{"w.yaml": messagesText, "pictures/a.png": picture})
	source, err := workflow.Read(filepath.Join(dir, "w.yaml"))
	if diff := cmp.Diff([]string{"pictures/a.png;base64"}, slices.Sorted(maps.Keys(source.Files))); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	sent, err := workflow.FromText(source.File, source.Text, source.Files)
	if diff := cmp.Diff(source, sent); diff != "" || err != nil {
		t.Error(diff, err)
	}
	p, err := workflow.Load(source, workflow.Options{Expressions: expressions{}})
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, p.Nodes[0].Action.(*action.CallSpec).Step.Config, action.Variables{State: []byte(`{"what":"this","data":"QQ==","found":"nothing"}`)})
	want := `{"messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},` +
		`{"type":"image","base64":"` + base64.StdEncoding.EncodeToString([]byte(picture)) + `","name":"a.png","media_type":"image/png"},` +
		`{"type":"image","url":"https://pictures.example/b.png"},{"type":"file","base64":"QQ==","media_type":"application/pdf","name":"c.pdf"}]},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"find","arguments":{"q":"this"}}]},` +
		`{"role":"tool","content":"nothing","tool_call_id":"c1","name":"find"}],"llm":{"model":"m"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessages_ThatCannotBe(t *testing.T) {
	for message, want := range map[string]string{
		`{role: user}`:                                                         `a message needs the key "content"`,
		`{role: user, content: 7}`:                                             `content must be text or a list of parts, not a number`,
		`{role: user, content: [x]}`:                                           `a part must be a mapping, not text`,
		`{role: user, content: [{type: image}]}`:                               `the part has no content`,
		`{role: user, content: [{type: text}]}`:                                `a part needs the key "text"`,
		`{role: user, content: [{type: video, url: x}]}`:                       `type must be one of text, image, file`,
		`{role: user, content: [{type: image, url: x, base64: y}]}`:            `takes only one of url and base64`,
		`{role: user, content: [{type: image, url: "https://{{ state.x }}"}]}`: `url can't hold a template`,
		`{role: user, content: [{type: image, file: ../a.png}]}`:               `"../a.png" is not in the workflow's folder`,
		`{role: user, content: [{type: image, file: b.png}]}`:                  `there is no file "b.png"`,
		`{role: user, content: [{type: file, file: a.bin}]}`:                   `the type of "a.bin" isn't known by its name`,
		`{role: assistant, content: [{type: image, file: a.png}]}`:             `only a message of the role user has images and files`,
		`{role: tool, content: x}`:                                             `a message needs the key "tool_call_id"`,
		`{role: user, content: x, tool_call_id: c}`:                            `only a message of the role tool has tool_call_id`,
		`{role: assistant, tool_calls: [{id: c}]}`:                             `a call needs the key "name"`,
	} {
		source := core.Source{File: "w.yaml", Text: calling(message), Files: map[string]string{"a.png;base64": "QQ==", "a.bin;base64": "QQ=="}}
		if _, err := workflow.Load(source, workflow.Options{Expressions: expressions{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", message, err, want)
		}
	}
}

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// calling is a workflow that calls a model with a message.
func calling(message string) string {
	return "nodes:\n  - name: a\n    action: llm.call\n    with: {llm: {model: m}, messages: [" + message + "]}\n"
}

// TestMessages_FilesAreBounded, one by one, all of a workflow together, and all of a request together, and
// stay in the workflow's folder.
func TestMessages_FilesAreBounded(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	pictures := func(names ...string) (text string) {
		for _, name := range names {
			text += "{type: image, file: " + name + ".png}, "
		}
		return calling("{role: user, content: [" + text + "]}")
	}
	full, half := strings.Repeat("x", workflow.MaxMessageFiles), strings.Repeat("x", workflow.MaxMessageFiles/2)
	for name, test := range map[string]struct {
		files map[string]string
		want  string // "" is none
	}{
		"the largest":              {map[string]string{"w.yaml": pictures("a"), "a.png": full}, ""},
		"two of half of it":        {map[string]string{"w.yaml": pictures("a", "b"), "a.png": half, "b.png": half}, ""},
		"a byte more":              {map[string]string{"w.yaml": pictures("a"), "a.png": full + "x"}, "a.png has more than 20971520 bytes"},
		"21 MiB":                   {map[string]string{"w.yaml": pictures("a"), "a.png": full + half[:1<<20]}, "a.png has more than 20971520 bytes"},
		"a byte more in two":       {map[string]string{"w.yaml": pictures("a", "b"), "a.png": half, "b.png": half + "x"}, "with b.png the files of the workflow's messages have 20971521 bytes together (limit 20971520)"},
		"16 of the largest":        {map[string]string{"w.yaml": pictures(strings.Split("abcdefghijklmnop", "")...), "a.png": full, "b.png": full}, "with b.png the files of the workflow's messages have 41943040 bytes together"},
		"one three times":          {map[string]string{"w.yaml": pictures("a", "a", "a"), "a.png": half}, "the files of messages have 31457280 bytes together (limit 20971520)"},
		"one that leads elsewhere": {map[string]string{"w.yaml": pictures("link")}, "can't read link.png"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, test.files)
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.png")); err != nil {
				t.Fatal(err)
			}
			source, err := workflow.Read(filepath.Join(dir, "w.yaml"))
			if err == nil {
				_, err = workflow.Load(source, workflow.Options{Expressions: expressions{}})
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || sdk.AsError(err).Hint == "" && !strings.Contains(err.Error(), "make the picture")) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	sent := map[string]string{"a.png;base64": base64.StdEncoding.EncodeToString([]byte(full)), "b.png;base64": "QQ=="}
	if _, err := workflow.FromText("w.yaml", pictures("a"), sent); err != nil {
		t.Errorf("a caller's: %v", err)
	}
	if _, err := workflow.FromText("w.yaml", pictures("a", "b"), sent); sdk.ReasonOf(err) != "file_too_large" {
		t.Errorf("a caller's two: %v", err)
	}
}
