package cli

import (
	"context"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// Offers from the store, the plugins and the program itself.
var (
	runIDs         = offer{values: fromStore(offerRuns)}
	snapshotIDs    = offer{values: fromStore(offerSnapshots)}
	jobIDs         = offer{values: fromStore(offerJobs)}
	workflows      = offer{values: fromStore(offerWorkflows)}
	memoryIDs      = offer{values: fromStore(offerMemories)}
	pendingIDs     = offer{values: fromStore(offerPending)}
	knowledgeIDs   = offer{values: fromStore(offerKnowledge)}
	namespaces     = offer{values: fromStore(offerNamespaces)}
	sessions       = offer{values: fromStore(offerSessions)}
	streams        = offer{values: fromStore(offerStreams)}
	pluginNames    = offer{values: offerPlugins}
	servedModels   = offer{values: offerModels}
	policyPoints   = offer{values: offerPoints}
	workflowBlocks = offer{values: func(context.Context, *App) []string { return blockNames() }}
	fields         = offer{values: func(context.Context, *App) []string { return offerFields("") }}
	fieldValues    = offer{values: func(context.Context, *App) []string { return offerFields("=") }, open: true}
	languages      = offer{values: func(context.Context, *App) []string { return languageNames() }}
	memoryKinds    = oneOf("observation", "semantic", "procedural", "notification", "reflection")
	memoryStates   = offer{values: offerStates}
	relations      = oneOf(core.RelationReflectsOn, core.RelationSupersedes, core.RelationContradicts,
		core.RelationDerivedFrom, core.RelationConsolidatedFrom, core.RelationRelatedTo)
)

// offerModels are the models that the gateway serves.
func offerModels(_ context.Context, a *App) []string {
	s, err := gateway.Read(a.config)
	if err != nil {
		return nil
	}
	return s.Names(operatorsModels)
}

// fromStore offers results of operations that read the store: none if there is no store,
// or another program has it open.
func fromStore(list func(ctx context.Context, a *App) []string) func(context.Context, *App) []string {
	return func(ctx context.Context, a *App) []string {
		if a.remote() {
			return list(ctx, a)
		}
		if a.config.Shared() {
			return nil // a shell doesn't wait for a database
		}
		if presence, err := pebble.Look(host.StoreDir(a.config)); err != nil || !presence.Exists || presence.Holder != nil {
			return nil
		}
		return list(ctx, a)
	}
}

// paged are the values that an operation lists, from the first pages up to maxLooked. If
// a page fails, it returns the values so far.
func paged[T any](value func(T) string, page func(operation.Paging) ([]T, string, error)) (values []string) {
	paging := operation.Paging{Limit: operation.MaxLimit}
	for len(values) < maxLooked {
		items, next, err := page(paging)
		if err != nil {
			return values
		}
		for _, item := range items {
			values = append(values, value(item))
		}
		if paging.PageToken = next; next == "" {
			return values
		}
	}
	return values
}

// pageItems are a page's items and the token of the next page.
func pageItems[T any](p *operation.Page[T], err error) ([]T, string, error) {
	if err != nil {
		return nil, "", err
	}
	return p.Items, p.NextPageToken, nil
}

// runValues offers a value of each run, the newest first.
func runValues(ctx context.Context, a *App, value func(operation.RunSummary) string) []string {
	return paged(value, func(p operation.Paging) ([]operation.RunSummary, string, error) {
		return pageItems(do[operation.Page[operation.RunSummary]](ctx, a, "run_list", &operation.RunList{Paging: p}))
	})
}

func offerRuns(ctx context.Context, a *App) []string {
	return runValues(ctx, a, func(r operation.RunSummary) string { return described(r.RunID, r.Workflow+", "+string(r.Status)) })
}

func offerJobs(ctx context.Context, a *App) []string {
	return paged(func(j job.Job) string { return described(j.ID, string(j.Type)+", "+string(j.Status)) }, func(p operation.Paging) ([]job.Job, string, error) {
		page, err := do[operation.JobPage](ctx, a, "job_list", &operation.JobList{Paging: p})
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.NextPageToken, nil
	})
}

func offerSnapshots(ctx context.Context, a *App) (all []string) {
	for _, n := range namespaceCounts(ctx, a) {
		page, err := do[operation.Page[*inject.Snapshot]](ctx, a, "snapshot_list", &operation.SnapshotList{
			Namespace: n.Namespace, Paging: operation.Paging{Limit: maxOffers},
		})
		if err != nil || len(all) > maxLooked {
			return all
		}
		for _, s := range page.Items {
			all = append(all, described(s.SnapshotID, s.SessionID))
		}
	}
	return all
}

func jobStatuses(context.Context, *App) []string { return texts(job.Statuses()) }
func statsScopes(context.Context, *App) []string { return texts(operation.StatsScopes()) }
func jobTypes(context.Context, *App) []string    { return texts(job.Types()) }

func offerWorkflows(ctx context.Context, a *App) []string {
	seen := map[string]bool{}
	return runValues(ctx, a, func(r operation.RunSummary) string {
		if seen[r.Workflow] {
			return ""
		}
		seen[r.Workflow] = true
		return r.Workflow
	})
}

func offerMemories(ctx context.Context, a *App) []string {
	return paged(func(m *core.Memory) string { return described(m.ID, m.Title) }, func(p operation.Paging) ([]*core.Memory, string, error) {
		found, err := do[operation.Memories](ctx, a, "memory_list", &operation.MemoryList{Subtree: true, Paging: p})
		if err != nil {
			return nil, "", err
		}
		return found.Items, found.NextPageToken, nil
	})
}

func offerPending(ctx context.Context, a *App) []string {
	return paged(func(p *memory.Pending) string { return described(p.ID, p.Request.Title) }, func(p operation.Paging) ([]*memory.Pending, string, error) {
		return pageItems(do[operation.Page[*memory.Pending]](ctx, a, "memory_pending", &operation.MemoryPending{Paging: p}))
	})
}

func offerKnowledge(ctx context.Context, a *App) (all []string) {
	for _, n := range namespaceCounts(ctx, a) {
		page, err := do[operation.Page[*core.Knowledge]](ctx, a, "knowledge_list", &operation.KnowledgeList{
			Namespace: n.Namespace, Paging: operation.Paging{Limit: maxOffers},
		})
		if err != nil || len(all) > maxLooked {
			return all
		}
		for _, k := range page.Items {
			all = append(all, described(k.ID, k.Title))
		}
	}
	return all
}

// namespaceCounts are the namespaces with memories.
func namespaceCounts(ctx context.Context, a *App) []memory.NamespaceCount {
	page, err := do[operation.Page[memory.NamespaceCount]](ctx, a, "memory_namespaces", &operation.MemoryNamespaces{})
	if err != nil {
		return nil
	}
	return page.Items
}

func offerNamespaces(ctx context.Context, a *App) (all []string) {
	for _, n := range namespaceCounts(ctx, a) {
		all = append(all, described(n.Namespace, plural(int(n.Memories), "memory", "memories")))
	}
	return all
}

func offerSessions(ctx context.Context, a *App) []string {
	return paged(func(s memory.Session) string { return described(s.Session, s.Namespace) }, func(p operation.Paging) ([]memory.Session, string, error) {
		return pageItems(do[operation.Page[memory.Session]](ctx, a, "session_list", &operation.SessionList{Paging: p}))
	})
}

// failureClasses are the values of feedback's failure class.
func failureClasses() (names []string) {
	for _, class := range core.FailureClasses() {
		names = append(names, string(class))
	}
	return names
}

func offerStreams(ctx context.Context, a *App) []string {
	return paged(func(s journal.StreamHead) string { return described(s.Stream, plural(int(s.Seq), "entry", "entries")) },
		func(p operation.Paging) ([]journal.StreamHead, string, error) {
			return pageItems(do[operation.Page[journal.StreamHead]](ctx, a, "audit_streams", &operation.AuditStreams{Paging: p}))
		})
}

func offerPlugins(ctx context.Context, a *App) []string {
	return paged(func(p host.PluginSummary) string { return described(p.Name, p.Version) }, func(p operation.Paging) ([]host.PluginSummary, string, error) {
		return pageItems(do[operation.Page[host.PluginSummary]](ctx, a, "plugin_list", &operation.PluginList{Paging: p}))
	})
}

func offerPoints(context.Context, *App) []string {
	var all []string
	for _, p := range policypoint.Points() {
		all = append(all, string(p))
	}
	return all
}

// offerFields are the settings of namespaces, each followed by after.
func offerFields(after string) []string {
	var all []string
	for _, f := range governance.Fields() {
		all = append(all, described(f.Name+after, f.What))
	}
	return append(all, "locked"+after)
}

// languageNames are the languages of plugin templates.
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
func runStatuses(context.Context, *App) []string { return texts(core.RunStatuses()) }
