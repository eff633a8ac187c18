package cli

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
)

// A plugin whose plugin.yaml and program disagree doesn't start.
func TestTheShippedPackagesSayWhatTheirPluginsSay(t *testing.T) {
	shipped := 0
	for name, describe := range plugins {
		if !strings.HasPrefix(name, "reflectory/") {
			continue
		}
		shipped++
		p, err := install.ReadPackage("../../../../plugins/" + path.Base(name))
		if err != nil {
			t.Error(err)
			continue
		}
		plugin := describe()
		m := plugin.Describe()
		if p.Name != name || p.Version != m.Version || !slices.Equal(p.Kinds, m.Kinds) || len(m.Capabilities) > 0 {
			t.Errorf("%s: plugin.yaml says %+v, the plugin %+v", name, p, m)
		}
	}
	if shipped != 3 {
		t.Errorf("%d plugins are shipped", shipped)
	}
}

func TestAPluginIsGivenWhatItWasGrantedAndNoMore(t *testing.T) {
	env := map[string]string{"A": "1", "KEY": "secret", "EMPTY": "", "OTHER": "x", "REFLECTORY_LLM_ENDPOINTS": "llm.example.org:1"}
	a := &App{Getenv: func(name string) string { return env[name] }, folder: t.TempDir()}
	if err := a.loadConfig(); err != nil {
		t.Fatal(err)
	}
	uses := []workflow.PluginUse{
		{Plugin: workflow.LLMPlugin, EnvNames: []string{"KEY"}}, {Plugin: "acme/b", EnvNames: []string{"EMPTY", "A"}},
	}
	var got []plugin.Installed
	for _, p := range a.granted([]plugin.Installed{
		{Name: "acme/a", Granted: plugin.Capabilities{Env: []string{"A", "EMPTY"}}},
		{Name: "acme/b", Granted: plugin.Capabilities{Env: []string{"A"}, Network: []string{"b.org:1"}}},
		{Name: workflow.LLMPlugin},
	}, uses) {
		got = append(got, plugin.Installed{Name: p.Name, Env: p.Env, Granted: plugin.Capabilities{Network: p.Granted.Network}})
	}
	want := []plugin.Installed{
		{Name: "acme/a", Env: []string{"A=1"}},
		{Name: "acme/b", Env: []string{"A=1"}, Granted: plugin.Capabilities{Network: []string{"b.org:1"}}},
		{Name: workflow.LLMPlugin, Env: []string{"KEY=secret"}, Granted: plugin.Capabilities{Network: []string{
			"api.openai.com:443", "localhost:11434", "127.0.0.1:11434", "[::1]:11434", "llm.example.org:1",
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
