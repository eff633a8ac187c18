package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func pluginCommand(a *App) *cobra.Command {
	return noun("plugin", "Add, look at and check plugins", `Add, look at and check plugins. A plugin is a folder with a plugin.yaml. It runs only as
it was pinned: reflectory.lock holds the SHA-256 of each of its files, and its grants.
The lock is next to the nearest reflectory.yaml in this folder or above; without one, it
is in the data folder. The shipped plugins have a lock of their own, next to the
program; if both pin the same plugin, your own lock is used.`,
		pluginListCommand(a), pluginDescribeCommand(a.out), pluginAddCommand(a), pluginRemoveCommand(a), pluginPruneCommand(a),
		pluginInspectCommand(a), pluginVerifyCommand(a), pluginLogsCommand(a), pluginPushCommand(a), pluginSignCommand(a.out), pluginPackCommand(a.out),
		pluginNewCommand(a.out), pluginTestCommand(a),
	)
}

func pluginListCommand(a *App) *cobra.Command {
	in := &operation.PluginList{}
	return verb[operation.Page[host.PluginSummary]]{
		Use: "list", Short: "List the installed plugins",
		Example:   "  reflectory plugin list",
		Operation: "plugin_list", In: in, Paging: &in.Paging,
		Print: table("no plugin is installed; add one from its folder: reflectory plugin add PATH",
			[]string{"PLUGIN", "VERSION", "KINDS", "FROM", "STATE", "GRANTED"}, pluginRow),
	}.command(a)
}

func pluginPushCommand(a *App) *cobra.Command {
	return verb[host.PluginsPushed]{
		Use: "push", Short: "Tell all hosts that share a database which packages they should have",
		Long: `Tell all hosts that share a database (--store) which packages they should have: the
packages that the lock here pins. A host that lacks one is shown by hosts list, and
takes no runs that need it. The packages themselves aren't sent: add them on each host.
Plugins that come with the program aren't included.`,
		Example:   "  reflectory plugin push",
		Operation: "plugin_push", In: &operation.PluginPush{},
		Print: func(out *output, pushed *host.PluginsPushed) error {
			word := "all hosts should have %s: epoch %d, %s\n"
			if pushed.Unchanged {
				word = "all hosts should have %s already: epoch %d, %s\n"
			}
			fmt.Fprintf(out.Stdout, word, plural(len(pushed.Plugins), "package", "packages"), pushed.Epoch, pushed.Digest)
			return nil
		},
	}.command(a)
}

func pluginRow(p host.PluginSummary) []string {
	state := "ready"
	if p.Problem != nil {
		state = p.Problem.Code
	}
	return []string{p.Name, p.Version, joinKinds(p.Kinds), p.From, state, orNothing(p.Granted)}
}

func joinKinds(kinds []sdk.Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}

// orNothing lists capabilities for people.
func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func pluginVerifyCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Compare plugins with their lock, byte by byte",
		Long: `Compare every file of the installed plugins, or of those named, with what the
lock pins, and check signatures and grants. Exit codes: 0 all are as pinned, 3 some
are not, 1 the check failed.`,
		Example: "  reflectory plugin verify\n  reflectory plugin verify --json",
		RunE: func(c *cobra.Command, args []string) error {
			set, err := a.openSet()
			if err != nil {
				return err
			}
			plugins, err := choosePlugins(set, args)
			if err != nil {
				return err
			}
			return verifyPlugins(c.Context(), a.out, plugins)
		},
	}
}

// choosePlugins returns the named plugins, or all that are locked.
func choosePlugins(set *install.Set, names []string) ([]*install.Plugin, error) {
	var chosen []*install.Plugin
	for _, name := range names {
		p := set.Find(name)
		if p == nil {
			return nil, host.PluginNotFound(set, name)
		}
		chosen = append(chosen, p)
	}
	for _, p := range set.Plugins() {
		if len(names) == 0 && !p.Dev() {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// verifiedPlugin is the result of verifying a plugin.
type verifiedPlugin struct {
	Name        string               `json:"name"`
	Version     string               `json:"version"`
	OK          bool                 `json:"ok"`
	Files       int                  `json:"files"`
	Problem     *core.ErrorInfo      `json:"problem,omitempty"`
	Differences []install.Difference `json:"differences,omitempty"`
}

func verifyPlugins(ctx context.Context, out *output, plugins []*install.Plugin) error {
	results, all := make([]verifiedPlugin, len(plugins)), true
	for i, p := range plugins {
		v := verifiedPlugin{Name: p.Name, Version: p.Version}
		err := p.Problem
		if p.Dev() {
			err = sdk.Errorf(sdk.NotFound, "not_locked", "plugin %s is in development: no lock pins it", p.Name).
				WithHint("pin it: reflectory plugin add %s", p.Folder)
		} else {
			v.Files = len(p.Locked.Files)
			differences, failure := p.Verify(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.Differences = differences
			if err == nil {
				err = failure
			}
			if err == nil && len(differences) > 0 {
				err = p.Changed(differences)
			}
		}
		if v.OK = err == nil; err != nil {
			v.Problem, all = core.NewErrorInfo(err), false
		}
		results[i] = v
	}
	return printVerified(out, results, all)
}

func printVerified(out *output, results []verifiedPlugin, all bool) error {
	if out.json {
		return exitNotValidUnless(all, out.printJSON(map[string]any{"ok": all, "plugins": results}))
	}
	for _, v := range results {
		if v.OK {
			fmt.Fprintf(out.Stdout, "ok      %s %s (%s)\n", v.Name, v.Version, plural(v.Files, "file", "files"))
			continue
		}
		fmt.Fprintf(out.Stdout, "FAILED  %s %s: %s\n", v.Name, v.Version, term.Lines(v.Problem.Message))
		if hint := out.hint(v.Problem); hint != "" {
			fmt.Fprintf(out.Stdout, "        hint: %s\n", term.Clean(hint))
		}
	}
	return exitNotValidUnless(all, nil)
}
