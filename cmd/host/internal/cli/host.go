package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// openHost opens the host, once for a command.
func (a *App) openHost(ctx context.Context) (*host.Host, error) {
	if a.host != nil {
		return a.host, nil
	}
	if a.remote() {
		return nil, a.localOnly("this")
	}
	c := a.Base
	c.Version, c.Settings, c.Getenv = cmp.Or(c.Version, version), a.config, a.Getenv
	if a.serving != nil {
		c.Server = a.serving
	}
	c.Notices, c.Activity, c.PluginLogs, c.Subscribers = a.notice, a.activity, a.pluginLog, a.subscribers()
	c.GateJobs = c.GateJobs || a.serving != nil // the server's pool does them
	a.observe(ctx, &c)
	h, err := host.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	a.host = h
	return h, nil
}

// do calls an operation for a command, whose progress it shows.
func do[Out any](ctx context.Context, a *App, name string, in any) (*Out, error) {
	return doCall[Out](ctx, a, operation.Call{}, name, in)
}

// doCall is do with the other parts of a call, such as a file.
func doCall[Out any](ctx context.Context, a *App, call operation.Call, name string, in any) (*Out, error) {
	if call.Progress == nil {
		call.Progress = a.progress
	}
	defer a.out.term.Clear()
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	call.Local = true // a server sets this itself, by how the request arrived
	return client.Do[Out](ctx, c, call, name, in)
}

// progress shows the progress of an operation.
func (a *App) progress(p operation.Progress) {
	if text := workTexts()[p.Doing]; text != "" {
		a.out.term.Doing("%s …", text)
	}
	if p.Done > 0 || p.Total > 0 {
		a.out.term.Step(p.Done, p.Total, units()[p.What])
	}
}

// closeHost closes the host, if the command opened it.
func (a *App) closeHost() error {
	if a.server != nil {
		return a.server.Close()
	}
	defer a.closeTracer() // once all work has ended
	if a.host == nil {
		return nil
	}
	defer func() { a.host = nil }()
	return a.host.Close()
}

// notice shows a notice of the host.
func (a *App) notice(n host.Notice) {
	if n.Level == "info" {
		a.out.term.Line("%s", term.Lines(n.Message))
		return
	}
	a.out.term.Line("%s: %s", n.Level, term.Lines(n.Message))
	if hint := hintLine(a.out.commands, n.Hint, n.Try); hint != "" {
		a.out.term.Line("hint: %s", term.Clean(hint))
	}
}

// activity shows what the host waits for.
func (a *App) activity(what host.Activity) {
	if a.serving != nil {
		return // many calls wait at once, for different things
	}
	switch what {
	case host.OpeningStore:
		a.opening()
	case host.StartingPlugins:
		a.out.term.Meanwhile("starting the plugins")
	case host.CallingPlugins:
		a.out.term.Meanwhile("waiting for the plugins")
	default:
		a.out.term.Resume()
	}
}

// subscribers receive events: the terminal does, from --log-level info on.
func (a *App) subscribers() []journal.Subscriber {
	if !a.shows("info") {
		return nil
	}
	return []journal.Subscriber{journal.LogTo(func(event string, args ...any) {
		line := "info: " + event
		for i := 0; i+1 < len(args); i += 2 {
			line += fmt.Sprintf(" %v=%v", args[i], args[i+1])
		}
		a.out.term.Note("%s", term.Cut(line, 600))
	})}
}

// namespaceFlag adds the flag for the namespace of a command.
func namespaceFlag(c *cobra.Command, namespace *string) {
	c.Flags().StringVar(namespace, "namespace", "", "the namespace, such as team/project, which policies depend on (default \"default\")")
}

// noteNewStore warns that there is no store yet, in commands that have nothing to do in
// a new store: the folder may be misspelt.
func (a *App) noteNewStore() {
	if a.remote() || a.config.Shared() {
		return
	}
	if presence, err := pebble.Look(host.StoreDir(a.config)); err == nil && !presence.Exists { // opening the store reports errors
		a.out.term.Line("warn: there was no store in %s: this one is new and empty", term.Clean(host.StoreDir(a.config)))
	}
}
