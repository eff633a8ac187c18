package cli

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
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
		if p.Name != name || p.Version != m.Version || !slices.Equal(p.Kinds, m.Kinds) || !slices.Equal(p.Capabilities.List(), m.Capabilities) {
			t.Errorf("%s: plugin.yaml says %+v, the plugin %+v", name, p, m)
		}
	}
	if shipped != 5 {
		t.Errorf("%d plugins are shipped", shipped)
	}
}

func TestAPluginIsGivenWhatItWasGrantedAndNoMore(t *testing.T) {
	env := map[string]string{"A": "1", "KEY": "secret", "EMPTY": "", "OTHER": "x"}
	settings, err := config.Load(config.Sources{Folder: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"REFLECTORY_LLM_ENDPOINTS": "llm.example.org:1", "HOME": "/"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []plugin.Installed
	for _, p := range host.Granted(settings, []plugin.Installed{
		{Name: "acme/a", Granted: plugin.Capabilities{Env: []string{"A", "EMPTY"}}},
		{Name: "acme/b", Granted: plugin.Capabilities{Env: []string{"A"}, Network: []string{"b.org:1"}}},
		{Name: workflow.LLMPlugin},
	}, func(name string) string { return env[name] }) {
		got = append(got, plugin.Installed{Name: p.Name, Env: p.Env, Granted: plugin.Capabilities{Network: p.Granted.Network}})
	}
	want := []plugin.Installed{
		{Name: "acme/a", Env: []string{"A=1"}},
		{Name: "acme/b", Env: []string{"A=1"}, Granted: plugin.Capabilities{Network: []string{"b.org:1"}}},
		{Name: workflow.LLMPlugin, Granted: plugin.Capabilities{Network: settings.Endpoints()}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAScopeBringsTheKeysThatConfigsName(t *testing.T) {
	w := newWorld(t)
	w.env["A"], w.env["KEY"] = "1", "secret"
	h := w.openHost()
	scope, err := h.Plugins.Scope(t.Context(), host.Need{Uses: []workflow.PluginUse{
		{Plugin: workflow.LLMPlugin, EnvNames: []string{"KEY"}}, {Plugin: "acme/b", EnvNames: []string{"A"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{workflow.LLMPlugin: {"KEY=secret"}, "acme/b": {"A=1"}}, scope.Env); diff != "" {
		t.Error(diff)
	}
	if _, err := h.Plugins.Scope(t.Context(), host.Need{Uses: []workflow.PluginUse{{Plugin: "acme/b", EnvNames: []string{"EMPTY"}}}}); sdk.ReasonOf(err) != "secret_missing" {
		t.Errorf("a variable that isn't set: %v", err)
	}
}
