package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/sdk"
)

// A status helps to find out what is wrong, so it needs nothing that may fail. It is made
// from the settings, the files and the system, and from the database if that is the store. A
// part that can't be read shows its problem, and the other parts are still shown.

// Status is what a host is and what it can do.
type Status struct {
	Version Version       `json:"version"`
	Config  ConfigStatus  `json:"config"`
	Store   StoreStatus   `json:"store"`
	Plugins PluginsStatus `json:"plugins"`
	Sandbox Sandbox       `json:"sandbox"`
	// Programs are the programs of this machine that plugins may have run.
	Programs ProgramsStatus `json:"programs"`
	WASM     WASMStatus     `json:"wasm"`
	// Server is how the host is reached, if it is a server.
	Server *Server `json:"server,omitempty"`
	// Problem is the reason why no host can be opened with these settings, such as invalid
	// policies.
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

// Server is how a host is reached by others.
type Server struct {
	// URL is where clients find it, such as https://host.example.org:7842.
	URL string `json:"url"`
	// Listen is the address that it listens on.
	Listen string `json:"listen"`
	// Beyond is whether other machines can connect.
	Beyond bool `json:"beyond"`
	// Encryption is how connections are encrypted.
	Encryption access.Encryption `json:"encryption"`
	// Bound is whether a browser's session holds only under a name of this machine that nobody can
	// guess: without TLS.
	Bound bool `json:"-"`
	// Auth is how callers authenticate: [AuthToken], [AuthOIDC] or [AuthNone].
	Auth string `json:"auth"`
	// Peers is the address at which other hosts on the same store reach it; "" if they don't
	// reach it.
	Peers string `json:"peers,omitempty"`
	// Models are the names of the models that its gateway serves.
	Models []string `json:"models,omitempty"`
	// ServedModels returns them; nil if it has no gateway.
	ServedModels func() []string `json:"-"`
}

// How callers of a server authenticate.
const (
	AuthToken = "token"
	AuthOIDC  = "token, oidc" // tokens of an issuer too
	AuthNone  = "none"        // everybody is let in as the operator
)

// ConfigStatus is where settings come from.
type ConfigStatus struct {
	// File is reflectory.yaml; "" if there is none.
	File    string         `json:"file"`
	DataDir config.Setting `json:"data_dir"`
	Sandbox config.Setting `json:"sandbox"`
}

// StoreStatus is the status of the store in the data folder. For a Host on another store
// it only shows that the store exists.
type StoreStatus struct {
	Folder string `json:"folder"`
	Exists bool   `json:"exists"`
	Bytes  int64  `json:"bytes"`
	// State is failed if the host has the store open and it can't write: problem says why.
	State string `json:"state,omitempty"`
	// Durability is the durability with which this program opens it.
	Durability config.Setting `json:"durability"`
	// Holder is the program that has it open.
	Holder *pebble.Holder `json:"holder,omitempty"`
	// Database is the database that is the store, if it isn't in the data folder.
	Database *DatabaseStatus `json:"database,omitempty"`
	Problem  *core.ErrorInfo `json:"problem,omitempty"`
}

// DatabaseStatus is the database that is the store.
type DatabaseStatus struct {
	// Name is host:port/database.
	Name string `json:"name"`
	// Version is PostgreSQL's version; "" if the database can't be reached.
	Version string `json:"version,omitempty"`
	// Standby names the synchronous standbys, as PostgreSQL's setting does; "" if there are
	// none.
	Standby string `json:"standby,omitempty"`
	// Warning is what is unsafe about it.
	Warning string `json:"warning,omitempty"`
}

// PluginsStatus is what is installed.
type PluginsStatus struct {
	// Lock is the lock that plugins are added to.
	Lock    string          `json:"lock"`
	List    []PluginStatus  `json:"list"`
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

// PluginStatus is an installed plugin.
type PluginStatus struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Runtime string `json:"runtime,omitempty"`
	From    string `json:"from"`
	// Replaces is the version of the plugin that comes with the program whose place it takes; left
	// out if it takes none's.
	Replaces string `json:"replaces,omitempty"`
	// State is ready, or the code of the problem that prevents it from running.
	State string `json:"state"`
	// Sandbox is how it would be confined: full, partial, none, refused or module.
	Sandbox string `json:"sandbox,omitempty"`
}

// WASMStatus is the status of the cache for modules.
type WASMStatus struct {
	Folder string `json:"folder"`
	wasm.Usage
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

// Status describes the host without changing anything. It opens no store and starts no
// plugin.
func (h *Host) Status() *Status {
	s := UnopenedStatus(h.Config.Settings, h.Config.Version, h.Config.Notices)
	if s.Server = h.Config.Server; s.Server != nil && s.Server.ServedModels != nil {
		server := *s.Server
		server.Models = server.ServedModels()
		s.Server = &server
	}
	if h.Config.Store != nil {
		s.Store = StoreStatus{Exists: true, Durability: s.Store.Durability}
	}
	if err := h.Storage.Failed(); err != nil {
		s.Store.State, s.Store.Problem = "failed", core.NewErrorInfo(err)
	}
	return s
}

// Bytes is how large the files of the store are, in bytes; 0 for a Host on another store
// than the data folder's.
func (s *Storage) Bytes() (int64, error) {
	if s.config.Store != nil || s.config.Settings.Shared() {
		return 0, nil
	}
	presence, err := pebble.Look(StoreDir(s.config.Settings))
	return presence.Bytes, err
}

// UnopenedStatus is the status of a host that may not be opened. notices receives what the operator
// should know; nil drops it.
func UnopenedStatus(c *config.Config, program string, notices func(Notice)) *Status {
	if notices == nil {
		notices = func(Notice) {}
	}
	s := &Status{
		Version:  VersionOf(program),
		Config:   ConfigStatus{File: c.File(), DataDir: c.DataDir, Sandbox: c.Sandbox},
		Store:    StoreStatus{Folder: StoreDir(c), Durability: c.Durability},
		Plugins:  PluginsStatus{Lock: c.Lock.Value, List: []PluginStatus{}},
		Sandbox:  NewSandbox(c, sandbox.Probe()),
		Programs: programsStatus(c),
		WASM:     WASMStatus{Folder: WASMCacheDir(c)},
	}
	if c.Shared() {
		s.Store = StoreStatus{Exists: true, Durability: c.Durability}
		s.Store.readDatabase(c)
	} else {
		s.Store.readFolder()
	}
	var err error
	s.WASM.Usage, err = wasm.Measure(s.WASM.Folder)
	s.WASM.Problem = core.NewErrorInfo(err)
	s.Plugins.Problem = core.NewErrorInfo(s.readPlugins(c, notices))
	return s
}

// readFolder fills in what the files show.
func (s *StoreStatus) readFolder() {
	presence, err := pebble.Look(s.Folder)
	s.Exists, s.Bytes, s.Holder, s.Problem = presence.Exists, presence.Bytes, presence.Holder, core.NewErrorInfo(err)
}

// readDatabase asks the database, and waits for it for a few seconds at most.
func (s *StoreStatus) readDatabase(c *config.Config) {
	server, err := postgres.Look(context.Background(), databaseOptions(c, nil))
	s.Database = &DatabaseStatus{Name: postgres.Name(c.Store.Value), Version: server.Version, Standby: server.Standby}
	if s.Problem = core.NewErrorInfo(err); err == nil && server.Standby == "" {
		s.Database.Warning = "no standby is synchronous, so a failover loses acknowledged commits"
	}
}

func (s *Status) readPlugins(c *config.Config, notices func(Notice)) error {
	set, err := OpenSet(c, notices)
	if err != nil {
		return err
	}
	for _, p := range set.Plugins() {
		s.Plugins.List = append(s.Plugins.List, s.plugin(p))
	}
	return set.Close()
}

// plugin is the status of a plugin on this host.
func (s *Status) plugin(p *install.Plugin) PluginStatus {
	st := PluginStatus{Name: p.Name, Version: p.Version, From: p.Place.Label, Replaces: p.Replaces, State: "ready"}
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
		st.Sandbox = s.Sandbox.Word()
	case plugin.RuntimeWASM:
		st.Sandbox = "module"
	}
	return st
}
