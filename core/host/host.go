// Package host composes the parts of Reflectory: a store, policies, plugins, governed
// memory and runs. A program opens one Host and closes it at its end; the command line,
// the server, tests and programs that embed it all use the same one.
//
// Open builds everything in one place, so that no part is ever half-built. Two things are
// opened only when they are first needed, because a command may not need them, and if one
// can't be opened, the rest must still work. They are the store, whose lock only one
// program at a time can hold, and the installed plugins.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/idempotency"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Config has the parts and settings of a Host.
type Config struct {
	// Settings are the operator's, as config.Load chooses and checks them.
	Settings *config.Config
	// Getenv reads the environment, for the variables that plugins are granted and that
	// settings name. Nil is an empty environment.
	Getenv func(string) string
	// Store holds everything, and isn't closed with the Host. Nil means the store in the
	// data folder, which is opened when it is first needed and closed with the Host.
	Store core.Store
	// Sole means that no other Host works on Store, as is always the case for the store in
	// the data folder. Unfinished jobs, and unfinished calls with an idempotency key, are
	// then known to be left over from an earlier Host. See idempotency.Keys and job.Options.
	Sole bool
	// Shared means that other Hosts may work on Store, as is always the case for a database
	// that the settings name. Policies then come from Store, and not from a folder.
	Shared bool
	// Version is the program's version, which status reports. Default "", unknown.
	Version string
	// Tenants are stores of tenants by the tenants' names, in addition to the databases that
	// the settings name: see [Host.Databases]. Store has the data of all other tenants. They
	// aren't closed with the Host.
	Tenants map[string]core.Store
	// OtherDatabase is the URL of a further database, for a tenant that is moved from or to it: see
	// [Host.MoveTenant]. Default "", none.
	OtherDatabase string
	// IDs makes ids. Default core.SystemIDs.
	IDs core.IDs
	// Clock gives the time. Default core.SystemClock.
	Clock core.Clock
	// Random is the source of the secrets of tokens, logins and pages. Default
	// crypto/rand.
	Random io.Reader
	// Notices receives what the operator should know. It must be safe for concurrent use
	// and return soon. Nil drops them.
	Notices func(Notice)
	// Activity is called when a wait begins that may take long, and with "" when the wait is
	// over. It must be safe for concurrent use and return soon. Nil drops it.
	Activity func(Activity)
	// PluginLogs receives what plugins write, in addition to the log files in the data
	// folder. It must be safe for concurrent use and return soon. Nil drops it.
	PluginLogs func(plugin.LogLine)
	// Subscribers receive every event that this Host commits to the journal.
	Subscribers []journal.Subscriber
	// Server is how this Host is reached by others, if its program is a server; otherwise nil.
	Server *Server
	// Observe is called with what the Host does.
	Observe Observe
	// DeferGate leaves memories that are due for the gate waiting, for an operator to
	// look at: see memory.Options.
	DeferGate bool
	// GateJobs lets jobs do the work that is due after a feedback: the gate's decisions and,
	// every hundred turns, a sweep. The caller that gives the feedback then doesn't wait for
	// the gate. Set it only for a host with a pool that works on its jobs.
	GateJobs bool
	// GoneAfter is the time after which another host on the same store counts as gone if no
	// beat of it is seen. It must be the same for all hosts of a store. Default
	// [store.DefaultGone].
	GoneAfter time.Duration
	// SummaryTime is how long a model may take to summarize the reusable part of a memory
	// that is promoted, or the oldest turns of a session, including the start of its plugin.
	// The promotion, or the turn's prompt, waits with the store open. Default 30 s.
	SummaryTime time.Duration
	// ReflectionTime is how long a generator or a judge may take for one answer of a
	// reflection or a dream pass. Default 5 min.
	ReflectionTime time.Duration
}

