package operationtest

import (
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

// successes are valid requests that [Fixtures], which need no plugin, can only make in a
// refused form.
func successes() []Case {
	return slices.Concat(runSuccesses(), storeSuccesses(), memorySuccesses())
}

// runSuccesses need a plugin, or look at what is installed.
func runSuccesses() []Case {
	judgment := func(make func(id string) any) func(*World) any {
		return func(w *World) any {
			return make(Try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: LoopYAML, Namespace: Here}).ID)
		}
	}
	return []Case{
		{"correct", "done", func(*World) any {
			return &operation.Correct{Corrector: JudgeYAML, Namespace: Here, Output: []byte(`1`), Errors: []byte(`["wrong"]`)}
		}, Judge},
		{"evaluate", "valid", func(*World) any {
			return &operation.Evaluate{Evaluator: JudgeYAML, Namespace: Here, Output: []byte(`2`), State: []byte(`{"a":1}`)}
		}, Judge},
		{"evaluate", "not valid", func(*World) any {
			return &operation.Evaluate{Evaluator: JudgeYAML, Namespace: Here, Output: []byte(`1`)}
		}, Judge},
		{"run_start", "passed", func(*World) any { return &operation.RunStart{Workflow: LoopYAML, Namespace: Here} }, Judge},
		{"run_get", "with attempts", judgment(func(id string) any { return &operation.RunGet{ID: id} }), Judge},
		{"run_replay", "same", judgment(func(id string) any { return &operation.RunReplay{ID: id} }), Judge},
		{"run_replay", "changed", judgment(func(id string) any {
			return &operation.RunReplay{ID: id, Evaluator: "plugin: test/judge\nconfig: {want: 1}\n"}
		}), Judge},
		{"run_resume", "done", judgment(func(id string) any { return &operation.RunResume{ID: id} }), Judge},
		{"plugin_get", "installed", func(*World) any { return &operation.PluginGet{Name: "test/judge"} }, Judge},
		{"plugin_list", "installed", func(*World) any { return &operation.PluginList{} }, Judge},
		{"plugin_logs", "empty", func(*World) any { return &operation.PluginLogs{Name: "test/judge"} }, Judge},
		{"plugin_logs", "from its start", func(*World) any { return &operation.PluginLogs{Name: "test/judge", After: "0000000000000000-0"} }, Judge},
		{"policy_list", "one", func(w *World) any {
			w.File("data/policies/retention/all.yaml", `rule: {match: [{output: '{"ttl_score": 0.1, "state": state}'}]}`)
			return &operation.PolicyList{}
		}, Nothing},
	}
}

// storeSuccesses need a store in a folder.
func storeSuccesses() []Case {
	return []Case{
		{"status", "in a folder", func(w *World) any { w.Memory(); return &operation.StatusGet{} }, Folder},
		{"store_backup", "done", func(w *World) any {
			w.Memory()
			return &operation.StoreBackup{Folder: filepath.Join(w.Folder, "backup")}
		}, Folder},
		{"store_backup", "all", func(w *World) any {
			w.Memory()
			return &operation.StoreBackup{Folder: filepath.Join(w.Folder, "backup"), All: true}
		}, Folder},
		{"store_export", "done", func(w *World) any { w.Memory(); return &operation.StoreExport{} }, Folder},
		{"store_import", "everything", func(w *World) any {
			w.Memory()
			w.Body = w.Export()
			w.emptyStore()
			return &operation.StoreImport{}
		}, Folder},
		{"store_import", "a namespace", func(w *World) any {
			w.Memory()
			w.Body = w.Export()
			w.emptyStore()
			return &operation.StoreImport{Namespaces: []string{Here}}
		}, Folder},
	}
}

// memorySuccesses are requests about what fixtures make, that are special in another way.
func memorySuccesses() []Case {
	return []Case{
		{"store_check", "repair", func(w *World) any { w.Memory(); return &operation.StoreCheck{Repair: true} }, Nothing},
		{"store_prune", "for real", func(w *World) any { w.Memory(); return &operation.StorePrune{} }, Nothing},
		{"audit_verify", "with a head", func(w *World) any {
			w.Memory()
			return &operation.AuditVerify{Head: &Try[operation.Head](w, "audit_head", &operation.AuditHead{}).Text}
		}, Nothing},
		{"memory_get", "by a beginning", func(w *World) any { return &operation.MemoryGet{ID: w.Memory()[:13]} }, Nothing},
		{"memory_list", "a page", func(w *World) any {
			w.Memory()
			w.Memory()
			return &operation.MemoryList{Namespace: Here, Paging: operation.Paging{Limit: 1}}
		}, Nothing},
		{"memory_list", "nothing", func(w *World) any { w.Memory(); return &operation.MemoryList{Namespace: Elsewhere} }, Nothing},
		{"memory_recall", "nothing", func(w *World) any {
			w.Memory()
			return &core.RecallRequest{Query: "harbour", RecallFilter: core.RecallFilter{Namespace: Elsewhere}}
		}, Nothing},
		{"memory_explain", "purged", func(w *World) any {
			id := w.Memory()
			_, err := w.Host.Memories.Gate.Erase(w.Ctx, id, memory.EraseRequest{Reason: "it is wrong"})
			w.Must(err)
			return &operation.MemoryExplain{ID: id}
		}, Nothing},
		{"memory_reflect", "pending", func(w *World) any {
			_, err := w.Host.Governance.Set(w.Ctx, Here, "require_approval_above_depth=0")
			w.Must(err)
			return w.Reflection(w.Memory())
		}, Nothing},
		{"gate_explain", "decided", func(w *World) any { return &operation.GateExplain{ID: w.Promoted().PromotedFrom} }, Nothing},
		{"gate_run", "dry", func(w *World) any {
			return &operation.GateRun{ID: w.Waiting(), DryRun: true, Notes: []string{"a <note>"}}
		}, Nothing},
	}
}
