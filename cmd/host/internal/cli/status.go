package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

func (a *App) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what this host is and what it can do",
		Long: `Show what this host is and what it can do: its version, where it keeps its state,
who has its store open, the installed plugins with what would confine them, the
parts of the sandbox that this system has, and what is kept of WASM modules. Nothing
is started, opened for writing, or changed. What is wrong with a part is told there;
the exit code is 0.

With --json, each part is an object of its own; later versions add to them:
  version   as the version command has it
  config    file: the reflectory.yaml in use, "" for none; data_dir and sandbox, each
            with its value and origin (config show has all settings)
  store     folder, exists, bytes, durability with its value and origin, holder: {pid,
            program, since, durability} of who has it open
  plugins   lock, list: name version runtime from, state (ready, or the code of its
            problem), sandbox (full; partial: something essential is missing; none;
            refused; module)
  sandbox   mode, refuses, holds and the parts, as plugin inspect has them
  wasm      folder, code_bytes, module_bytes, verdicts, verdict_bytes,
            verdict_limit_bytes
Store, plugins and wasm have problem, {code, message, hint?, details?}, where they
can't be looked at.`,
		Example: "  reflectory status\n  reflectory status --json",
		RunE: func(*cobra.Command, []string) error {
			s := a.status()
			if a.flags.json {
				return a.printJSON(s)
			}
			return s.print(a)
		},
	}
}

// Status is what the status command prints.
type Status struct {
	Version Version       `json:"version"`
	Config  configStatus  `json:"config"`
	Store   storeStatus   `json:"store"`
	Plugins pluginsStatus `json:"plugins"`
	Sandbox sandboxFacts  `json:"sandbox"`
	WASM    wasmStatus    `json:"wasm"`
}

type configStatus struct {
	// File is reflectory.yaml; "" where there is none.
	File    string         `json:"file"`
	DataDir config.Setting `json:"data_dir"`
	Sandbox config.Setting `json:"sandbox"`
}

type storeStatus struct {
	Folder string `json:"folder"`
	Exists bool   `json:"exists"`
	Bytes  int64  `json:"bytes"`
	// Durability is the one with which this program opens it.
	Durability config.Setting `json:"durability"`
	// Holder is who has it open.
	Holder  *pebble.Holder  `json:"holder,omitempty"`
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

type pluginsStatus struct {
	// Lock is where plugins are added to.
	Lock    string          `json:"lock"`
	List    []pluginStatus  `json:"list"`
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

type pluginStatus struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Runtime string `json:"runtime,omitempty"`
	From    string `json:"from"`
	// State is ready, or the code of the problem that keeps it from being run.
	State string `json:"state"`
	// Sandbox is how it would be confined: full, partial, none, refused or module.
	Sandbox string `json:"sandbox,omitempty"`
}

type wasmStatus struct {
	Folder string `json:"folder"`
	wasm.Usage
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

// status looks at the host without changing anything.
func (a *App) status() Status {
	c := a.config
	s := Status{
		Version: currentVersion(),
		Config:  configStatus{File: c.File(), DataDir: c.DataDir, Sandbox: c.Sandbox},
		Store:   storeStatus{Folder: host.StoreDir(a.config), Durability: c.Durability},
		Plugins: pluginsStatus{Lock: c.Lock.Value, List: []pluginStatus{}},
		Sandbox: a.sandboxFacts(sandbox.Probe()),
		WASM:    wasmStatus{Folder: host.WASMCacheDir(a.config)},
	}
	presence, err := pebble.Look(s.Store.Folder)
	s.Store.Exists, s.Store.Bytes, s.Store.Holder, s.Store.Problem = presence.Exists, presence.Bytes, presence.Holder, core.NewErrorInfo(err)
	s.WASM.Usage, err = wasm.Measure(s.WASM.Folder)
	s.WASM.Problem = core.NewErrorInfo(err)
	set, err := a.openSet()
	if err != nil {
		s.Plugins.Problem = core.NewErrorInfo(err)
		return s
	}
	for _, p := range set.Plugins() {
		s.Plugins.List = append(s.Plugins.List, s.plugin(p))
	}
	return s
}

// plugin is how a plugin stands on this host.
func (s *Status) plugin(p *install.Plugin) pluginStatus {
	st := pluginStatus{Name: p.Name, Version: p.Version, From: p.Place.Label, State: "ready"}
	if p.Problem != nil {
		st.State = sdk.ReasonOf(p.Problem)
	}
	if p.Package == nil {
		return st
	}
	installed := p.Installed()
	st.Runtime = string(installed.Runtime)
	switch installed.Runtime {
	case plugin.RuntimeProcess:
		st.Sandbox = s.Sandbox.word()
	case plugin.RuntimeWASM:
		st.Sandbox = "module"
	}
	return st
}

// print shows the status to people.
func (s Status) print(a *App) error {
	a.printSection("reflectory "+s.Version.Version, [][2]string{
		{"platform", s.Version.Platform + ", " + s.Version.Go},
		{"config", cmp.Or(s.Config.File, "no "+config.FileName)},
		{"data", s.Config.DataDir.Value + " (" + s.Config.DataDir.Origin + ")"},
		{"store", s.Store.String()},
		{"durability", s.Store.Durability.Value + " (" + s.Store.Durability.Origin + ")"},
		{"wasm cache", s.WASM.String()},
	})
	a.printSection("sandbox", s.Sandbox.rows())
	if s.Plugins.Problem != nil {
		a.printSection("plugins", [][2]string{{"problem", s.Plugins.Problem.Message}, {"hint", s.Plugins.Problem.Hint}})
		return nil
	}
	fmt.Fprintf(a.Stdout, "plugins (%s)\n", s.Plugins.Lock)
	if len(s.Plugins.List) == 0 {
		fmt.Fprintln(a.Stdout, "  none is installed")
		return nil
	}
	rows := make([][]string, len(s.Plugins.List))
	for i, p := range s.Plugins.List {
		rows[i] = []string{"  " + p.Name, p.Version, p.Runtime, p.From, p.State, p.Sandbox}
	}
	return a.table([]string{"  PLUGIN", "VERSION", "RUNTIME", "FROM", "STATE", "SANDBOX"}, rows)
}

// String is a line for people.
func (s storeStatus) String() string {
	switch {
	case s.Problem != nil:
		return s.Problem.Message
	case !s.Exists:
		return "none yet: the first run makes it"
	case s.Holder != nil:
		return fmt.Sprintf("%s, open in %s (pid %d, durability %s)", term.Size(s.Bytes), s.Holder.Program, s.Holder.PID, cmp.Or(s.Holder.Durability, "unknown"))
	}
	return term.Size(s.Bytes) + ", not open"
}

// String is a line for people.
func (s wasmStatus) String() string {
	if s.Problem != nil {
		return s.Problem.Message
	}
	return fmt.Sprintf("code %s, modules %s, %d verdicts of %s (limit %s)", term.Size(s.CodeBytes), term.Size(s.ModuleBytes),
		s.Verdicts, term.Size(s.VerdictBytes), term.Size(s.VerdictLimit))
}
