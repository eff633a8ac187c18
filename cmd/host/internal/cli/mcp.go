package cli

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/mcpserver"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func mcpCommand(a *App) *cobra.Command {
	var profile string
	c := &cobra.Command{
		Use: "mcp", Short: "Serve an agent over MCP, on standard input and output",
		Long: `Speak the Model Context Protocol on standard input and output, for an agent's program
that starts this one. If a server has the store of the data folder open, calls go to
that server. Otherwise this program opens the store and is the server until it ends: it
serves other commands, a second mcp included, works on jobs, and continues the runs that
an earlier server left. When it ends, another mcp takes over. On a database that servers
share (--store), jobs and runs are left to the servers.

Every listed tool takes room in the agent's context. The profile agent has the tools for
remembering; loop adds discovery, workflows, and judging and correcting outputs; all
adds prompt snapshots, links, housekeeping, the gate with its evidence, and approvals.

Over HTTP the same tools are at /mcp of reflectory serve, and with another profile at,
for example, /mcp?profile=all.

A line that isn't a message is answered with an error, and the session goes on. When the
input ends, or on SIGTERM, what was read is done and answered first, for up to 22 s.`,
		Example: "  reflectory mcp\n  reflectory mcp --profile loop --agent my-editor",
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := mcpserver.ParseProfile(profile)
			if err != nil {
				return usageError{sdk.Wrap("--profile", err)}
			}
			return a.mcp(c.Context(), p)
		},
	}
	c.Flags().StringVar(&profile, "profile", string(mcpserver.Agent), "which tools are listed: agent, loop, all")
	return c
}

// mcp serves one client until its input or the context ends.
func (a *App) mcp(ctx context.Context, profile mcpserver.Profile) (err error) {
	if err := a.config.MakeDataDir(); err != nil {
		return err
	}
	k := &keeper{app: a}
	defer func() { err = core.JoinErrors(err, k.close()) }()
	if _, err := k.client(ctx); err != nil {
		return err
	}
	server, err := mcpserver.New(mcpserver.Config{Client: k, Requests: httpapi.Requests{}, Version: version})
	if err != nil {
		return err
	}
	return server.ServeStdio(ctx, profile, inputOf(a.Stdin), a.Stdout)
}

// inputOf is the program's input, with a Close that does nothing if the input can't be
// closed.
func inputOf(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// keeper calls operations on the server that has the store. If there is none, it opens the
// store and becomes that server. It looks for a server at each call, since a server may end
// at any time, and looking takes less than a tenth of a millisecond.
type keeper struct {
	app *App

	mu     sync.Mutex
	server *httpapi.Server // nil if another program has the store
	work   *workers        // on the jobs of the store, if this program has it
	remote *client.Remote
}

var _ client.Client = (*keeper)(nil)

// Call implements [client.Client]. If a server ended before it had done a call, the call is
// made again, provided that a second call changes nothing more.
func (k *keeper) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	to, err := k.client(ctx)
	if err != nil {
		return nil, err
	}
	out, err := to.Call(ctx, c, name, in)
	if sdk.ReasonOf(err) != "server_lost" {
		return out, err
	}
	if o, unknown := operation.Find(name); unknown != nil || !o.ReadOnly {
		return out, err
	}
	if to, err = k.client(ctx); err != nil {
		return nil, err
	}
	return to.Call(ctx, c, name, in)
}

// client is the client for the next call.
func (k *keeper) client(ctx context.Context) (client.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server != nil {
		return client.Local{Open: k.app.openHost}, nil
	}
	dir := k.app.config.DataDir.Value
	there, err := client.Serves(ctx, dir)
	if err == nil && !there {
		if err = k.serve(ctx); err == nil {
			return client.Local{Open: k.app.openHost}, nil
		}
		var serves error
		if there, serves = client.Serves(ctx, dir); there { // another program was faster
			err = serves
		}
	}
	if err != nil {
		return nil, err
	}
	if k.remote == nil {
		k.remote = client.NewRemote(dir, serverVersion())
	}
	return k.remote, nil
}

// serve opens the store, works on its jobs, continues the runs that an earlier server left, and
// listens on the socket, as a server without TCP. If servers share the store, its jobs and runs
// are left to them.
func (k *keeper) serve(ctx context.Context) (err error) {
	a := k.app
	// This isn't the call's context, since the host outlives the call.
	h, err := a.openHost(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	a.serving = &host.Server{} // on the socket only
	var server *httpapi.Server
	work := &workers{}
	defer func() {
		if err == nil {
			return
		}
		if server != nil {
			err = errors.Join(err, server.Stop())
		}
		err = errors.Join(err, work.stop())
		a.serving = nil
		err = errors.Join(err, a.closeHost())
	}()
	api, err := httpapi.New(httpapi.Config{Host: h, Version: serverVersion(), Log: a.requestLog()})
	if err != nil {
		return err
	}
	if work, err = newCommandWorkers(h); err != nil {
		return err
	}
	if err := work.begin(context.WithoutCancel(ctx), api, nil); err != nil {
		return err
	}
	server = httpapi.NewServer(context.Background(), api)
	socket, err := httpapi.ListenSocket(a.config.DataDir.Value)
	if err != nil {
		return err
	}
	server.ServeSocket(socket)
	k.server, k.work = server, work
	return nil
}

// close ends the server, if this is one. The host is closed with the command.
func (k *keeper) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.server != nil {
		err = core.JoinErrors(k.server.Stop(), k.work.stop()) // in this order: a request may queue a job
	}
	if k.remote != nil {
		err = core.JoinErrors(err, k.remote.Close())
	}
	return err
}
