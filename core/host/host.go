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
	// the settings name: see [Databases.All]. Store has the data of all other tenants. They
	// aren't closed with the Host.
	Tenants map[string]core.Store
	// OtherDatabase is the URL of a further database, for a tenant that is moved from or to it: see
	// [Tenants.Move]. Default "", none.
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
	// Config is what the host was opened with, with its defaults.
	Config *Config
	// ID identifies this start of the host among the hosts that share a store.
	ID string
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
	// of [Workers.NewPool] is started.
	Runs *run.Repository
	Jobs *job.Repository
	// Keys are the idempotency keys of calls.
	Keys *idempotency.Keys
	// Snapshots are the stored prompts of the turns of sessions, and Injections builds them.
	Snapshots  *inject.Repository
	Injections *inject.Builder

	// Storage is where the store is: its opening, backups, exports, and what may be pruned.
	Storage *Storage
	// Membership is the host among the hosts that share its store.
	Membership *Membership
	// Databases are the databases of this process, Tenants are where its tenants are, and Copies
	// is what each database has a copy of.
	Databases *Databases
	Tenants   *Tenants
	Copies    *Copies
	// Plugins are the plugins that the host calls.
	Plugins *Plugins
	// Prompts are what the prompts of turns consist of.
	Prompts *Prompts
	// Runner executes workflows, and Discoveries finds workflows for an intent.
	Runner      *Runner
	Discoveries *Discoveries
	// Workers do the background work, among it Reflections and Dreams.
	Workers     *Workers
	Reflections *Reflections
	Dreams      *Dreams
	// Limits are how much is done at once, and how often.
	Limits *Limits

	closers closers
}

// Open builds a Host, and one for each database of tenants: see [Databases.All]. An error
// leaves nothing open.
func Open(ctx context.Context, c Config) (*Host, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, own := (&core.SystemIDs{}).NewID(), c.tenantDatabases()
	all := &databases{ids: map[string]*Host{}}
	if len(own) > 0 {
		all.of = map[string]*Host{}
	}
	main, err := openOne(c, id, all)
	if err != nil || len(own) == 0 {
		return main, err
	}
	for _, d := range own {
		of := c
		of.Settings, of.Store = d.settings, d.store
		h, err := openOne(of, id, all)
		if err != nil {
			return nil, core.JoinErrors(err, main.Close())
		}
		main.closers.add(h.Close)
		for _, tenant := range d.tenants {
			all.of[tenant] = h
		}
	}
	stop := every(copiesEvery, main.Copies.Compare)
	main.closers.add(func() error { stop(); return nil })
	return main, nil
}

