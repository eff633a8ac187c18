package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func (a *App) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "plugin", Short: "Add, look at and check plugins",
		Long: `Add, look at and check plugins. A plugin is a folder with a plugin.yaml. It runs
only as it was pinned: reflectory.lock holds the SHA-256 of each of its files, and
what it was granted. The lock lies beside the nearest reflectory.yaml upwards;
without one, in the data folder. The shipped plugins have a lock of their own,
beside the program; the first counts where both pin a name.`,
		RunE: needsCommand,
	}
	c.AddCommand(a.pluginListCommand(), a.pluginAddCommand(), a.pluginRemoveCommand(), a.pluginPruneCommand(),
		a.pluginInspectCommand(), a.pluginVerifyCommand(), a.pluginLogsCommand(), a.pluginSignCommand(),
		a.pluginNewCommand(), a.pluginTestCommand())
	return c
}

// pluginSummary is a plugin in a listing.
type pluginSummary struct {
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Kinds       []sdk.Kind `json:"kinds,omitempty"`
	Runtime     string     `json:"runtime,omitempty"`
	Description string     `json:"description,omitempty"`
	// From is whose lock pins it: project or shipped; dev is unlocked.
	From    string   `json:"from"`
	Lock    string   `json:"lock,omitempty"`
	Folder  string   `json:"folder"`
	Granted []string `json:"granted"`
	// Problem is why it can't run.
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

func summarize(p *install.Plugin) pluginSummary {
	s := pluginSummary{Name: p.Name, Version: p.Version, From: p.Place.Label, Lock: p.Place.Lock, Folder: p.Folder, Granted: []string{}}
	if p.Package != nil {
		s.Kinds, s.Runtime, s.Description = p.Package.Kinds, string(p.Package.Runtime), p.Package.Description
		s.Granted = append(s.Granted, p.Package.Capabilities.List()...)
	}
	if p.Locked != nil {
		s.Granted = append([]string{}, p.Locked.Granted.List()...)
	}
	s.Problem = core.NewErrorInfo(p.Problem)
	return s
}

func (a *App) pluginListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the installed plugins",
		Example: "  reflectory plugin list",
		RunE: func(*cobra.Command, []string) error {
			set, err := a.openSet()
			if err != nil {
				return err
			}
			return a.listPlugins(set.Plugins())
		},
	}
}

func (a *App) listPlugins(plugins []*install.Plugin) error {
	list := make([]pluginSummary, len(plugins))
	rows := make([][]string, len(plugins))
	for i, p := range plugins {
		list[i] = summarize(p)
		state := "ready"
		if p.Problem != nil {
			state = sdk.ReasonOf(p.Problem)
		}
		rows[i] = []string{p.Name, p.Version, joinKinds(list[i].Kinds), list[i].From, state, orNothing(list[i].Granted)}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"plugins": list})
	}
	if len(rows) == 0 {
		a.term.Line("no plugin is installed; add one from its folder: reflectory plugin add PATH")
		return nil
	}
	return a.table([]string{"PLUGIN", "VERSION", "KINDS", "FROM", "STATE", "GRANTED"}, rows)
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

func (a *App) pluginVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Compare plugins with their lock, byte by byte",
		Long: `Compare every file of the installed plugins, or of those named, with what the
lock pins, and check signatures and grants. Exit codes: 0 all are as pinned, 3 some
are not, 1 it couldn't be told.`,
		Example: "  reflectory plugin verify\n  reflectory plugin verify --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			set, err := a.openSet()
			if err != nil {
				return err
			}
			plugins, err := choosePlugins(set, args)
			if err != nil {
				return err
			}
			return a.verifyPlugins(c.Context(), plugins)
		},
	}
}

// choosePlugins returns the plugins named, or all that are locked.
func choosePlugins(set *install.Set, names []string) ([]*install.Plugin, error) {
	var chosen []*install.Plugin
	for _, name := range names {
		p := set.Find(name)
		if p == nil {
			return nil, pluginNotInstalled(set, name)
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

func pluginNotInstalled(set *install.Set, name string) error {
	var names []string
	otherwise := "see what is installed: reflectory plugin list"
	for _, p := range set.Plugins() {
		names = append(names, p.Name)
		if strings.HasSuffix(p.Name, "/"+name) {
			otherwise = fmt.Sprintf("write its publisher too: %s", p.Name)
		}
	}
	return sdk.Errorf(sdk.NotFound, "plugin_not_found", "there is no plugin %q", name).
		WithHint("%s", sdk.DidYouMean(name, names, otherwise))
}

// verifiedPlugin is what became of a plugin's verification.
type verifiedPlugin struct {
	Name        string               `json:"name"`
	Version     string               `json:"version"`
	OK          bool                 `json:"ok"`
	Files       int                  `json:"files"`
	Problem     *core.ErrorInfo      `json:"problem,omitempty"`
	Differences []install.Difference `json:"differences,omitempty"`
}

func (a *App) verifyPlugins(ctx context.Context, plugins []*install.Plugin) error {
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
	return a.printVerified(results, all)
}

func (a *App) printVerified(results []verifiedPlugin, all bool) error {
	if a.flags.json {
		return exitNotValidUnless(all, a.printJSON(map[string]any{"ok": all, "plugins": results}))
	}
	for _, v := range results {
		if v.OK {
			fmt.Fprintf(a.Stdout, "ok      %s %s (%d files)\n", v.Name, v.Version, v.Files)
			continue
		}
		fmt.Fprintf(a.Stdout, "FAILED  %s %s: %s\n", v.Name, v.Version, term.Lines(v.Problem.Message))
		if v.Problem.Hint != "" {
			fmt.Fprintf(a.Stdout, "        hint: %s\n", term.Clean(v.Problem.Hint))
		}
	}
	return exitNotValidUnless(all, nil)
}
