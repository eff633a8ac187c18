package operation

import (
	"cmp"
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/sdk"
)

// plugins are the operations on installed plugins. Only users of the host's machine can add,
// remove, sign and try plugins, because that decides which code runs on it.
func plugins() []Operation {
	return []Operation{
		define(Operation{
			Name: "plugin_list", main: true, Method: "GET", Path: "/v1/plugins", Scope: core.ScopePlugin, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "List the installed plugins, by name.",
		}, onHost[PluginList], pluginList),
		define(Operation{
			Name: "plugin_get", main: true, Method: "GET", Path: "/v1/plugins/{name}", Scope: core.ScopePlugin, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Show everything that is known about a plugin, without running it.",
		}, onHost[PluginGet], pluginGet),
		define(Operation{
			Name: "plugin_logs", main: true, Method: "GET", Path: "/v1/plugins/{name}/logs", Scope: core.ScopePlugin, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Show the newest lines that a plugin has logged, in runs of every namespace, or the lines after a place.",
		}, inAll[PluginLogs], pluginLogs),
		define(Operation{
			Name: "plugin_push", main: true, Method: "PUT", Path: "/v1/plugins", Scope: core.ScopePlugin, Idempotent: true,
			Doc: "Tell all hosts that share the store which packages they should have: the packages of this host's lock.",
		}, everywhere[PluginPush], func(ctx context.Context, c *Call, _ *PluginPush) (*host.PluginsPushed, error) {
			return c.Host.Copies.PushPlugins(ctx)
		}),
	}
}

// withSet calls do with the installed plugins. They are read each time, because they may
// change while a host works.
func (c *Call) withSet(do func(*install.Set) error) (err error) {
	set, err := host.OpenSet(c.Host.Config.Settings, c.Host.Config.Notices)
	if err != nil {
		return err
	}
	defer func() { err = core.JoinErrors(err, set.Close()) }()
	return do(set)
}

// PluginPush asks to push the host's lock.
type PluginPush struct{}

// PluginList asks for all installed plugins.
type PluginList struct {
	Paging
}

func pluginList(ctx context.Context, c *Call, in *PluginList) (page *Page[host.PluginSummary], err error) {
	after, limit, err := in.open(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	err = c.withSet(func(set *install.Set) error {
		installed := slices.DeleteFunc(set.Plugins(), func(p *install.Plugin) bool { return p.Name <= after })
		next := ""
		if len(installed) > limit {
			installed, next = installed[:limit], installed[limit-1].Name
		}
		list, health := make([]host.PluginSummary, len(installed)), c.Host.Databases.PluginHealth()
		for i, p := range installed {
			list[i] = host.Summarize(p)
			list[i].Health = health[p.Name]
		}
		page, err = pageOf(ctx, c, list, next, nil)
		return err
	})
	return page, err
}

// PluginGet names a plugin, as publisher/name.
type PluginGet struct {
	Name string `json:"name"`
}

func pluginGet(ctx context.Context, c *Call, in *PluginGet) (found *host.Inspection, err error) {
	err = c.withSet(func(set *install.Set) error {
		p := set.Find(in.Name)
		if p == nil {
			return host.PluginNotFound(set, in.Name)
		}
		found = host.Inspect(ctx, c.Host.Config.Settings, c.Host.Config.Getenv, p)
		found.Health = c.Host.Databases.PluginHealth()[p.Name]
		return nil
	})
	return found, err
}

// DefaultLogLines is how many lines of a log are shown by default: about a screen.
const DefaultLogLines = 50

// PluginLogs names the plugin, as publisher/name, whose log is requested. A plugin that
// was removed may still have a log.
type PluginLogs struct {
	Name string `json:"name"`
	// Lines is how many lines at most, from 1 to [logfile.MaxLines]; 0 means
	// [DefaultLogLines].
	Lines int `json:"lines,omitempty"`
	// After is the Next of an earlier answer: the answer then has the first lines after that
	// place, or, if these are no longer kept, the oldest lines that are kept. In this way a log
	// can be followed.
	After string `json:"after,omitempty"`
}

// PluginLog is the end of a plugin's log, or the lines after a place in the log, the newest
// line last.
type PluginLog struct {
	Plugin string           `json:"plugin"`
	Lines  []plugin.LogLine `json:"lines"`
	// Next is the place after the last line.
	Next string `json:"next"`
}

func (in *PluginLogs) check() error {
	var lines, after error
	if in.Lines < 0 || in.Lines > logfile.MaxLines {
		lines = sdk.Errorf(sdk.Invalid, "lines_invalid", "lines is %d, not from 1 to %d", in.Lines, logfile.MaxLines).WithDetail("field", "lines")
	}
	if in.After != "" {
		_, after = logfile.ParsePosition(in.After)
	}
	return core.JoinErrors(lines, inField("after", after))
}

func pluginLogs(_ context.Context, c *Call, in *PluginLogs) (*PluginLog, error) {
	lines := cmp.Or(in.Lines, DefaultLogLines)
	dir := host.PluginLogDir(c.Host.Config.Settings)
	if in.After != "" {
		from, err := logfile.ParsePosition(in.After)
		if err != nil {
			return nil, err
		}
		list, next, err := logfile.After(dir, in.Name, from, lines)
		if err != nil {
			return nil, err
		}
		return &PluginLog{in.Name, orEmpty(list), next.String()}, nil
	}
	tail, next, err := logfile.Tail(dir, in.Name, lines)
	if sdk.ReasonOf(err) == "log_not_found" {
		// If the set can't be opened, nothing is known about the name.
		missing := c.withSet(func(set *install.Set) error {
			if set.Find(in.Name) == nil {
				return host.PluginNotFound(set, in.Name)
			}
			return nil
		})
		if err = nil; sdk.ReasonOf(missing) == "plugin_not_found" {
			err = missing
		}
	}
	if err != nil {
		return nil, err
	}
	return &PluginLog{in.Name, orEmpty(tail), next.String()}, nil
}
