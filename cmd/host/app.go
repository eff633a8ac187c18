package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// App is the program: its surroundings, and the parts that a command needs of
// it. End-to-end tests build the same App.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	flags  flags
	config Config
	term   *term.Printer
	// understood is whether the command line was: a command has begun.
	understood bool
	// asksJSON is whether the command line, understood or not, has --json.
	asksJSON bool
}

// flags are what every command takes.
type flags struct {
	json      bool
	dataDir   string
	pluginDir string
	logLevel  string
}

// Run runs a command line and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	a.asksJSON = slices.Contains(args, "--json")
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.exit(root.ExecuteContext(ctx))
}

// load reads the configuration. It runs before every command.
func (a *App) load() error {
	a.term = term.New(a.Stderr)
	var err error
	a.config, err = loadConfig(a.flags, a.Getenv)
	return err
}

// expressions compiles the conditions of workflows.
func (a *App) expressions() core.Expressions { return policy.NewExpressions() }

// loadOptions are what loading a workflow needs.
func (a *App) loadOptions() workflow.Options {
	return workflow.Options{Expressions: a.expressions()}
}

// openPlugins makes the installed plugins callable. Each of those in uses is
// granted the environment variables that its configs name, and nothing else.
func (a *App) openPlugins(uses []workflow.PluginUse) (*plugin.Supervisor, error) {
	installed, err := plugin.Discover(a.config.PluginDir.Value)
	if err != nil {
		return nil, err
	}
	for i := range installed {
		installed[i].Env = a.granted(installed[i].Name, uses)
	}
	driver := process.New(process.Options{Log: a.pluginLog, LogLevel: a.leastLevel(), Network: network})
	return plugin.NewSupervisor(plugin.Options{
		Installed: installed, Driver: driver, Dir: a.config.PluginDir.Value,
	}), nil
}

// checkEnv refuses to begin without an environment variable that a config names.
func (a *App) checkEnv(uses []workflow.PluginUse) error {
	for _, use := range uses {
		for _, variable := range use.EnvNames {
			if a.Getenv(variable) == "" {
				return sdk.Errorf(sdk.Invalid, "env_missing", "the environment variable %s, which api_key_env names for %s, is not set", variable, use.Plugin).
					WithHint("set it: export %s=…", variable)
			}
		}
	}
	return nil
}

func (a *App) granted(name string, uses []workflow.PluginUse) []string {
	var env []string
	for _, use := range uses {
		for _, variable := range use.EnvNames {
			if value := a.Getenv(variable); use.Plugin == name && value != "" {
				env = append(env, variable+"="+value)
			}
		}
	}
	return env
}

// openRuns opens the store of the state folder.
func (a *App) openRuns(ctx context.Context) (*store.Runs, io.Closer, error) {
	db, err := pebble.Open(ctx, pebble.Options{Dir: filepath.Join(a.config.DataDir.Value, "store")})
	if err != nil {
		return nil, nil, err
	}
	return store.NewRuns(db, core.SystemClock{}), db, nil
}

// actions runs workflow nodes on plugins and shows what happens.
func (a *App) actions(plugins core.Plugins) *loop.Actions {
	return &loop.Actions{Plugins: plugins, Events: a.events()}
}

// prepare has the plugins check their configs before anything runs. What is
// wrong in any node is told at once.
func prepare(ctx context.Context, actions *loop.Actions, plan *workflow.Plan) error {
	var errs []error
	for _, node := range plan.Nodes {
		for _, err := range actions.Prepare(ctx, node.Action) {
			errs = append(errs, sdk.Wrap("node "+node.Name, err))
		}
	}
	return core.Together(errs...)
}
