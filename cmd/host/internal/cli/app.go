package cli

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
)

// App is the program: its surroundings, and the parts that a command needs of
// it. End-to-end tests build the same App.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	// folder is where reflectory.yaml is looked for; "" is the working folder.
	folder string
	// base is what samples and tests change of the host.
	base host.Config

	// completionTime is how long the store is read for a completion's offers; 0 is the default.
	completionTime time.Duration

	// commands is the command tree that runs, nil before.
	commands *cobra.Command

	flags  flags
	config *config.Config
	host   *host.Host // nil until the command needs it
	term   *term.Printer
	input  inputs
	// understood is whether the command line was: a command has begun.
	understood bool
	// asksJSON is whether the command line, understood or not, has --json.
	asksJSON bool
	// result is the command's as JSON, once there is one.
	result []byte
}

// flags are what every command takes.
type flags struct {
	json       bool
	dataDir    string
	pluginDir  string
	lock       string
	policyDir  string
	namespace  string
	sandbox    string
	logLevel   string
	agent      string
	lockWait   string
	durability string
}

// Run runs a command line and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	a.input = inputs{ctx, a.Stdin}
	a.asksJSON = slices.Contains(args, "--json")
	root := a.root()
	a.commands = root
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	if err := unknownRoot(root, args); err != nil {
		a.term = term.New(a.Stderr)
		return a.exit(root, err)
	}
	c, err := root.ExecuteContextC(ctx)
	if closed := a.closeHost(); err == nil {
		err = closed
	}
	if a.term != nil {
		defer a.term.Clear()
	}
	return a.exit(c, err)
}

// load reads the configuration. It runs before every command.
func (a *App) load() error {
	a.term = term.New(a.Stderr)
	a.Stdout, a.Stderr = a.term.Over(a.Stdout), a.term.Over(a.Stderr)
	return a.loadConfig()
}

// closing closes c at the end of a function, and keeps its error if there is no
// other.
func closing(err *error, c interface{ Close() error }) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}
