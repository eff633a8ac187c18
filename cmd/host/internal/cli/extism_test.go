//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// authoringBlock is a block of sdk/AUTHORING.md, by its first line.
func authoringBlock(t *testing.T, first string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../sdk/AUTHORING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```yaml\n"+first)
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("AUTHORING.md has no block that begins with %q", first)
	}
	return first + block
}

// extismModule copies a plug-in of Extism's own Go SDK.
func extismModule(t *testing.T, name, to string) {
	t.Helper()
	sdk, err := coretest.SuiteModule("../../../..", "github.com/extism/go-sdk")
	if err != nil {
		t.Fatal(err)
	}
	if err := linkFile(filepath.Join(sdk, "wasm", name), to); err != nil {
		t.Fatal(err)
	}
}

// extismWorld has an unchanged Extism plug-in in a folder of its own, added with
// the plugin.yaml that AUTHORING.md shows.
func extismWorld(t *testing.T) (*world, string) {
	t.Helper()
	w := emptyWorld(t)
	folder := filepath.Join(w.dir, "vowels")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	extismModule(t, "count_vowels.wasm", filepath.Join(folder, "count_vowels.wasm"))
	w.env["REFLECTORY_LOCK"] = filepath.Join(w.dir, install.LockFile)
	w.file("vowels/plugin.yaml", authoringBlock(t, "name: acme/vowels"))
	return w, folder
}

// A plug-in that wasn't written for this host can judge, as AUTHORING.md says.
func TestExtism_AnUnchangedPluginJudges(t *testing.T) {
	coretest.Long(t)
	w, folder := extismWorld(t)
	out, _ := w.ok("plugin", "add", folder)
	if !strings.Contains(out, "metered yes") {
		t.Error(out)
	}
	workflow := authoringBlock(t, "state:")
	run := func(text string) (int, string) {
		code, out, errs := w.run(t.Context(), "run", w.file("workflow.yaml", text), "--json")
		return code, out + errs
	}
	if code, out := run(workflow); code != exitPassed || !strings.Contains(out, "3 vowels") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := run(strings.Replace(workflow, "hello world", "hm", 1)); code != exitNotValid || !strings.Contains(out, "0 vowels") {
		t.Errorf("exit %d: %s", code, out)
	}
	for expression, want := range map[string]string{
		"output.count > 2":           `"valid":true`,
		"output.count >":             "1:15: Syntax error",
		"output.vowel > 2":           "no such key: vowel",
		"output.count":               "must give true, false or an object with the field valid",
		"{'valid': 1}":               "must give true, false or an object with the field valid",
		"{'valid': true, 'score':5}": `"score":1`,
	} {
		i := strings.Index(workflow, "verdict: >")
		code, out := run(workflow[:i] + "verdict: \"" + expression + "\"\n")
		if text := strings.ReplaceAll(out, `": `, `":`); !strings.Contains(text, want) {
			t.Errorf("%s: exit %d: %s", expression, code, out)
		}
	}
}

// It has the kinds that the folder's plugin.yaml names, and no others.
func TestExtism_IsOfItsFoldersKinds(t *testing.T) {
	w, folder := extismWorld(t)
	w.ok("plugin", "add", folder)
	workflow := strings.Replace(authoringBlock(t, "state:"), "action: reflection.evaluate\n", "action: reflection.loop\n", 1)
	workflow = strings.Replace(workflow, "    with:\n", "    with:\n      generator: {plugin: acme/vowels, config: {function: count_vowels}}\n      max_iterations: 1\n", 1)
	code, out, errs := w.run(t.Context(), "run", w.file("workflow.yaml", workflow))
	if code != exitFailure && code != exitUsage || !strings.Contains(out+errs, "acme/vowels") || !strings.Contains(out+errs, "generator") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// A module that imports nothing of Extism is an Extism plug-in if plugin.yaml says so.
func TestExtism_MayBeSaid(t *testing.T) {
	w, folder := extismWorld(t)
	if err := os.Remove(filepath.Join(folder, "count_vowels.wasm")); err != nil {
		t.Fatal(err)
	}
	extismModule(t, "noop.wasm", filepath.Join(folder, "count_vowels.wasm"))
	code, out, errs := w.run(t.Context(), "plugin", "inspect", folder)
	said := authoringBlock(t, "name: acme/vowels") + "abi: extism\n"
	w.file("vowels/plugin.yaml", said)
	shown, _ := w.ok("plugin", "inspect", folder)
	const kind = "kind extism"
	if strings.Contains(strings.Join(strings.Fields(out), " "), kind) || !strings.Contains(strings.Join(strings.Fields(shown), " "), kind) {
		t.Errorf("before: exit %d: %s%s\nafter: %s", code, out, errs, shown)
	}
	w.ok("plugin", "add", folder)
	w.file("vowels/plugin.yaml", strings.Replace(said, "runtime: wasm", "runtime: process", 1))
	if code, _, errs := w.run(t.Context(), "plugin", "inspect", folder); code == exitPassed || !strings.Contains(errs, "abi is for runtime: wasm only") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
