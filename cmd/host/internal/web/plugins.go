package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin"
)

// pluginPages are the pages of installed plugins. Plugins can't be added or removed here:
// that decides which code runs on the host's machine, so only users of the machine may do
// it.
func pluginPages() []page {
	return []page{
		{path: "/plugins", template: "plugins.html", nav: "/plugins", load: loadPlugins},
		{path: "/plugins/{publisher}/{name}", template: "plugin.html", nav: "/plugins", load: loadPlugin},
	}
}

// pluginURL is the address of a plugin's page; the plugin's name is publisher/name.
func pluginURL(name string) string {
	publisher, own, _ := strings.Cut(name, "/")
	return "/plugins/" + url.PathEscape(publisher) + "/" + url.PathEscape(own)
}

// pluginsData is a page of the list of plugins.
type pluginsData struct {
	operation.Page[host.PluginSummary]
	Rows    []pluginRow `json:"-"`
	Ready   int         `json:"-"`
	Running int         `json:"-"`
	Next    string      `json:"-"`
}

// pluginRow is a plugin in the list.
type pluginRow struct {
	*host.PluginSummary
	URL          string
	State, Trust tag
	Grants       []grant
	Latency      *latencyView
}

// grant is something that a plugin may do.
type grant struct {
	Kind, Text string
	// Granted is whether it was granted; otherwise the plugin only asked for it.
	Granted bool
}

func loadPlugins(v *visit) (*content, error) {
	found, err := call[operation.Page[host.PluginSummary]](v, "plugin_list", &operation.PluginList{Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")}})
	if err != nil {
		return nil, err
	}
	d := &pluginsData{Page: *found}
	return &content{Title: "Plugins", Data: d.draw(v)}, nil
}

// draw adds what the page shows of the plugins.
func (d *pluginsData) draw(v *visit) *pluginsData {
	for i := range d.Items {
		p := &d.Items[i]
		d.Rows = append(d.Rows, pluginRow{p, pluginURL(p.Name), pluginState(p), pluginTrust(p), grantsOf(p.Granted, nil), latencyOf(p.Health)})
		if p.Problem == nil {
			d.Ready++
		}
		if p.Health != nil {
			d.Running += p.Health.Instances
		}
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return d
}

// pluginState is whether a plugin can be called.
func pluginState(p *host.PluginSummary) tag {
	switch {
	case p.Problem != nil:
		return tag{Text: "refused", Class: "bad"}
	case p.Health == nil || p.Health.Breaker == plugin.BreakerClosed:
		return tag{Text: "ready", Class: "ok"}
	case p.Health.Breaker == plugin.BreakerOpen:
		return tag{Text: "circuit open", Class: "bad"}
	}
	return tag{Text: "on trial", Class: "warn"}
}

// pluginTrust is the reason why its code may run here.
func pluginTrust(p *host.PluginSummary) tag {
	switch {
	case p.From == "dev":
		return tag{Text: "unlocked: in development", Class: "warn"}
	case p.Signer != "":
		return tag{Text: "signed", Class: "ok"}
	case p.From == host.ShippedLabel:
		return tag{Text: "shipped", Class: "ok"}
	}
	return tag{Text: "locked", Class: "info"}
}

// grantsOf are the granted capabilities, and the capabilities that the plugin asked for
// but didn't get.
func grantsOf(granted, asked []string) (list []grant) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(granted, asked)))) {
		kind, text, _ := strings.Cut(name, ":")
		list = append(list, grant{kind, line(text, 120), slices.Contains(granted, name)})
	}
	return list
}

// pluginData is one plugin.
type pluginData struct {
	*host.Inspection
	Log     *operation.PluginLog `json:"log,omitempty"`
	State   tag                  `json:"-"`
	Trust   tag                  `json:"-"`
	Grants  []grant              `json:"-"`
	Limits  []value              `json:"-"`
	Confine []confined           `json:"-"`
	Pinned  []value              `json:"-"`
	Entries []value              `json:"-"`
	Latency *latencyView         `json:"-"`
	Heat    *chart.Chart         `json:"-"`
}

