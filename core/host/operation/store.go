package operation

import (
	"context"
	"github.com/reflectory/reflectory/core/job"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// stores are the operations on the whole store. There is no operation to restore a
// backup, since no host may have the store open then: see [host.Restore].
func stores() []Operation {
	return []Operation{
		define(Operation{
			Name: "store_check", Method: "POST", Path: "/v1/store/check", Scope: core.ScopeOperate, Idempotent: true, Long: true,
			Doc: "Prove that records, indices, links and events agree; with repair, first rebuild what can be derived from other records.",
		}, inAll[StoreCheck], storeCheck),
		define(Operation{
			Name: "store_export", Method: "GET", Path: "/v1/store/export", Scope: core.ScopeStoreExport, ReadOnly: true, Idempotent: true, Long: true, Sink: true,
			Doc: "Write everything in the store as JSON Lines.",
		}, inAll[StoreExport], storeExport),
		define(Operation{
			Name: "store_import", Method: "POST", Path: "/v1/store/import", Scope: core.ScopeStoreImport, Destructive: true, Long: true, Body: true,
			Doc: "Replace the store with an export, sent as the body, or add namespaces from it.",
		}, inAll[StoreImport], storeImport),
		define(Operation{
			Name: "store_backup", Method: "POST", Path: "/v1/store/backup", Scope: core.ScopeOperate, Long: true, Job: job.Workflow,
			Doc: "Copy the store, as it is now, to a new folder on the host's machine.",
		}, inAllTo(func(in *StoreBackup) *string { return &in.Folder }), storeBackup),
		define(Operation{
			Name: "store_prune", Method: "POST", Path: "/v1/store/prune", Scope: core.ScopeOperate, Destructive: true, Long: true, Job: job.Workflow,
			Doc: "Move decisions and finished runs to files if they are older than the settings keep them.",
		}, inAllTo(func(in *StorePrune) *string { return &in.Folder }), storePrune),
	}
}

// MaxProblems is how many problems a check lists. All are counted.
const MaxProblems = 1000

// StoreCheck asks whether everything in the store agrees.
type StoreCheck struct {
	// Repair first rebuilds derived data.
	Repair bool `json:"repair,omitempty"`
}

// StoreChecked is the result of a check. An inconsistent store is a result, not an error.
type StoreChecked struct {
	Valid bool `json:"valid"`
	// Repaired is whether derived data was rebuilt before the check.
	Repaired bool `json:"repaired"`
	// Count counts all problems; Problems are the first ones, up to [MaxProblems].
	Count    int            `json:"count"`
	Problems []core.Problem `json:"problems"`
}

func storeCheck(ctx context.Context, c *Call, in *StoreCheck) (*StoreChecked, error) {
	parts, err := host.Checkers(c.Host.Store)
	if err != nil {
		return nil, err
	}
	out := &StoreChecked{Repaired: in.Repair, Problems: []core.Problem{}}
	if in.Repair {
		if err := store.Rebuild(ctx, c.watched(store.Rebuilding), parts); err != nil {
			return nil, err
		}
	}
	out.Count, err = store.Check(ctx, c.watched(store.Checking), parts, func(p core.Problem) {
		if len(out.Problems) < MaxProblems {
			out.Problems = append(out.Problems, p)
		}
	})
	if err != nil {
		return nil, err
	}
	out.Valid = out.Count == 0
	return out, nil
}

// watched is the store, with progress reported as it is read.
func (c *Call) watched(doing store.Doing) core.Store {
	tell := func(records int64) { c.moving(store.Work{Doing: doing, Records: records}) }
	tell(0)
	return store.Watch(c.Host.Store, tell)
}

// moving reports the progress of an export or import.
func (c *Call) moving(w store.Work) {
	c.progress(Progress{Doing: string(w.Doing), What: "records", Done: w.Records, Total: w.Total, Bytes: w.Bytes})
}

// StoreExport asks for everything in the store, which is written to the call's sink.
type StoreExport struct{}

func storeExport(ctx context.Context, c *Call, _ *StoreExport) (*store.Moved, error) {
	if c.Sink == nil {
		return nil, sdk.Errorf(sdk.Invalid, "sink_missing", "the export has no destination").WithHint("give the call a sink")
	}
	moved, err := c.Host.Storage.Export(ctx, c.Sink, c.moving)
	if err != nil {
		return nil, err
	}
	return &moved, nil
}

// StoreImport determines how the export in the call's body is imported.
type StoreImport struct {
	// Replace allows replacing a store that isn't empty, whose data is lost.
	Replace bool `json:"replace,omitempty"`
	// Namespaces are the namespaces to add to the existing store: each a namespace, or,
	// with /** at the end, a namespace and everything below it. None means everything,
	// replacing the store.
	Namespaces []string `json:"namespaces,omitempty"`
}

func storeImport(ctx context.Context, c *Call, in *StoreImport) (*host.Imported, error) {
	if c.Body == nil {
		return nil, bodyMissing("an export")
	}
	return c.Host.Storage.Import(ctx, c.Body, host.ImportOptions{Replace: in.Replace, Namespaces: in.Namespaces, Progress: c.moving})
}

// StoreBackup names a folder of the host's machine that doesn't exist yet. A caller over the
// network names one below the folder of the setting backup_dir, by a path from there or a whole
// path.
type StoreBackup struct {
	Folder string `json:"folder"`
	// All includes the policies, the lock, the trust file and the copied packages.
	All bool `json:"all,omitempty"`
}

// Backup names the folder with a copy of the store, and the host's data that isn't in it.
type Backup struct {
	Folder  string      `json:"folder"`
	LeftOut []host.Part `json:"left_out"`
}

func storeBackup(ctx context.Context, c *Call, in *StoreBackup) (*Backup, error) {
	if in.Folder == "" {
		return nil, sdk.Errorf(sdk.Invalid, "folder_invalid", "folder is empty").WithHint("give a folder that doesn't exist yet: it is created").WithDetail("field", "folder")
	}
	leftOut, err := c.Host.Storage.Backup(ctx, in.Folder, in.All)
	if err != nil {
		return nil, err
	}
	return &Backup{in.Folder, leftOut}, nil
}

// StorePrune moves old data out of the store.
type StorePrune struct {
	// DryRun only counts what would be pruned.
	DryRun bool `json:"dry_run,omitempty"`
	// Folder is where the files are written, on the host's machine; "" is segments in the
	// data folder. A caller over the network names one below the folder of the setting
	// backup_dir.
	Folder string `json:"folder,omitempty"`
}

// Pruned is what was pruned, or would be pruned. A kind of data that is kept for ever is
// nil.
type Pruned struct {
	DryRun    bool              `json:"dry_run"`
	Folder    string            `json:"folder"`
	Decisions *store.PrunedPart `json:"decisions,omitempty"`
	Runs      *store.PrunedPart `json:"runs,omitempty"`
}

func storePrune(ctx context.Context, c *Call, in *StorePrune) (*Pruned, error) {
	out := &Pruned{DryRun: in.DryRun, Folder: in.Folder}
	if out.Folder == "" {
		out.Folder = host.SegmentDir(c.Host.Config.Settings)
	}
	done, err := store.Prune(ctx, c.Host.Journal, store.PruneOptions{
		Parts: c.Host.Storage.Prunable(), Dir: out.Folder, DryRun: in.DryRun,
		RecordHeads: func(ctx context.Context) error {
			_, err := c.Host.Membership.RecordRoot(ctx)
			return err
		},
		Progress: func(p store.PrunedPart) { c.progress(Progress{Doing: p.Name, What: "entries", Done: int64(p.Entries)}) },
	})
	if err != nil {
		return nil, err
	}
	for i := range done {
		if done[i].Name == host.PrunedRuns {
			out.Runs = &done[i]
		} else {
			out.Decisions = &done[i]
		}
	}
	return out, nil
}
