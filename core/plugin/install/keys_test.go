package install_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// TestSchema_SaysOfAPackageWhatItsReaderSays: what the reader takes, the schema takes, and
// what is wrong in its shape, neither.
func TestSchema_SaysOfAPackageWhatItsReaderSays(t *testing.T) {
	schema := packageSchema(t)
	for _, pattern := range []string{"../../../plugins/*/plugin.yaml", "../../../examples/*/plugin.yaml", "../../../examples/*/package/plugin.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(asJSON(t, string(text))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	const good = "name: a/b\nversion: 1.0.0\nkinds: [evaluator]\nentry: run\n"
	for _, text := range []string{
		good, good + "limits: {memory: 1MiB, fuel: 1e9}\nruntime: wasm\n", good + "tls: false\ncapabilities: {network: [\"a:1\"], fs: [system], env: [A], host: [log]}\n",
		strings.Replace(good, "entry: run", "entry: {linux/amd64: [run, -v]}", 1), good + "examples: [Sort the mail]\n",
	} {
		if _, err := install.ParsePackage("plugin.yaml", []byte(text)); err != nil {
			t.Errorf("the reader refuses %q: %v", text, err)
		}
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("the schema refuses %q: %v", text, err)
		}
	}
	for _, text := range []string{
		"name: a/b", strings.Replace(good, "a/b", "A", 1), strings.Replace(good, "1.0.0", "v1", 1), strings.Replace(good, "evaluator", "judge", 1),
		good + "runtimes: wasm\n", good + "runtime: jvm\n", good + "limits: {memory: much}\n", good + "limits: {instance: 1}\n",
		good + "limits: {instances: 0}\n", good + "capabilities: {host: [all]}\n", good + "capabilities: {env: [1A]}\n", good + "tls: maybe\n",
		good + "examples: Sort the mail\n", good + "examples: [" + strings.Repeat("a, ", 20) + "a]\n", good + "examples: [" + strings.Repeat("a", 301) + "]\n",
	} {
		if _, err := install.ParsePackage("plugin.yaml", []byte(text)); err == nil {
			t.Errorf("the reader takes %q", text)
		}
		if schema.Validate(asJSON(t, text)) == nil {
			t.Errorf("the schema takes %q", text)
		}
	}
}

func packageSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(install.Schema())))
	c := jsonschema.NewCompiler()
	if err == nil {
		err = c.AddResource("plugin.json", parsed)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a YAML text as the value of its JSON.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	found := &document.Problems{}
	root := document.Read(text, document.Limits{Bytes: 1 << 20, Depth: 100}, found)
	if root == nil || found.Len() > 0 {
		t.Fatalf("%s: %v", text, found.List())
	}
	var v any
	if err := json.Unmarshal(root.JSON(nil), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
