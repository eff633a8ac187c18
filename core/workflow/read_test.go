package workflow_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// folder writes files and returns the folder's path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadTakesInEveryFile(t *testing.T) {
	dir := folder(t, map[string]string{
		"w.yaml": node("reflection.evaluate", `evaluator:
  type: schema
  schema_file: schemas/main.yaml
  documents: {"https://example.org/doc.json": doc.json}`),
		"schemas/main.yaml": "properties: {a: {$ref: 'part.json#/definitions/x'}, b: {$ref: 'https://example.org/doc.json'}, c: {$ref: '#/definitions/y'}, d: {$ref: embedded.json}}\n" +
			"definitions: {y: {}, e: {$id: embedded.json}}\nenum: [{$ref: not-a-ref.json}]\n",
		"schemas/part.json": `{"definitions":{"x":{"$ref":"../other.json"}}}`,
		"other.json":        `{"maximum":9007199254740993}`,
		"doc.json":          `{}`,
		"unrelated.json":    `{}`,
	})
	source, err := workflow.Read(filepath.Join(dir, "w.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"doc.json", "other.json", "schemas/main.yaml", "schemas/part.json"}, slices.Sorted(maps.Keys(source.Files))); diff != "" {
		t.Error(diff)
	}
	p, err := workflow.Load(source, workflow.Options{Expressions: expressions{}})
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Config, action.Variables{})
	want := `{"base":"workflow:///schemas/main.yaml","documents":{"https://example.org/doc.json":{},` +
		`"workflow:///other.json":{"maximum":9007199254740993},"workflow:///schemas/part.json":{"definitions":{"x":{"$ref":"../other.json"}}}},"schema":{"properties"`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadTakesInPrompts(t *testing.T) {
	dir := folder(t, map[string]string{
		"w.yaml": "settings: {llm: {model: m}}\nnodes:\n" +
			"- {name: a, action: llm.call, with: {prompt_file: prompts/a.txt}}\n" +
			"- {name: b, action: reflection.evaluate, with: {evaluator: {type: llm, prompt_file: b.txt}}}\n" +
			"- {name: c, action: reflection.loop, with: {generator: {action: llm.call, prompt_file: c.txt}, evaluator: {run: x}}}\n",
		"prompts/a.txt": "Hi {{ state.s }}\n", "b.txt": "Judge {{ output }}", "c.txt": "plain \"text\"", "d.txt": "unrelated",
	})
	source, err := workflow.Read(filepath.Join(dir, "w.yaml"))
	if diff := cmp.Diff([]string{"b.txt", "c.txt", "prompts/a.txt"}, slices.Sorted(maps.Keys(source.Files))); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	p, err := workflow.Load(source, workflow.Options{Expressions: expressions{}})
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, p.Nodes[0].Action.(*action.CallSpec).Step.Config, action.Variables{State: []byte(`{"s":"Ada"}`)})
	if want := `{"prompt":"Hi Ada\n","llm":{"model":"m"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	source.Files["prompts/a.txt"] = "one\n{{ stat.x }}"
	delete(source.Files, "c.txt")
	source.Text = strings.Replace(source.Text, "b.txt", "../b.txt", 1)
	_, err = workflow.Load(source, workflow.Options{Expressions: expressions{}})
	for _, want := range []string{
		`w.yaml:3:51: prompts/a.txt:2:4: template: nothing here is named "stat"`,
		`"../b.txt" is not in the workflow's folder (copy the file there)`, `there is no file "c.txt" in the workflow's folder`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestFromText_IsWhatReadReads: the same files, and no others, under the same bounds.
func TestFromText_IsWhatReadReads(t *testing.T) {
	files := map[string]string{
		"schemas/main.yaml": "properties: {a: {$ref: 'part.json'}}", "schemas/part.json": `{}`, "b.txt": "Judge {{ output }}",
	}
	text := "settings: {llm: {model: m}}\nnodes:\n" +
		"- {name: a, action: reflection.evaluate, with: {evaluator: {type: schema, schema_file: ./schemas/main.yaml}}}\n" +
		"- {name: b, action: reflection.evaluate, with: {evaluator: {type: llm, prompt_file: b.txt}}}\n" +
		"- {name: c, action: reflection.evaluate, with: {evaluator: {type: llm, prompt_file: gone.txt}}}\n"
	dir := folder(t, files)
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := workflow.Read(filepath.Join(dir, "w.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	given := maps.Clone(files)
	given["unrelated.txt"], given["../secret"] = "x", "y"
	got, err := workflow.FromText(want.File, text, given)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(got.Files) != 3 {
		t.Errorf("%v (-read +text):\n%s", err, diff)
	}
	given["b.txt"] = strings.Repeat(" ", workflow.MaxNamedFile+1)
	if _, err := workflow.FromText("w.yaml", text, given); sdk.ReasonOf(err) != "file_too_large" {
		t.Errorf("a large file: %v", err)
	}
	if got, err := workflow.FromText("w.yaml", "a: [", given); err != nil || got.Text != "a: [" || len(got.Files) > 0 {
		t.Errorf("bad YAML is left to Load: %+v, %v", got, err)
	}
}

func TestReadStaysInTheFolder(t *testing.T) {
	outside := folder(t, map[string]string{"secret.json": `{}`})
	dir := folder(t, map[string]string{"w.yaml": node("reflection.evaluate", "evaluator: {type: schema, schema_file: link.json}")})
	if err := os.Symlink(filepath.Join(outside, "secret.json"), filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if source, err := workflow.Read(filepath.Join(dir, "w.yaml")); sdk.ReasonOf(err) != "file_unreadable" || len(source.Files) > 0 {
		t.Errorf("got %v, %v", source.Files, err)
	}
}

func TestReadIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		files  map[string]string
		reason string
	}{
		"no file":                  {map[string]string{"x": ""}, "workflow_not_found"},
		"a large one":              {map[string]string{"w.yaml": strings.Repeat("#", workflow.MaxFile+1)}, "file_too_large"},
		"a folder":                 {map[string]string{"w.yaml/x": ""}, "file_unreadable"},
		"a large schema":           {map[string]string{"w.yaml": node("reflection.evaluate", "evaluator: {type: schema, schema_file: s.json}"), "s.json": strings.Repeat(" ", workflow.MaxNamedFile+1)}, "file_too_large"},
		"bad YAML is left to Load": {map[string]string{"w.yaml": "a: ["}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := workflow.Read(filepath.Join(folder(t, test.files), "w.yaml")); sdk.ReasonOf(err) != test.reason {
				t.Errorf("got %v", err)
			}
		})
	}
}
