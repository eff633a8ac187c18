package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/term"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
)

// App is the program: its environment, and the parts that a command needs. End-to-end
// tests build the same App.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Base has the host settings that samples and tests change.
	Base host.Config

	// stopping is set once a server was asked to stop.
	stopping atomic.Bool
	// folder is where the search for reflectory.yaml starts; "" is the working folder.
	folder string

	// completionTime is how long the store is read for a completion; 0 means the default.
	completionTime time.Duration

	flags  flags
	config *config.Config
	host   *host.Host // nil until the command needs it
	// server is the connection to the server that has the store; nil if the command opens the
	// store. serving is how this program is reached, if it is that server.
	server   connection
	hook     *hook // nil until one is called
	serving  *host.Server
	observed observed
	out      *output // nil until there is a command tree
	input    inputs
	// understood is whether the command line was valid, so that a command has begun.
	understood bool
	// abandoned is whether the command has returned while its work goes on: nothing waits for that.
	abandoned bool
	// args is the command line.
	args []string
	// asksJSON is whether the command line, valid or not, has --json.
	asksJSON bool
}

// connection is a client that holds connections.
type connection interface {
	client.Client
	io.Closer
}

// flags are the flags that every command takes.
type flags struct {
	dataDir   string
	pluginDir string
	lock      string
	policyDir string
	sandbox   string
	logLevel  string
	agent     string
	lockWait  string
	server    string
	store     string
	stores    string
	storeWait string

	oidcIssuer, oidcAudience, oidcClient string
	oidcGrants                           []string

	listen, runs, tlsCert, tlsKey, acme, acmeDirectory string
	proxies, hosts                                     []string

	durability string
}

// Run runs a command line and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	a.input = inputs{ctx, a.Stdin}
	a.args = args
	a.asksJSON = slices.Contains(args, "--json")
	root := a.root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // no other command needs the offers
		a.completes(root)
	}
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	if err := unknownWord(root, args); err != nil {
		a.out.term = term.New(a.out.Stderr)
		return a.exit(root, err)
	}
	c, err := root.ExecuteContextC(ctx)
	if c.Name() == "hook" && c.Parent() == root {
		return a.endHook(err)
	}
	if closed := a.closeHost(); err == nil {
		err = closed
	}
	if a.out.term != nil {
		defer a.out.term.Clear()
	}
	return a.exit(c, err)
}

// begin makes the output.
func (a *App) begin() {
	if a.out == nil {
		a.out = &output{Stdout: a.Stdout, Stderr: a.Stderr}
	}
}

// load reads the configuration. It runs before every command.
func (a *App) load() error {
	a.begin()
	a.out.term = term.New(a.out.Stderr)
	a.out.Stdout, a.out.Stderr = a.out.term.Over(a.out.Stdout), a.out.term.Over(a.out.Stderr)
	return a.loadConfig()
}

// closing closes c at the end of a function, and returns its error if there is no other.
func closing(err *error, c interface{ Close() error }) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}