// openOne builds the Host of one database.
func openOne(c Config, id string, all *databases) (*Host, error) {
	h := &Host{Config: &c, ID: id}
	h.Databases, h.Tenants, h.Copies = &Databases{h, all}, &Tenants{own: h}, &Copies{own: h}
	all.hosts = append(all.hosts, h)
	if err := h.build(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// build makes the parts in the order in which they depend on each other.
func (h *Host) build() (err error) {
	c := h.Config
	h.Membership = &Membership{config: c, id: h.ID, closers: &h.closers, databases: h.Databases}
	h.Storage = &Storage{config: c, membership: h.Membership}
	if h.Databases.of != nil || c.Shared || c.Settings.Shared() { // another host may know of more databases
		h.Storage.here = h.Tenants.here
	}
	opened := h.openStore()
	h.Feed = journal.NewFeed(h.Store, 0)
	c.Subscribers = append(slices.Clip(c.Subscribers), h.Feed.Wake)
	h.Journal = &journal.Writer{Store: h.Store, Clock: c.Clock, Subscribers: c.Subscribers}
	h.Access = access.New(access.Options{
		Writer: h.Journal, Random: c.Random, OperatorFile: filepath.Join(c.Settings.DataDir.Value, access.OperatorFileName),
	})
	if h.Policies, err = openPolicies(h, opened); err != nil {
		return err
	}
	h.closers.add(h.Policies.Close)
	h.Governance = governance.New(h.Journal)
	h.Runs = run.NewRepository(h.Store, c.Clock)
	h.Runs.Purged = memory.Purged
	h.Runs.Lives, h.Runs.Holder = h.Membership.lives, h.Membership.holder
	sole := c.Store == nil && !c.Settings.Shared() || c.Sole // one process at a time has the data folder's store
	h.Keys = &idempotency.Keys{Store: h.Store, Clock: c.Clock, Owner: h.ID, Sole: sole, Gone: h.Membership.gone, Purged: memory.Purged}
	h.Workers = &Workers{config: c, membership: h.Membership}
	if h.Jobs, err = h.Workers.newJobs(h.Journal, sole); err != nil {
		return err
	}
	h.Workers.jobs = h.Jobs
	c.Subscribers = append(slices.Clip(c.Subscribers), h.Jobs.Wake) // an entry may have queued a job
	h.Snapshots = &inject.Repository{Writer: h.Journal, IDs: c.IDs, Purged: memory.Purged, Sessions: sessionTexts{}}
	h.Plugins = &Plugins{config: c, closers: &h.closers, journal: h.Journal, policies: h.Policies, membership: h.Membership, ready: h.Ready}
	h.Membership.journal, h.Membership.policies, h.Membership.plugins, h.Membership.runs, h.Membership.jobs = h.Journal, h.Policies, h.Plugins, h.Runs, h.Jobs
	return h.buildMemories()
}

// openStore gives the host the store of its config, or the one that the settings name. opened is
// closed once that is open; it is nil if it is open from the start.
func (h *Host) openStore() (opened <-chan struct{}) {
	if h.Store = h.Config.Store; h.Store == nil {
		local := h.Storage.onDemand()
		h.Store, opened = local, local.Opened()
		h.closers.add(local.Close)
		h.closers.add(h.Storage.reopenWhenFailed(local))
	} else {
		rooter := h.Storage.startRooter(h.Store)
		h.closers.add(func() error { return rooter.Close(context.Background()) })
		if h.Storage.here != nil {
			h.Store = store.HereStore(h.Store, h.Storage.here)
		}
		h.Store = store.Fenceable(h.Store)
	}
	h.Storage.store = h.Store
	return opened
}

// buildMemories makes the memories, with the policies and the gate that decide on them, and the
// parts that work with memories.
func (h *Host) buildMemories() error {
	c := h.Config
	embedder, err := c.embedder()
	if err != nil {
		return err
	}
	h.closers.add(func() error { c.Settings.Network().Close(); return nil })
	replies := &run.Replies{Store: h.Store, Clock: c.Clock, Purged: memory.Purged}
	h.Prompts = &Prompts{config: c, policies: h.Policies, plugins: h.Plugins}
	h.Reflections = &Reflections{config: c, journal: h.Journal, governance: h.Governance, jobs: h.Jobs, plugins: h.Plugins}
	options := memory.Options{
		Store: h.Store, Clock: c.Clock, IDs: c.IDs, Governor: h.Governance,
		Reflection: h.Policies, Retention: h.Policies, Gate: gate.New(h.Policies), DeferGate: c.DeferGate,
		Evidence: gate.Evidence{}, Injection: injectedMemories{}, Near: near, Embedder: embedder, Summarizer: h.Prompts.summarizer(), Observed: h.Reflections.triggers(), Ended: countTurn, RunOf: func(ctx context.Context) string { return plugin.ScopeOf(ctx).RunID },
		Forgetters: []core.Forgetter{run.Memories{}, job.Memories{}, replies, h.Keys, h.Snapshots}, DepthBoost: c.Settings.DepthBoost(),
		Observer: c.Observe.Work, Subscribers: c.Subscribers,
	}
	if c.GateJobs {
		options.Turned = h.Workers.turned
	}
	if h.Memories, err = memory.New(options); err != nil {
		return err
	}
	h.closers.add(func() error { h.Memories.Close(); return nil })
	h.Plugins.recall = &memory.Recaller{Memories: h.Memories, Runs: h.Runs}
	h.Workers.memories, h.Prompts.memories, h.Reflections.memories = h.Memories, h.Memories, h.Memories
	h.Evidence = &gate.Recorder{Writer: h.Journal, Memories: h.Memories}
	h.Injections = h.Prompts.builder(h.Snapshots)
	h.Dreams = &Dreams{c, h.Databases, embedder, h.Memories, h.Jobs, h.Reflections}
	h.Discoveries = &Discoveries{runs: h.Runs}
	h.Runner = &Runner{
		config: c, runs: h.Runs, replies: replies, plugins: h.Plugins, policies: h.Policies, memories: h.Memories, evidence: h.Evidence,
		injections: h.Injections, tenants: h.Tenants, ended: &h.Discoveries.ended,
	}
	h.Limits = &Limits{config: c, id: h.ID, store: h.Store}
	return nil
}

// Close stops the background work and the plugins, writes the decisions that are queued
// and closes the store, in the reverse order of their opening. It is idempotent.
func (h *Host) Close() error { return h.closers.close() }

// closers undo what was opened, the newest first.
type closers struct {
	mu     sync.Mutex
	undo   []func() error
	closed bool
	once   sync.Once
	err    error // of closing
}

// add adds a function that undoes an opening. After close it is called at once.
func (c *closers) add(undo func() error) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.undo = append(c.undo, undo)
	}
	c.mu.Unlock()
	if closed {
		_ = undo() // the call that opened it will fail, since it is closed now
	}
}

// next removes and returns what is undone next; nil at the end.
func (c *closers) next() (undo func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.undo); n > 0 {
		undo, c.undo = c.undo[n-1], c.undo[:n-1]
	}
	c.closed = undo == nil
	return undo
}

// close returns the same error each time.
func (c *closers) close() error {
	c.once.Do(func() {
		for undo := c.next(); undo != nil; undo = c.next() {
			c.err = errors.Join(c.err, undo())
		}
	})
	return c.err
}
