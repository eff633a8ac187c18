package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/store"
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

	// ids names what is made; nil is [core.SystemIDs].
	ids core.IDs
	// folder is where reflectory.yaml is looked for; "" is the working folder.
	folder string
	// deferGate leaves memories before the gate that come there, for samples of such.
	deferGate bool

	// completionTime is how long the store is read for a completion's offers; 0 is the default.
	completionTime time.Duration

	flags  flags
	config Config
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
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	if err := unknownRoot(root, args); err != nil {
		a.term = term.New(a.Stderr)
		return a.exit(root, err)
	}
	c, err := root.ExecuteContextC(ctx)
	if a.term != nil {
		defer a.term.Clear()
	}
	return a.exit(c, err)
}

// load reads the configuration. It runs before every command.
func (a *App) load() error {
	a.term = term.New(a.Stderr)
	a.Stdout, a.Stderr = a.term.Over(a.Stdout), a.term.Over(a.Stderr)
	var err error
	a.config, err = loadConfig(a.flags, a.Getenv, a.folder)
	return err
}

// newIDs returns what names what is made.
func (a *App) newIDs() core.IDs {
	if a.ids != nil {
		return a.ids
	}
	return &core.SystemIDs{}
}

// expressions compiles the conditions of workflows.
func (a *App) expressions() core.Expressions { return policy.NewExpressions() }

// loadOptions are what loading a workflow needs.
func (a *App) loadOptions() workflow.Options {
	return workflow.Options{Expressions: a.expressions()}
}

// openPlugins makes the installed plugins callable, with what those in uses need
// of the operator. llm is the model that plugins may be granted to ask, a
// workflow's settings.llm, and policies say which may run in the namespace. Closing
// it removes the copies that ran.
func (a *App) openPlugins(uses []workflow.PluginUse, llm json.RawMessage, policies *livePolicies, namespace string) (*pluginHost, error) {
	uses = append(slices.Clip(uses), modelUse(llm))
	if err := a.checkEndpoints(uses); err != nil {
		return nil, err
	}
	set, err := a.openSet()
	if err != nil {
		return nil, err
	}
	return a.hostPlugins(set, a.granted(set.Installed(), uses), llm, policies.admit(set, namespace))
}

// withRuns opens the store for its runs alone.
func (a *App) withRuns(ctx context.Context, fn func(*store.Runs) error) (err error) {
	db, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer closing(&err, db)
	return fn(store.NewRuns(db, core.SystemClock{}))
}

// actions runs a run's nodes on plugins and shows what happens.
func (a *App) actions(plugins core.Plugins, policies *livePolicies, run *core.Run) *loop.Actions {
	return &loop.Actions{
		Plugins: plugins, Events: a.events(), Policy: policies, Namespace: namespaceOf(run), Workflow: run.Workflow,
		Pieces: a.term.Live() && !a.flags.json,
	}
}

// namespaceOf is where a run is.
func namespaceOf(run *core.Run) string { return cmp.Or(run.Namespace, defaultNamespace) }

// prepare has the plugins check their configs before anything runs. What is wrong in
// any node is reported at once. A plugin that doesn't start is no fault of the workflow's:
// the run begins, and ends with that error where it gets to the node.
func prepare(ctx context.Context, actions *loop.Actions, plan *workflow.Plan) (readyNodes, error) {
	var wrong []error
	ready := readyNodes{Actions: actions, broken: map[string]error{}}
	for _, node := range plan.Nodes {
		refused, broken := actions.Prepare(ctx, node.Action)
		for _, err := range refused {
			wrong = append(wrong, sdk.Wrap("node "+node.Name, err))
		}
		if err := core.Together(broken...); err != nil {
			ready.broken[node.Name] = err
		}
	}
	return ready, core.Together(wrong...)
}

// readyNodes runs the nodes whose plugins started.
type readyNodes struct {
	core.Actions
	broken map[string]error // why a node's plugins don't run, by its name
}

// Act implements [core.Actions].
func (r readyNodes) Act(ctx context.Context, req *core.ActionRequest) (any, error) {
	if err := r.broken[req.Node]; err != nil {
		return nil, err
	}
	return r.Actions.Act(ctx, req)
}

// closing closes c at the end of a function, and keeps its error if there is no
// other.
func closing(err *error, c interface{ Close() error }) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}
