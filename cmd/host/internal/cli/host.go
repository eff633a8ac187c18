package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// openHost opens the host, once for a command.
func (a *App) openHost(ctx context.Context) (*host.Host, error) {
	if a.host != nil {
		return a.host, nil
	}
	c := a.base
	c.Settings, c.Getenv, c.Notices, c.PluginLogs, c.Subscribers = a.config, a.Getenv, a.notice, a.pluginLog, a.subscribers()
	c.Activity = a.activity
	h, err := host.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	a.host = h
	return h, nil
}

// do calls an operation for a command, whose progress it shows.
func do[Out any](ctx context.Context, a *App, name string, in any) (*Out, error) {
	return client.Do[Out](ctx, client.Local{Open: a.openHost}, operation.Call{Progress: a.progress}, name, in)
}

// progress shows how far an operation is.
func (a *App) progress(p operation.Progress) {
	a.term.Step(p.Done, p.Total, units()[p.What])
}

// closeHost closes the host, if the command opened it.
func (a *App) closeHost() error {
	if a.host == nil {
		return nil
	}
	defer func() { a.host = nil }()
	return a.host.Close()
}

// notice shows what no call returns.
func (a *App) notice(n host.Notice) {
	if n.Level == "info" {
		a.term.Line("%s", term.Lines(n.Message))
		return
	}
	a.term.Line("%s: %s", n.Level, term.Lines(n.Message))
	if n.Hint != "" {
		a.term.Line("hint: %s", term.Clean(n.Hint))
	}
}

// activity shows what the host waits for.
func (a *App) activity(what host.Activity) {
	switch what {
	case host.OpeningStore:
		a.opening()
	case host.StartingPlugins:
		a.term.Meanwhile("starting the plugins")
	case host.CallingPlugins:
		a.term.Meanwhile("waiting for the plugins")
	default:
		a.term.Resume()
	}
}

// subscribers hear of events: the terminal, from --log-level info on.
func (a *App) subscribers() []journal.Subscriber {
	if !a.shows("info") {
		return nil
	}
	return []journal.Subscriber{journal.LogTo(func(event string, args ...any) {
		line := "info: " + event
		for i := 0; i+1 < len(args); i += 2 {
			line += fmt.Sprintf(" %v=%v", args[i], args[i+1])
		}
		a.term.Note("%s", term.Cut(line, 600))
	})}
}

// namespaceFlag adds the flag that says where a command's work is.
func (a *App) namespaceFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.namespace, "namespace", "", "where this is done, such as team/project: policies decide by it (default \"default\")")
}

// withHost runs a command on the host.
func (a *App) withHost(fn func(ctx context.Context, h *host.Host, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		h, err := a.openHost(c.Context())
		if err != nil {
			return err
		}
		return fn(c.Context(), h, args)
	}
}

// onStoreThere is withHost for commands that are of no use on a new store, and says so
// where it is one: the folder may be misspelt.
func (a *App) onStoreThere(fn func(ctx context.Context, h *host.Host, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if presence, err := pebble.Look(host.StoreDir(a.config)); err == nil && !presence.Exists { // what is wrong, the open reports
			a.term.Line("warn: there was no store in %s: this one is new and empty", term.Clean(host.StoreDir(a.config)))
		}
		return a.withHost(fn)(c, args)
	}
}

// memoryHost is the governed memory, for one command.
type memoryHost struct {
	*memory.Memories
	evidence *gate.Recorder
	store    core.Store
}

// withMemory runs a part of a command on the memory.
func (a *App) withMemory(ctx context.Context, fn func(*memoryHost) error) error {
	h, err := a.openHost(ctx)
	if err != nil {
		return err
	}
	return fn(&memoryHost{h.Memories, h.Evidence, h.Store})
}

// onMemory runs a command on the memory.
func (a *App) onMemory(fn func(ctx context.Context, m *memoryHost, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return a.withMemory(c.Context(), func(m *memoryHost) error { return fn(c.Context(), m, args) })
	}
}

// withRuns runs a part of a command on the stored runs.
func (a *App) withRuns(ctx context.Context, fn func(*store.Runs) error) error {
	h, err := a.openHost(ctx)
	if err != nil {
		return err
	}
	return fn(h.Runs)
}
