package scaffold

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/examples"
	"github.com/reflectory/reflectory/sdk"
)

// The runtimes of plugins.
const (
	process = "process"
	wasm    = "wasm"
)

// Language is a language that has plugin templates.
type Language struct {
	// Name is the language's name on the command line.
	Name string
	// Runtimes are what runs its plugins, the default first.
	Runtimes []string

	title, needs, note string
	// host is the file with the services that the host gives a plugin. A language with
	// such a file shows every kind of plugin, others only an evaluator.
	host string
	// command is plugin.yaml's entry if the plugin isn't an executable itself.
	command string
	// capabilities and limits are the values in plugin.yaml; "" is none.
	capabilities, limits string
	// grant names the capabilities for plugin add.
	grant string
	// build is how the plugin is built; "" if that isn't necessary.
	build string
	files []file
	// example has files that every plugin contains, from an example; none if all files
	// are templates.
	example folder
}

// file is one file that a README describes.
type file struct{ Name, What string }

// Languages lists the languages, sorted by name.
func Languages() []Language {
	return []Language{
		{
			Name: "assemblyscript", Runtimes: []string{wasm}, title: "AssemblyScript",
			needs: "Node.js with npm", build: "npm install\nnpm run build",
			files: []file{
				{"assembly/index.ts", "the plugin"},
				{"assembly/reflectory.ts", "the author's side of the contract"},
				{"assembly/json.ts", "JSON"},
			},
			host: "assembly/reflectory.ts",
		},
		{
			Name: "c", Runtimes: []string{wasm}, title: "C",
			needs: "clang and lld (Debian: `clang lld`), and no libc", build: "make",
			files: []file{
				{"plugin.c", "the plugin"},
				{"reflectory.h", "the author's side of the contract: what a plugin calls, and what it defines"},
				{"reflectory.c", "how that works"},
				{"json.c", "JSON"},
			},
			host: "reflectory.h",
		},
		{
			Name: "go", Runtimes: []string{process, wasm}, title: "Go",
			needs: "Go 1.26", build: "make",
			files: []file{{"main.go", "the plugin"}, {"main_test.go", "the contract and the fixtures, in `go test`"}},
		},
		{
			Name: "python", Runtimes: []string{process}, title: "Python",
			needs:        "Python 3.9 with grpcio and protobuf (Debian: `python3-grpcio python3-protobuf`) among the system's own packages",
			command:      "[python3, main.py]",
			capabilities: "{fs: [system]} # an interpreter and its libraries", grant: "fs:system",
			files: []file{
				{"package/main.py", "the plugin"},
				{"package/reflectory.py", "the author's side of the contract"},
				{"package/plugin_pb2.py", "its messages, made by protoc"},
			},
			example: folder{examples.Python, "python-evaluator"},
		},
		{
			Name: "rust", Runtimes: []string{wasm}, title: "Rust",
			needs: "Rust with the target wasm32-unknown-unknown (`rustup target add wasm32-unknown-unknown`)",
			note:  "No test of Reflectory builds this; it was tried by hand with Rust 1.63 and serde_json 1.0.87.",
			host:  "src/reflectory.rs",
			build: "make",
			files: []file{{"src/lib.rs", "the plugin"}, {"src/reflectory.rs", "the author's side of the contract"}},
		},
		{
			Name: "zig", Runtimes: []string{wasm}, title: "Zig", needs: "Zig 0.12 or later",
			note: "Untested: nobody has built this version of the template. An earlier version, which only judged, was\n" +
				"tried by hand with Zig 0.11, which has `zig build-lib -dynamic` in the place of the Makefile's\n" +
				"`zig build-exe -fno-entry`.",
			host:  "src/reflectory.zig",
			build: "make",
			files: []file{{"src/main.zig", "the plugin"}, {"src/reflectory.zig", "the author's side of the contract"}},
		},
	}
}

// entry is plugin.yaml's entry: what the build makes, or the command.
func (l Language) entry(name, runtime string) string {
	switch {
	case runtime == wasm:
		return "plugin.wasm"
	case l.command != "":
		return l.command
	}
	return name
}

// find returns a language and a runtime for it, the default one if runtime is "".
func find(name, runtime string) (Language, string, error) {
	var names []string
	for _, l := range Languages() {
		names = append(names, l.Name)
		if l.Name != name {
			continue
		}
		if runtime == "" {
			runtime = l.Runtimes[0]
		}
		if !slices.Contains(l.Runtimes, runtime) {
			return l, "", sdk.Errorf(sdk.Invalid, "runtime_unsupported", "there is no template for %s with the runtime %q", l.title, runtime).
				WithHint("choose %s", strings.Join(l.Runtimes, " or "))
		}
		return l, runtime, nil
	}
	return Language{}, "", sdk.Errorf(sdk.Invalid, "language_unsupported", "there is no template for the language %q", name).
		WithHint("choose one of %s", strings.Join(names, ", "))
}
