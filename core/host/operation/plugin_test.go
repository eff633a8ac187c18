package operation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/sdk"
)

// installed is a host with plugins of these names, which aren't started.
func installed(t *testing.T, names ...string) *host.Host {
	t.Helper()
	lock := filepath.Join(t.TempDir(), install.LockFile)
	h := toolsHost(t, nil, "REFLECTORY_LOCK", lock)
	place, err := host.ProjectPlace(h.Config.Settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		source := t.TempDir()
		manifest := fmt.Sprintf("name: %s\nversion: 1.0.0\nkinds: [evaluator]\nentry: judge\n", name)
		err := core.JoinErrors(os.WriteFile(filepath.Join(source, "plugin.yaml"), []byte(manifest), 0o600), os.WriteFile(filepath.Join(source, "judge"), []byte("#!/bin/true\n"), 0o700))
		if err == nil {
			_, err = install.Add(t.Context(), source, install.AddOptions{Place: place, Approve: func(install.Request) error { return nil }})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestPlugins_AreListedAndShown(t *testing.T) {
	c := operation.Call{Host: installed(t, "acme/b", "acme/a", "acme/c")}
	operatorOfPlugins := tokenOf(t, "team/a", core.ScopePlugin)
	var names []string
	for in := (operation.PluginList{Paging: operation.Paging{Limit: 2}}); ; {
		page := called[operation.Page[host.PluginSummary]](t, operatorOfPlugins, c, "plugin_list", &in)
		for _, p := range page.Items {
			names = append(names, p.Name)
		}
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "acme/a acme/b acme/c" {
		t.Errorf("listed %s", got)
	}
	found := called[host.Inspection](t, operatorOfPlugins, c, "plugin_get", &operation.PluginGet{Name: "acme/a"})
	if found.Name != "acme/a" || found.From != host.ProjectLabel || len(found.Files) != 2 || found.Limits.MemoryBytes == 0 || found.Sandbox == nil || found.Module != nil {
		t.Errorf("%+v", found)
	}
	err := refused(t, operatorOfPlugins, c, "plugin_get", &operation.PluginGet{Name: "a"}, "plugin_not_found")
	if hint := core.NewErrorInfo(err).Hint; !strings.Contains(hint, "acme/a") {
		t.Errorf("the hint is %q", hint)
	}
	for name, in := range map[string]any{"plugin_list": &operation.PluginList{}, "plugin_get": &operation.PluginGet{Name: "acme/a"}, "plugin_logs": &operation.PluginLogs{Name: "acme/a"}} {
		refused(t, tokenOf(t, "**", core.ScopeOperate), c, name, in, "scope_denied")
	}
	if _, err := os.Stat(host.StoreDir(c.Host.Config.Settings)); !os.IsNotExist(err) {
		t.Errorf("a store was made to look at plugins: %v", err)
	}
}

func TestPluginLogs_AreOfEveryNamespace(t *testing.T) {
	c := operation.Call{Host: installed(t, "acme/a")}
	if log := called[operation.PluginLog](t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a"}); log.Lines == nil || len(log.Lines) != 0 {
		t.Errorf("%+v", log)
	}
	files := logfile.New(logfile.Options{Dir: host.PluginLogDir(c.Host.Config.Settings)})
	for i := range operation.DefaultLogLines + 1 {
		if err := files.Write(plugin.LogLine{Time: time.Unix(1, 0).UTC(), Level: "info", Plugin: "acme/a", Message: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]int{0: operation.DefaultLogLines, 1: 1, logfile.MaxLines: operation.DefaultLogLines + 1} {
		log := called[operation.PluginLog](t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a", Lines: lines})
		if len(log.Lines) != want || log.Lines[want-1].Message != fmt.Sprint(operation.DefaultLogLines) {
			t.Errorf("asked for %d: %d lines", lines, len(log.Lines))
		}
	}
	end := called[operation.PluginLog](t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a"}).Next
	files = logfile.New(logfile.Options{Dir: host.PluginLogDir(c.Host.Config.Settings)})
	defer files.Close()
	if err := files.Write(plugin.LogLine{Plugin: "acme/a", Level: "info", Message: "later"}); err != nil {
		t.Fatal(err)
	}
	more := called[operation.PluginLog](t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a", After: end})
	if len(more.Lines) != 1 || more.Lines[0].Message != "later" || more.Next == end {
		t.Errorf("%+v", more)
	}
	refused(t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a", After: "nowhere"}, "after_invalid")
	for _, lines := range []int{-1, logfile.MaxLines + 1} {
		refused(t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a", Lines: lines}, "lines_invalid")
	}
	refused(t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "acme/x"}, "plugin_not_found")
	refused(t, operator(t), c, "plugin_logs", &operation.PluginLogs{Name: "../x"}, "plugin_name_invalid")
	// A plugin's log has lines of any namespace's runs, so a caller that reaches only one is
	// refused, in the same way if there is no such plugin.
	one := refused(t, tokenOf(t, "team/a", core.ScopePlugin), c, "plugin_logs", &operation.PluginLogs{Name: "acme/a"}, "namespace_denied")
	other := refused(t, tokenOf(t, "team/a", core.ScopePlugin), c, "plugin_logs", &operation.PluginLogs{Name: "acme/x"}, "namespace_denied")
	if sdk.AsError(one).Error() != sdk.AsError(other).Error() {
		t.Errorf("%v and %v", one, other)
	}
}
