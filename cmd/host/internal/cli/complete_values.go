package cli

import (
	"context"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// What is offered of the store, the plugins and the program itself.
var (
	runIDs       = offer{values: fromStore(offerRuns)}
	workflows    = offer{values: fromStore(offerWorkflows)}
	memoryIDs    = offer{values: fromStore(offerMemories)}
	pendingIDs   = offer{values: fromStore(offerPending)}
	knowledgeIDs = offer{values: fromStore(offerKnowledge)}
	namespaces   = offer{values: fromStore(offerNamespaces)}
	sessions     = offer{values: fromStore(offerSessions)}
	streams      = offer{values: fromStore(offerStreams)}
	pluginNames  = offer{values: offerPlugins}
	policyPoints = offer{values: offerPoints}
	fields       = offer{values: func(context.Context, *App) []string { return offerFields("") }}
	fieldValues  = offer{values: func(context.Context, *App) []string { return offerFields("=") }, open: true}
	languages    = offer{values: func(context.Context, *App) []string { return languageNames() }}
	memoryKinds  = oneOf("observation", "semantic", "procedural", "notification", "reflection")
	memoryStates = offer{values: offerStates}
	relations    = oneOf(core.RelationReflectsOn, core.RelationSupersedes, core.RelationContradicts,
		core.RelationDerivedFrom, core.RelationConsolidatedFrom, core.RelationRelatedTo)
)

// fromStore offers what the store holds: nothing where there is none, or where another
// program has it open.
func fromStore(fn func(ctx context.Context, db core.Store, a *App) []string) func(context.Context, *App) []string {
	return func(ctx context.Context, a *App) []string {
		if presence, err := pebble.Look(host.StoreDir(a.config)); err != nil || !presence.Exists || presence.Holder != nil {
			return nil
		}
		db, err := pebble.Open(ctx, pebble.Options{Dir: host.StoreDir(a.config)})
		if err != nil {
			return nil
		}
		defer func() { _ = db.Close() }() // nothing was written
		return fn(ctx, db, a)
	}
}

// orNone are values, or none where they couldn't be read.
func orNone[T any](list []T, err error, value func(T) string) []string {
	if err != nil {
		return nil
	}
	values := make([]string, len(list))
	for i, item := range list {
		values[i] = value(item)
	}
	return values
}

func offerRuns(ctx context.Context, db core.Store, _ *App) []string {
	runs, _, err := run.NewRepository(db, core.SystemClock{}).List(ctx, run.ListFilter{Limit: maxLooked})
	return orNone(runs, err, func(r core.Run) string { return described(r.ID, r.Workflow+", "+string(r.Status)) })
}

func offerWorkflows(ctx context.Context, db core.Store, _ *App) []string {
	runs, _, err := run.NewRepository(db, core.SystemClock{}).List(ctx, run.ListFilter{Limit: maxLooked})
	seen := map[string]bool{}
	return orNone(runs, err, func(r core.Run) string {
		if seen[r.Workflow] {
			return ""
		}
		seen[r.Workflow] = true
		return r.Workflow
	})
}

// onMemories offers what the memory knows.
func onMemories[T any](db core.Store, value func(T) string, list func(*memory.Memories) ([]T, error)) []string {
	m, err := memory.New(memory.Options{Store: db})
	if err != nil {
		return nil
	}
	defer m.Close()
	found, err := list(m)
	return orNone(found, err, value)
}

func offerMemories(ctx context.Context, db core.Store, _ *App) []string {
	return onMemories(db, func(m *core.Memory) string { return described(m.ID, m.Title) }, func(m *memory.Memories) ([]*core.Memory, error) {
		page, err := m.List(ctx, memory.ListFilter{Subtree: true, Limit: maxLooked})
		if err != nil {
			return nil, err
		}
		return page.Memories, nil
	})
}

func offerPending(ctx context.Context, db core.Store, _ *App) []string {
	return onMemories(db, func(p *memory.Pending) string { return described(p.ID, p.Request.Title) }, func(m *memory.Memories) ([]*memory.Pending, error) {
		return m.Pending(ctx, memory.PendingFilter{})
	})
}

func offerKnowledge(ctx context.Context, db core.Store, _ *App) []string {
	return onMemories(db, func(k *core.Knowledge) string { return described(k.ID, k.Title) }, func(m *memory.Memories) (all []*core.Knowledge, err error) {
		spaces, err := m.Namespaces(ctx)
		for _, n := range spaces {
			list, _, err := m.ListKnowledge(ctx, memory.KnowledgeFilter{Namespace: n.Namespace, Limit: maxOffers})
			if err != nil || len(all) > maxLooked {
				return all, err
			}
			all = append(all, list...)
		}
		return all, err
	})
}

func offerNamespaces(ctx context.Context, db core.Store, _ *App) []string {
	return onMemories(db, func(n memory.NamespaceCount) string {
		return described(n.Namespace, plural(int(n.Memories), "memory", "memories"))
	}, func(m *memory.Memories) ([]memory.NamespaceCount, error) { return m.Namespaces(ctx) })
}

func offerSessions(ctx context.Context, db core.Store, _ *App) []string {
	return onMemories(db, func(name string) string { return name }, func(m *memory.Memories) ([]string, error) {
		return m.SessionNames(ctx, maxLooked)
	})
}

func offerStreams(ctx context.Context, db core.Store, _ *App) []string {
	var all []string
	err := db.View(ctx, func(r core.Reader) error {
		return journal.Streams(r, func(s journal.StreamHead) (bool, error) {
			all = append(all, described(s.Stream, plural(int(s.Seq), "entry", "entries")))
			return len(all) < maxLooked, ctx.Err()
		})
	})
	return orNone(all, err, func(s string) string { return s })
}

func offerPlugins(_ context.Context, a *App) []string {
	set, err := a.openSet()
	if err != nil {
		return nil
	}
	defer func() { _ = set.Close() }() // only reads
	var all []string
	for _, p := range set.Plugins() {
		all = append(all, described(p.Name, p.Version))
	}
	return all
}

func offerPoints(context.Context, *App) []string {
	var all []string
	for _, p := range core.PolicyPoints() {
		all = append(all, string(p))
	}
	return all
}

// offerFields are the settings of namespaces, each with what follows its name.
func offerFields(after string) []string {
	var all []string
	for _, f := range governance.Fields() {
		all = append(all, described(f.Name+after, f.What))
	}
	return append(all, "locked"+after)
}

// languageNames are what plugins can be begun in.
func languageNames() []string {
	var all []string
	for _, l := range scaffold.Languages() {
		all = append(all, l.Name)
	}
	return all
}

func offerStates(context.Context, *App) []string {
	var all []string
	for _, s := range core.MemoryStates() {
		all = append(all, string(s))
	}
	return all
}

func logLevels(context.Context, *App) []string   { return config.LogLevels() }
func runStatuses(context.Context, *App) []string { return statuses() }
