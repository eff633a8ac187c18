package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func TestAPackageSaysAllOfItself(t *testing.T) {
	tests := map[string]struct {
		text string
		want install.Package
	}{
		"the least": {judgeYAML, install.Package{
			Name: "acme/judge", Version: "1.2.3", Kinds: []sdk.Kind{sdk.KindEvaluator}, Runtime: plugin.RuntimeProcess,
			Entries: map[string]install.Entry{"": {"judge"}},
		}},
		"a process with everything": {`
name: acme/judge
version: 1.10.0-rc.1+build.5
kinds: [generator, corrector, evaluator]
description: "Judges: by words"
runtime: process
entry:
  linux/amd64: bin/judge-linux
  darwin/arm64: [bin/judge-darwin, --fast]
capabilities:
  network: ["api.example.org:443", "[::1]:80", "10.0.0.1:8080"]
  fs: [system, /usr/share/dict]
  env: [API_KEY]
  host: [memory.recall, log]
limits: {memory: 512MiB, timeout: 1m30s, instances: 4, parallel: 8, output: 1MiB, processes: 3}
tls: false
`, install.Package{
			Name: "acme/judge", Version: "1.10.0-rc.1+build.5", Description: "Judges: by words", Runtime: plugin.RuntimeProcess,
			Kinds: []sdk.Kind{sdk.KindCorrector, sdk.KindEvaluator, sdk.KindGenerator},
			Entries: map[string]install.Entry{
				"linux/amd64": {"bin/judge-linux"}, "darwin/arm64": {"bin/judge-darwin", "--fast"},
			},
			Capabilities: plugin.Capabilities{
				Network: []string{"10.0.0.1:8080", "[::1]:80", "api.example.org:443"}, FS: []string{"/usr/share/dict", "system"},
				Env: []string{"API_KEY"}, Host: []plugin.Service{plugin.ServiceLog, plugin.ServiceRecall},
			},
			Limits:    plugin.Limits{MemoryBytes: 512 << 20, Timeout: 90 * time.Second, Instances: 4, Parallel: 8, MessageBytes: 1 << 20, Processes: 3},
			PlainText: true,
		}},
		"an interpreter": {
			"name: a/b\nversion: 0.1.0\nkinds: [evaluator]\nentry: [python3, main.py]\ncapabilities: {fs: [system]}\n", install.Package{
				Name: "a/b", Version: "0.1.0", Kinds: []sdk.Kind{sdk.KindEvaluator}, Runtime: plugin.RuntimeProcess,
				Entries: map[string]install.Entry{"": {"python3", "main.py"}}, Capabilities: plugin.Capabilities{FS: []string{"system"}},
			}},
		"a module": {
			"{name: a/b, version: 0.1.0, kinds: [evaluator], runtime: wasm, entry: b.wasm, limits: {fuel: 1e6, memory: 16MiB}, isolation: call}", install.Package{
				Name: "a/b", Version: "0.1.0", Kinds: []sdk.Kind{sdk.KindEvaluator}, Runtime: plugin.RuntimeWASM,
				Entries: map[string]install.Entry{"": {"b.wasm"}}, Limits: plugin.Limits{Fuel: 1_000_000, MemoryBytes: 16 << 20}, Isolated: true,
			}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := install.ParsePackage("plugin.yaml", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each is a judge with one line more, or one in the place of another.
func TestWhatIsWrongWithAPackageIsNamedWithItsPlace(t *testing.T) {
	tests := map[string]struct{ line, want string }{
		"a bare name":            {"name: judge", `1:7: "judge" can't be the name (write publisher/name`},
		"a name that climbs":     {"name: ../judge", `"../judge" can't be the name`},
		"a name of three":        {"name: a/b/c", `"a/b/c" can't be the name`},
		"a name with dots":       {"name: acme/..", `"acme/.." can't be the name`},
		"a backslash":            {`name: acme\judge`, `can't be the name`},
		"no version":             {"version: latest", `2:10: "latest" can't be the version`},
		"a version that climbs":  {"version: 1.0.0-../../x", "can't be the version"},
		"a long version":         {"version: 1.0.0-" + strings.Repeat("a", 60), "version has more than 64 bytes"},
		"no kinds":               {"kinds: []", "3:8: kinds is empty"},
		"a kind that is none":    {"kinds: [judge]", "a kind must be one of evaluator, generator, corrector"},
		"a kind twice":           {"kinds: [evaluator, evaluator]", "evaluator is there twice"},
		"kinds as text":          {"kinds: evaluator", "kinds must be a list, not a single value (write it as [evaluator])"},
		"an entry that climbs":   {"entry: ../judge", `4:8: "../judge" can't be the entry`},
		"an absolute entry":      {"entry: /bin/sh", `"/bin/sh" can't be the entry`},
		"a program with a path":  {"entry: [/usr/bin/python3, x]", "can't be the program"},
		"an empty entry":         {"entry: []", "entry is empty"},
		"an empty program":       {"entry: ['', x]", "entry is empty"},
		"no entry":               {"entry:", "entry is empty"},
		"an unknown platform":    {"entry: {linux: judge}", `"linux" is no platform`},
		"a nested entry":         {"entry: {linux/amd64: {a: b}}", "an entry is a file, or a list"},
		"an unknown key":         {"runtme: process", `5:1: plugin.yaml has no key "runtme" (did you mean "runtime"?)`},
		"a key twice":            {"name: acme/b", `the key "name" is there twice`},
		"an unknown runtime":     {"runtime: docker", "runtime must be one of process, wasm"},
		"a mapping for a text":   {"description: {a: b}", "description must be a single value, not a mapping"},
		"an escape in it":        {`description: "\e[2J"`, "description must be one line"},
		"a long description":     {"description: " + strings.Repeat("a", 301), "at most 300 bytes"},
		"a size without a unit":  {"limits: {memory: 64MB}", `"64MB" is no size for memory`},
		"too little memory":      {"limits: {memory: 1KiB}", "memory must be from"},
		"too much memory":        {"limits: {memory: 999999999999999GiB}", "memory must be from"},
		"a negative size":        {"limits: {output: -1}", "is no size"},
		"a time without a unit":  {"limits: {timeout: 30}", "write a number and a unit"},
		"no time":                {"limits: {timeout: 0s}", "timeout must be a duration from 1ms"},
		"no instances":           {"limits: {instances: 0}", "instances must be a whole number from 1 to 256"},
		"half an instance":       {"limits: {instances: 1.5}", "whole number"},
		"a number that is none":  {"limits: {parallel: .nan}", "JSON has no such number"},
		"fuel of a process":      {"limits: {fuel: 5}", "fuel is for runtime: wasm only"},
		"an unknown limit":       {"limits: {cpu: 5}", `limits has no key "cpu"`},
		"limits as a list":       {"limits: [1]", "limits must be a mapping"},
		"a wildcard":             {"capabilities: {network: ['*:443']}", "wildcards aren't supported"},
		"no port":                {"capabilities: {network: [example.org]}", `"example.org" is no host:port`},
		"a port that is none":    {"capabilities: {network: ['example.org:0443']}", "no port from 1 to 65535"},
		"a URL":                  {"capabilities: {network: ['https://example.org:443']}", "is no host:port"},
		"an upper-case host":     {"capabilities: {network: ['Example.org:443']}", "lower case"},
		"a zone":                 {"capabilities: {network: ['[fe80::1%eth0]:443']}", "names no host"},
		"a relative folder":      {"capabilities: {fs: [etc]}", "isn't a clean absolute path"},
		"a folder that climbs":   {"capabilities: {fs: [/etc/../root]}", "isn't a clean absolute path"},
		"a folder that hides":    {`capabilities: {fs: ["/opt\e[2K"]}`, "control characters"},
		"a folder that turns":    {`capabilities: {fs: ["/opt/\u202e"]}`, "control characters"},
		"the whole file system":  {"capabilities: {fs: [/]}", "can't be asked for"},
		"a variable's value":     {"capabilities: {env: [A=1]}", "no name of an environment variable"},
		"an unknown service":     {"capabilities: {host: [root]}", `no host service "root" (there are log, llm.complete, memory.recall, cache, exec)`},
		"an unknown capability":  {"capabilities: {exec: [sh]}", `capabilities has no key "exec"`},
		"a capability twice":     {"capabilities: {env: [A, A]}", `"A" is there twice`},
		"tls of a module":        {"tls: false\nruntime: wasm", "tls is for runtime: process only"},
		"a module's arguments":   {"runtime: wasm\nentry: [a.wasm, x]", "a module takes no arguments"},
		"a module's platforms":   {"runtime: wasm\nentry: {linux/amd64: a.wasm}", "the same on every platform"},
		"state against itself":   {"runtime: wasm\nstateful: true\nisolation: call", "contradict each other"},
		"a flag that is none":    {"stateful: sure\nruntime: wasm", "stateful must be true or false"},
		"an anchor":              {"description: &a x", "anchors, aliases"},
		"a tag":                  {"description: !!binary x", "anchors, aliases, merge keys, tags"},
		"a control character":    {"description: \"\x1b[2J\"", "5:15: the control character U+001B"},
		"a second document":      {"---\na: b", "second document"},
		"text that isn't UTF-8":  {"description: \xff", "isn't UTF-8"},
		"more than anyone reads": {"description: " + strings.Repeat("a", 70_000), "more than 65536 bytes"},
		"a deep file":            {"description: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "nested deeper"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := judgeYAML + tt.line + "\n"
			key, _, _ := strings.Cut(tt.line, ":")
			lines := strings.SplitAfter(judgeYAML, "\n")
			for i, line := range lines {
				if name != "a key twice" && strings.HasPrefix(line, key+":") {
					lines[i] = tt.line + "\n"
					text = strings.Join(lines, "")
				}
			}
			if strings.Contains(tt.line, "\nentry:") {
				text = strings.Replace(text, "entry: judge\n", "", 1)
			}
			_, err := install.ParsePackage("plugin.yaml", []byte(text))
			wantError(t, err, sdk.Invalid, "package_invalid", tt.want)
		})
	}
}

func TestAllProblemsAreReportedInTheFilesOrder(t *testing.T) {
	_, err := install.ParsePackage("p.yaml", []byte("version: x\nlimits: {fule: 1, memory: 1}\nnam: a/b\n"))
	problems, _ := sdk.AsError(err).Details["problems"].([]document.Problem)
	var places []string
	for _, p := range problems {
		places = append(places, fmt.Sprintf("%d:%d", p.Line, p.Column))
	}
	if diff := cmp.Diff([]string{"1:1", "1:1", "1:1", "1:10", "2:10", "2:27", "3:1"}, places); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzPackage(f *testing.F) {
	for _, seed := range []string{
		judgeYAML, "entry: {a/b: [c, d]}\nlimits: {memory: 1GiB, fuel: 1e9}", "{name: a/b, kinds: [", "? [a]: b", "- a\n- b", "a: |\n  b\n", "\t", "a: *b",
		"capabilities: {network: ['[::]:1'], fs: [/a], env: [A], host: [log]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := install.ParsePackage("plugin.yaml", text)
		if (p == nil) == (err == nil) {
			t.Fatal("neither or both of a package and an error")
		}
		if err != nil {
			if sdk.ReasonOf(err) != "package_invalid" {
				t.Fatal(err)
			}
			return
		}
		if strings.Count(p.Name, "/") != 1 || strings.Contains(p.Name, "..") || len(p.Entries) == 0 || len(p.Kinds) == 0 {
			t.Fatalf("accepted %+v", p)
		}
		for _, e := range p.Entries {
			if len(e) == 0 || e[0] == "" || e[0] == ".." || strings.HasPrefix(e[0], "../") || e[0][0] == '/' {
				t.Fatalf("accepted the entry %q", e)
			}
		}
	})
}

func TestAPluginInDevelopmentThatIsNotBuiltSaysSo(t *testing.T) {
	w := judge(t)
	if err := os.Remove(filepath.Join(w.source, "judge")); err != nil {
		t.Fatal(err)
	}
	set := w.open(func(o *install.Options) { o.Dev = []string{w.source} })
	wantError(t, start(t, set, &driver{}), sdk.Invalid, "package_invalid", `its entry "judge" is no file of the package`, "build it")
}