// check reports what is missing, and sets the defaults.
func (c *Config) check() error {
	if c.Settings == nil {
		return sdk.Errorf(sdk.Invalid, "host_config_invalid", "host config: no settings are given").
			WithHint("load them with config.Load")
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.IDs == nil {
		c.IDs = &core.SystemIDs{}
	}
	if c.Clock == nil {
		c.Clock = core.SystemClock{}
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Notices == nil {
		c.Notices = func(Notice) {}
	}
	if c.Activity == nil {
		c.Activity = func(Activity) {}
	}
	if c.PluginLogs == nil {
		c.PluginLogs = func(plugin.LogLine) {}
	}
	if c.GoneAfter <= 0 {
		c.GoneAfter = store.DefaultGone
	}
	if c.ReflectionTime <= 0 {
		c.ReflectionTime = 5 * time.Minute
	}
	if c.SummaryTime <= 0 {
		c.SummaryTime = 30 * time.Second
	}
	return nil
}

// Host is everything that one process of Reflectory works with. It is safe for concurrent
// use, and must be closed.
type Host struct {
	// Store holds everything. The first transaction opens it.
	Store core.Store
	// Journal changes the store and records what was done. Feed follows what any process
	// recorded.
	Journal *journal.Writer
	Feed    *journal.Feed
	// Access issues tokens and logins, and identifies callers by them.
	Access *access.Authority
	// Policies decide what is allowed.
	Policies *Policies
	// Governance has the settings of namespaces.
	Governance *governance.Governor
	// Memories are the governed memories, and Evidence records what is known about their
	// worth.
	Memories *memory.Memories
	Evidence *gate.Recorder
	// Runs are the stored runs, and Jobs the background work, which isn't done until a pool
	// of [Host.NewPool] is started.
	Runs *run.Repository
	Jobs *job.Repository
	// Keys are the idempotency keys of calls.
	Keys *idempotency.Keys
	// Snapshots are the stored prompts of the turns of sessions, and Injections builds them.
	Snapshots  *inject.Repository
	Injections *inject.Builder

	config Config
	id     string
	// databases are all hosts of this process, one for each database; nil if there is one
	// database.
	databases *databases
	// places are the tenants that this database doesn't have, as the main database said; nil
	// before it was asked.
	places atomic.Pointer[tenantPlaces]
	// joined is what this host does for the others of its store, and member raises its beat
	// among them. Both are nil before [Host.Join]; member stays nil if the store has no
	// other hosts.
	joined   atomic.Pointer[JoinOptions]
	member   atomic.Pointer[store.Member]
	draining atomic.Bool
	// turns shares what is worked on at once; nil if there is no limit.
	turns atomic.Pointer[share.Share]
	pools atomic.Int64 // that were made
	// lockEpoch is the epoch of the newest pushed lock of plugins that this host has seen.
	lockEpoch atomic.Uint64

	progress      progress
	discoveries   discoveries
	sweeps        sweeps
	replies       *run.Replies
	warnedOfTrust sync.Once
	// namedKeys are the variables that [Host.warnOfKeys] has named.
	namedKeys sync.Map
	plugins   func() (*Plugins, error)
	// callable are the plugins, once they have been made callable; nil before.
	callable atomic.Pointer[Plugins]

	// closers undo what was opened, the newest first.
	mu      sync.Mutex
	closers []func() error
	closed  bool
	pageKey []byte // nil until it is needed: see PageKey
	close   func() error
}

// Open builds a Host, and one for each database of tenants: see [Host.Databases]. An error
// leaves nothing open.
func Open(ctx context.Context, c Config) (*Host, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id := (&core.SystemIDs{}).NewID()
	if own := c.tenantDatabases(); len(own) > 0 {
		return openDatabases(c, id, own)
	}
	return openOne(c, id, nil)
}

// openOne builds the Host of one database.
func openOne(c Config, id string, all *databases) (*Host, error) {
	h := &Host{config: c, id: id, databases: all}
	h.close = sync.OnceValue(h.closeAll)
	if err := h.build(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// build makes the parts in the order in which they depend on each other.
func (h *Host) build() (err error) {
	var opened <-chan struct{} // nil: open from the start
	if h.Store = h.config.Store; h.Store == nil {
		local := h.onDemandStore()
		h.Store, opened = local, local.Opened()
		h.onClose(local.Close)
	} else {
		rooter := h.startRooter(h.Store)
		h.onClose(func() error { return rooter.Close(context.Background()) })
		if h.databases != nil || h.config.Shared { // another host may know of more databases
			h.Store = store.HereStore(h.Store, h.here)
		}
		h.Store = store.Fenceable(h.Store)
	}
	h.Feed = journal.NewFeed(h.Store, 0)
	h.config.Subscribers = append(slices.Clip(h.config.Subscribers), h.Feed.Wake)
	h.Journal = &journal.Writer{Store: h.Store, Clock: h.config.Clock, Subscribers: h.config.Subscribers}
	h.Access = access.New(access.Options{
		Writer: h.Journal, Random: h.config.Random, OperatorFile: filepath.Join(h.config.Settings.DataDir.Value, access.OperatorFileName),
	})
	if h.Policies, err = openPolicies(h, opened); err != nil {
		return err
	}
	h.onClose(h.Policies.Close)
	h.Governance = governance.New(h.Journal)
	h.replies = &run.Replies{Store: h.Store, Clock: h.config.Clock, Purged: memory.Purged}
	h.Runs = run.NewRepository(h.Store, h.config.Clock)
	h.Runs.Purged = memory.Purged
	h.Runs.Lives, h.Runs.Holder = h.lives, h.holder
	sole := h.config.Store == nil && !h.config.Settings.Shared() || h.config.Sole // one process at a time has the data folder's store
	h.Keys = &idempotency.Keys{Store: h.Store, Clock: h.config.Clock, Owner: h.id, Sole: sole, Gone: h.gone, Purged: memory.Purged}
	if h.Jobs, err = h.newJobs(sole); err != nil {
		return err
	}
	h.config.Subscribers = append(slices.Clip(h.config.Subscribers), h.Jobs.Wake) // an entry may have queued a job
	h.plugins = sync.OnceValues(h.openPlugins)
	h.Snapshots = &inject.Repository{Writer: h.Journal, IDs: h.config.IDs, Purged: memory.Purged, Sessions: sessionTexts{}}
	if h.Memories, err = h.newMemories(); err != nil {
		return err
	}
	h.onClose(func() error { h.Memories.Close(); return nil })
	h.Evidence = &gate.Recorder{Writer: h.Journal, Memories: h.Memories}
	h.Injections = h.newInjections()
	return nil
}

// newMemories makes the memories, with the policies and the gate that decide on them.
func (h *Host) newMemories() (*memory.Memories, error) {
	embedder, err := h.embedder()
	if err != nil {
		return nil, err
	}
	h.onClose(func() error { h.config.Settings.Network().Transport().CloseIdleConnections(); return nil })
	options := memory.Options{
		Store: h.Store, Clock: h.config.Clock, IDs: h.config.IDs, Governor: h.Governance,
		Reflection: h.Policies, Retention: h.Policies, Gate: gate.New(h.Policies), DeferGate: h.config.DeferGate,
		Evidence: gate.Evidence{}, Injection: injectedMemories{}, Near: near, Embedder: embedder, Summarizer: h.summarizer(), Observed: h.triggers(), Ended: countTurn, RunOf: func(ctx context.Context) string { return plugin.ScopeOf(ctx).RunID },
		Forgetters: []core.Forgetter{run.Memories{}, job.Memories{}, h.replies, h.Keys, h.Snapshots}, DepthBoost: h.config.Settings.DepthBoost(),
		Observer: h.config.Observe.Work, Subscribers: h.config.Subscribers,
	}
	if h.config.GateJobs {
		options.Turned = h.turned
	}
	return memory.New(options)
}

// Settings returns the operator's settings.
func (h *Host) Settings() *config.Config { return h.config.Settings }

// Server is how this Host is reached by others; nil if its program isn't a server.
func (h *Host) Server() *Server { return h.config.Server }

// NewID returns a new id.
func (h *Host) NewID() string { return h.config.IDs.NewID() }

// Plugins makes the installed plugins callable, once for all calls. If the lock or the
// trust file can't be read, each call returns that error.
func (h *Host) Plugins() (*Plugins, error) { return h.plugins() }

// onClose adds a function that undoes an opening. After Close it is called at once.
func (h *Host) onClose(undo func() error) {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.closers = append(h.closers, undo)
	}
	h.mu.Unlock()
	if closed {
		_ = undo() // the call that opened it will fail, since it is closed now
	}
}

// Now is the time by the host's clock.
func (h *Host) Now() time.Time { return h.config.Clock.Now() }

// Close stops the background work and the plugins, writes the decisions that are queued
// and closes the store, in the reverse order of their opening. It is idempotent.
func (h *Host) Close() error { return h.close() }

func (h *Host) closeAll() error {
	var errs []error
	for {
		h.mu.Lock()
		n := len(h.closers)
		if n == 0 {
			h.closed = true
			h.mu.Unlock()
			return errors.Join(errs...)
		}
		undo := h.closers[n-1]
		h.closers = h.closers[:n-1]
		h.mu.Unlock()
		errs = append(errs, undo())
	}
}
