package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk/process"
)

// plugins are the shipped plugins, served by this test binary under their own
// names, so that no build step is needed.
var plugins = map[string]func(){
	"schema-eval": func() { process.Main(schemaeval.Plugin()) },
	"llm-eval":    func() { process.Main(llmeval.Plugin(llmeval.Options{})) },
	"lua-eval":    func() { process.Main(luaeval.Plugin()) },
	"tally":       func() { process.Main(tally()) },
	"chatty":      func() { process.Main(chatty()) },
}

func TestMain(m *testing.M) {
	commands := map[string]func(){"reflectory": main}
	for name, serve := range plugins {
		commands[name] = serve
	}
	for name, serve := range hostiles {
		commands[name] = serve
	}
	testscript.Main(m, commands)
}

// installPlugins makes a plugin folder whose plugins are this test binary.
func installPlugins(t *testing.T, dir string) {
	t.Helper()
	for name := range plugins {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		linkSelf(t, filepath.Join(dir, name, name))
	}
}

// linkSelf puts this test binary at a path. Which program it is follows from
// the name that it is started by.
func linkSelf(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	if err := os.Symlink(self, path); err != nil { // another file system
		t.Fatal(err)
	}
}