// confined is a part of what confines a plugin's process.
type confined struct {
	Name, Text string
	On         bool
}

func loadPlugin(v *visit) (*content, error) {
	name := v.PathValue("publisher") + "/" + v.PathValue("name")
	found, err := call[host.Inspection](v, "plugin_get", &operation.PluginGet{Name: name})
	if err != nil {
		return nil, err
	}
	d := pluginDataOf(found)
	if d.Log, err = optional[operation.PluginLog](v, "plugin_logs", &operation.PluginLogs{Name: name, Lines: maxLogLines}); err != nil {
		return nil, err
	}
	return &content{Title: found.Name, Crumbs: []crumb{{"Plugins", "/plugins"}}, Data: d}, nil
}

// maxLogLines is how many of the newest lines of its log are shown.
const maxLogLines = 60

// pluginDataOf is what the page of a plugin shows.
func pluginDataOf(found *host.Inspection) *pluginData {
	d := &pluginData{Inspection: found, State: pluginState(&found.PluginSummary), Trust: pluginTrust(&found.PluginSummary), Grants: grantsOf(found.Granted, nil)}
	if found.Package != nil {
		d.Grants = grantsOf(found.Granted, found.Package.Capabilities.List())
		for _, platform := range slices.Sorted(maps.Keys(found.Package.Entries)) {
			d.Entries = append(d.Entries, value{platform, line(strings.Join(found.Package.Entries[platform], " "), maxValue)})
		}
	}
	if d.Latency = latencyOf(found.Health); d.Latency != nil {
		d.Heat = d.Latency.heat()
	}
	d.limits()
	d.confine()
	for _, file := range slices.Sorted(maps.Keys(found.Files)) {
		d.Pinned = append(d.Pinned, value{line(file, maxValue), found.Files[file]})
	}
	return d
}

// limits adds the limits of each instance.
func (d *pluginData) limits() {
	l := d.Inspection.Limits
	if l == nil {
		return
	}
	d.Limits = []value{
		{"Memory", byteSize(l.MemoryBytes)}, {"A call", l.Timeout}, {"An output", byteSize(int64(l.OutputBytes))}, {"Instances", count(l.Instances)},
	}
	if l.Parallel > 0 {
		d.Limits = append(d.Limits, value{"Calls at a time", count(l.Parallel)})
	}
	if l.Fuel > 0 {
		d.Limits = append(d.Limits, value{"Fuel of a call", count(l.Fuel)})
	}
	if l.Processes > 0 {
		d.Limits = append(d.Limits, value{"Processes", count(l.Processes)})
	}
}

// confine adds what confines its process or its module.
func (d *pluginData) confine() {
	add := func(name, text string, on bool) { d.Confine = append(d.Confine, confined{name, text, on}) }
	if s := d.Sandbox; s != nil {
		version := ""
		if s.Landlock > 0 {
			version = "version " + count(s.Landlock)
		}
		add("Landlock", version, s.Landlock > 0)
		add("System calls are filtered", "seccomp", s.Seccomp)
		add("A user of its own", "", s.User)
		add("No new privileges", "", s.NoNewPrivs)
		add("Resource limits", "", s.Rlimits)
		group := ""
		if s.Cgroup != "" {
			group = "cgroup " + s.Cgroup
		}
		add("Memory in every form", group, s.Cgroup != "")
		add("Tasks are bounded", line(s.Tasks, 60), s.Tasks != "")
	}
	if m := d.Module; m != nil && m.Info != nil {
		add("Memory of its own", "a module reaches nothing of the host’s", true)
		add("Fuel counts what it executes", line(m.Unmetered, 200), m.Metered)
		add("Warm instances are put back", line(m.Unrestorable, 200), m.Restorable)
		add("Equal calls get equal answers", line(m.Impure, 200), m.Pure)
	}
}
