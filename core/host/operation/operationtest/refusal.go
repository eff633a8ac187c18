package operationtest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
)

// The parts of refused requests: an id of nothing, an invalid id, a prefix of every id,
// an invalid namespace, and a text above every limit.
const (
	nothing   = "ffffffff-0000-7000-8000-00000000dead"
	noID      = "no/id"
	ambiguous = "00000000-0000"
	badSpace  = "team//mail"
)

// limit and token are pages that no list has.
var limit, token = operation.Paging{Limit: operation.MaxLimit + 1}, operation.Paging{PageToken: "none"}

func tooLong() string { return strings.Repeat("x", 2000) }

// request makes a case from a request about something that doesn't exist in the world.
func request[In any](name, what string, in In) Case {
	return Case{Operation: name, Name: what, Make: func(*World) any { copied := in; return &copied }}
}

// refusals are the refused requests of a caller who may do everything.
func refusals() []Case {
	return slices.Concat(
		auditRefusals(), sessionRefusals(), dreamRefusals(), stepRefusals(), gateRefusals(),
		governanceRefusals(), jobRefusals(), knowledgeRefusals(), memoryRefusals(), snapshotRefusals(),
		changeRefusals(), hostRefusals(), storeRefusals(),
	)
}

func auditRefusals() []Case {
	return []Case{
		request("audit_entries", "no stream", operation.AuditEntries{Stream: "none"}),
		request("audit_entries", "no run", operation.AuditEntries{Stream: "run/" + nothing}),
		request("audit_entries", "limit", operation.AuditEntries{Stream: journal.RootStream, Paging: limit}),
		request("audit_entries", "page", operation.AuditEntries{Stream: journal.RootStream, Paging: token}),
		request("audit_streams", "limit", operation.AuditStreams{Paging: limit}),
		request("audit_streams", "page", operation.AuditStreams{Paging: token}),
		request("audit_verify", "empty head", operation.AuditVerify{Head: new(string)}),
		request("audit_verify", "bad head", operation.AuditVerify{Head: new("no head")}),
	}
}

// sessionRefusals are the refusals of sessions and what a turn looks for.
func sessionRefusals() []Case {
	return []Case{
		request("discover", "no intent", operation.Discover{Namespace: badSpace}),
		request("discover", "too long", operation.Discover{Intent: strings.Repeat("x", operation.MaxIntent+1), Namespace: Here}),
		request("session_reset", "nothing", operation.SessionReset{Session: "none"}),
		request("session_resume", "nothing", operation.SessionResume{Session: "none"}),
		request("session_list", "limit", operation.SessionList{Paging: limit}),
		request("session_list", "namespace", operation.SessionList{Namespace: badSpace}),
	}
}

// dreamRefusals are the refusals of the dream pass.
func dreamRefusals() []Case {
	return []Case{
		request("dream_dates", "no text", operation.DreamDates{}),
		request("dream_dates", "no time", operation.DreamDates{Text: "yesterday", At: "noon"}),
		request("dream_dates", "too long", operation.DreamDates{Text: strings.Repeat("x", operation.MaxDreamText+1)}),
		request("dream_apply", "no plan", operation.DreamApply{ID: nothing}),
		request("dream_conflicts", "limit", operation.DreamConflicts{Namespace: Here, Paging: limit}),
		request("dream_conflicts", "namespace", operation.DreamConflicts{Namespace: badSpace}),
		request("dream_list", "limit", operation.DreamList{Namespace: Here, Paging: limit}),
		request("dream_list", "namespace", operation.DreamList{Namespace: badSpace}),
		request("dream_list", "page", operation.DreamList{Namespace: Here, Paging: token}),
		request("dream_plan", "decay", operation.DreamPlan{DreamPass: operation.DreamPass{Namespace: Here, Options: dream.Options{Decay: "none"}}}),
		request("dream_run", "mode", operation.DreamPass{Namespace: Here, Mode: "sometimes"}),
		request("dream_run", "namespace", operation.DreamPass{Namespace: badSpace}),
		request("dream_show", "no plan", operation.DreamShow{ID: nothing}),
		request("dream_undo", "no plan", operation.DreamUndo{ID: nothing}),
		{"dream_undo", "no step", func(w *World) any { return &operation.DreamUndo{ID: w.Plan(), Step: 99} }, Nothing},
		request("dream_compare", "no text", operation.DreamCompare{B: "x"}),
		request("dream_compare", "too long", operation.DreamCompare{A: "x", B: strings.Repeat("x", operation.MaxDreamText+1)}),
		request("dream_calibrate", "no text", operation.DreamCalibrate{Pairs: []dream.LabelledPair{{B: "x"}}}),
		request("dream_calibrate", "few", operation.DreamCalibrate{Pairs: []dream.LabelledPair{{A: "x", B: "x", Same: true}}}),
	}
}

// stepRefusals are the refusals of single calls of plugins.
func stepRefusals() []Case {
	return []Case{
		request("correct", "corrector", operation.Correct{Corrector: "plugin: [", Namespace: Here, Output: []byte(`1`)}),
		request("correct", "namespace", operation.Correct{Corrector: JudgeYAML, Namespace: badSpace, Output: []byte(`1`)}),
		request("correct", "no output", operation.Correct{Corrector: JudgeYAML, Namespace: Here}),
		request("evaluate", "evaluator", operation.Evaluate{Evaluator: "plugin: [", Namespace: Here, Output: []byte(`1`)}),
		request("evaluate", "namespace", operation.Evaluate{Evaluator: JudgeYAML, Namespace: badSpace, Output: []byte(`1`)}),
		request("evaluate", "state", operation.Evaluate{Evaluator: JudgeYAML, Namespace: Here, Output: []byte(`1`), State: []byte(`[`)}),
	}
}

// gateRefusals are the refusals of the gate and its evidence.
func gateRefusals() []Case {
	return []Case{
		request("evidence_dag", "cycle", operation.EvidenceDAG{WorkflowDAG: core.WorkflowDAG{
			Workflow: "w", Entry: []string{"a"}, Exits: []string{"b"}, Edges: [][2]string{{"a", "b"}, {"b", "a"}}, Memories: map[string][]string{},
		}}),
		request("evidence_omega", "no memory", operation.EvidenceOmega{OmegaEvidence: gate.OmegaEvidence{
			MemoryID: nothing, OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: new(0.5)},
		}}),
		request("evidence_omega", "no factor", operation.EvidenceOmega{OmegaEvidence: gate.OmegaEvidence{MemoryID: nothing}}),
		request("evidence_omega", "factor", operation.EvidenceOmega{OmegaEvidence: gate.OmegaEvidence{
			MemoryID: nothing, OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: new(2.0)},
		}}),
		request("evidence_tool", "no memory", operation.EvidenceTool{Outcomes: operation.Outcomes{
			{MemoryID: nothing, Session: "s", Turn: 1, Tool: "t", OK: true},
		}}),
		request("gate_explain", "no memory", operation.GateExplain{ID: nothing}),
		request("gate_explain", "factor", operation.GateExplain{ID: nothing, OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: new(2.0)}}),
		request("gate_request", "no memory", operation.GateRequest{ID: nothing, Erase: true, Reason: "it is wrong"}),
		{"gate_request", "no erase", func(w *World) any { return &operation.GateRequest{ID: w.Memory(), Reason: "it is wrong"} }, Nothing},
		{"gate_request", "no reason", func(w *World) any { return &operation.GateRequest{ID: w.Memory(), Erase: true} }, Nothing},
		{"gate_request", "long reason", func(w *World) any { return &operation.GateRequest{ID: w.Memory(), Erase: true, Reason: tooLong()} }, Nothing},
		request("gate_run", "no memory", operation.GateRun{ID: nothing}),
		{"gate_run", "not waiting", func(w *World) any { return &operation.GateRun{ID: w.Memory()} }, Nothing},
		{"gate_run", "factor", func(w *World) any {
			return &operation.GateRun{ID: w.Waiting(), OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: new(2.0)}}
		}, Nothing},
	}
}

func governanceRefusals() []Case {
	return []Case{
		request("governance_explain", "namespace", operation.GovernanceExplain{Namespace: badSpace}),
		request("governance_get", "namespace", operation.GovernanceGet{Namespace: badSpace}),
		request("governance_set", "namespace", operation.GovernanceSet{Namespace: badSpace, Assignments: []string{"max_reflection_depth=2"}}),
		request("governance_set", "fields", operation.GovernanceSet{Namespace: Here, Assignments: []string{"max_depth=2", "max_reflection_depth=x"}}),
		{"governance_set", "locked", func(w *World) any {
			_, err := w.Host.Governance.Set(w.Ctx, core.EveryNamespace, "locked=max_reflection_depth")
			w.Must(err)
			return &operation.GovernanceSet{Namespace: Here, Assignments: []string{"max_reflection_depth=2"}}
		}, Nothing},
		request("governance_unset", "field", operation.GovernanceUnset{Namespace: Here, Fields: []string{"max_depth"}}),
	}
}

// jobRefusals are the refusals of jobs, reflections too.
func jobRefusals() []Case {
	return []Case{
		request("job_cancel", "nothing", operation.JobCancel{ID: nothing}),
		request("job_enqueue", "type", operation.JobEnqueue{Type: job.Reflection, Namespace: Here}),
		request("job_enqueue", "namespace", operation.JobEnqueue{Type: job.Reembed, Namespace: badSpace}),
		request("job_result", "nothing", operation.JobResultGet{ID: nothing}),
		request("job_result", "no id", operation.JobResultGet{ID: noID}),
		{"job_result", "another user's", func(w *World) any { return &operation.JobResultGet{ID: w.Job(Here), UserID: "somebody"} }, Nothing},
		request("job_get", "nothing", operation.JobGet{ID: nothing}),
		request("job_get", "no id", operation.JobGet{ID: noID}),
		{"job_get", "another user's", func(w *World) any { return &operation.JobGet{ID: w.Job(Here), UserID: "somebody"} }, Nothing},
		request("job_list", "type and status", operation.JobList{Type: "reflect", Status: "done"}),
		request("job_list", "namespace", operation.JobList{Namespace: badSpace}),
		request("job_list", "limit", operation.JobList{Paging: limit}),
		request("job_list", "page", operation.JobList{Paging: token}),
		request("reflection_enqueue", "fields", operation.ReflectionEnqueue{Namespace: badSpace, MaxInsights: 51, Focus: strings.Repeat("x", 501)}),
		request("reflection_enqueue", "user", operation.ReflectionEnqueue{UserID: "a/b"}),
	}
}

func knowledgeRefusals() []Case {
	return []Case{
		request("knowledge_get", "nothing", operation.KnowledgeGet{ID: nothing}),
		request("knowledge_get", "no id", operation.KnowledgeGet{ID: noID}),
		request("knowledge_list", "namespace", operation.KnowledgeList{Namespace: badSpace}),
		request("knowledge_list", "limit", operation.KnowledgeList{Namespace: Here, Paging: limit}),
		request("knowledge_list", "page", operation.KnowledgeList{Namespace: Here, Paging: token}),
		request("knowledge_recall", "no query", memory.KnowledgeQuery{Namespace: Here}),
		request("knowledge_recall", "limit", memory.KnowledgeQuery{Namespace: Here, Query: "q", Limit: 1000}),
		request("knowledge_recall", "namespace", memory.KnowledgeQuery{Namespace: badSpace, Query: "q"}),
	}
}

func memoryRefusals() []Case {
	return []Case{
		request("memory_approve", "nothing", operation.MemoryApprove{ID: nothing}),
		request("memory_approve", "no id", operation.MemoryApprove{ID: noID}),
		request("memory_explain", "nothing", operation.MemoryExplain{ID: nothing}),
		request("memory_explain", "no id", operation.MemoryExplain{ID: noID}),
		request("memory_feedback", "no turn", core.FeedbackRequest{Session: "s", Turn: 7, Outcome: core.OutcomeSuccess}),
		request("memory_feedback", "outcome", core.FeedbackRequest{Session: "s", Turn: 7, Outcome: "good"}),
		{"memory_feedback", "not offered", func(w *World) any {
			f := w.Asked(w.Memory())
			f.Used = []string{nothing}
			return f
		}, Nothing},
		request("memory_get", "nothing", operation.MemoryGet{ID: nothing}),
		request("memory_get", "no id", operation.MemoryGet{ID: noID}),
		{"memory_get", "several", func(w *World) any { w.Memory(); w.Memory(); return &operation.MemoryGet{ID: ambiguous} }, Nothing},
		{"memory_get", "purged", func(w *World) any {
			id := w.Memory()
			_, err := w.Host.Memories.Gate.Erase(w.Ctx, id, memory.EraseRequest{Reason: "it is wrong"})
			w.Must(err)
			return &operation.MemoryGet{ID: id}
		}, Nothing},
		{"memory_link", "no memory", func(w *World) any {
			return &memory.LinkRequest{From: w.Memory(), Relation: "supports", To: nothing}
		}, Nothing},
		{"memory_link", "relation", func(w *World) any {
			return &memory.LinkRequest{From: w.Memory(), Relation: "No Word", To: w.Memory()}
		}, Nothing},
		request("memory_list", "namespace", operation.MemoryList{Namespace: badSpace}),
		request("memory_list", "kind and state", operation.MemoryList{Namespace: Here, Kinds: []core.MemoryKind{"semantics"}, States: []core.MemoryState{"aktive"}}),
		request("memory_list", "limit", operation.MemoryList{Namespace: Here, Paging: limit}),
		request("memory_list", "page", operation.MemoryList{Namespace: Here, Paging: token}),
		request("memory_observe", "fields", core.ObserveRequest{
			Namespace: Here, Content: "", Kind: "semantics",
			Attributes: core.Attributes{
				Priority: new(99), Importance: new(2.0), Confidence: new(2.0),
				Tags: []string{strings.Repeat("x", 300)}, OccurredAt: "yesterday", Metadata: json.RawMessage(`[1]`),
			},
		}),
		request("memory_observe", "namespace", core.ObserveRequest{Namespace: badSpace, Content: "a fact"}),
		{"memory_observe", "taken", func(w *World) any {
			return &core.ObserveRequest{ID: w.Memory(), Namespace: Here, Content: "another fact"}
		}, Nothing},
		{"memory_observe", "full", func(w *World) any {
			w.Memory()
			_, err := w.Host.Governance.Set(w.Ctx, Here, "limits.max_memories=1")
			w.Must(err)
			return &core.ObserveRequest{Namespace: Here, Content: "another fact"}
		}, Nothing},
		request("memory_observe_all", "item", operation.MemoryObserveAll{Items: []*core.ObserveRequest{
			{Namespace: Here, Content: "a fact"}, {Namespace: Here, Content: "b", Kind: "semantics"},
		}}),
		request("memory_pending", "namespace", operation.MemoryPending{Namespace: badSpace}),
		request("memory_pending", "limit", operation.MemoryPending{Paging: limit}),
		request("memory_pending", "page", operation.MemoryPending{Paging: token}),
		request("memory_recall", "no query", core.RecallRequest{RecallFilter: core.RecallFilter{Namespace: Here}}),
		request("memory_recall", "limit", core.RecallRequest{Query: "q", Limit: 1000, RecallFilter: core.RecallFilter{Namespace: Here}}),
		request("memory_recall", "filter", core.RecallRequest{Query: "q", RecallFilter: core.RecallFilter{
			Namespace: badSpace, Kinds: []core.MemoryKind{"semantics"}, MinScore: 7,
		}}),
		{"memory_recall", "old turn", func(w *World) any {
			f := w.Asked(w.Memory())
			r := w.Recall(w.Memory(), f.Session)
			_, err := w.Host.Memories.Recall(w.Ctx, r)
			w.Must(err)
			again := w.Recall(w.Memory(), f.Session)
			again.Turn = f.Turn
			return again
		}, Nothing},
	}
}

func snapshotRefusals() []Case {
	return []Case{
		request("snapshot_build", "fields", inject.BuildRequest{
			Namespace: Here, Turn: -1, Complexity: new(2.0), Policy: &inject.PolicyRequest{Policy: inject.Policy{Mode: "both", Enabled: []inject.Category{}}},
		}),
		request("snapshot_build", "blocks", inject.BuildRequest{Namespace: Here, Session: "s", Turn: 1, Blocks: []inject.Draft{
			{}, {BlockID: "b", Category: "memories", Payload: "<a>", Format: inject.XML, TTLTurns: new(int64)},
		}}),
		request("snapshot_build", "anchors", inject.BuildRequest{
			Namespace: Here, Session: "s", Turn: 1, Policy: &inject.PolicyRequest{MaxChars: new(10)},
			Blocks: []inject.Draft{{BlockID: "b", Category: inject.Safety, Priority: new(1), Payload: "longer than ten"}},
		}),
		request("snapshot_get", "nothing", operation.SnapshotGet{ID: nothing}),
		request("snapshot_list", "limit", operation.SnapshotList{Namespace: Here, Paging: limit}),
		request("snapshot_list", "page", operation.SnapshotList{Namespace: Here, Paging: token}),
		{"snapshot_diff", "first", func(w *World) any { return &operation.SnapshotDiff{ID: w.Snapshot()} }, Nothing},
	}
}

// changeRefusals are the refusals of what changes memories that are there.
func changeRefusals() []Case {
	return []Case{
		request("memory_reembed", "namespace", operation.MemoryReembed{Namespace: badSpace}),
		request("memory_reflect", "no source", core.ReflectRequest{SourceIDs: []string{nothing}, Title: "t", Content: "c"}),
		request("memory_reflect", "nothing", core.ReflectRequest{}),
		{"memory_reflect", "too deep", func(w *World) any {
			_, err := w.Host.Governance.Set(w.Ctx, Here, "max_reflection_depth=1")
			w.Must(err)
			r := w.Reflection(w.Memory())
			made, err := w.Host.Memories.Reflect(w.Ctx, r)
			w.Must(err)
			return w.Reflection(made.ID)
		}, Nothing},
		{"memory_reflect", "another depth", func(w *World) any {
			r := w.Reflection(w.Memory())
			r.Depth = new(3)
			return r
		}, Nothing},
		request("memory_reject", "nothing", operation.MemoryReject{ID: nothing}),
		{"memory_reject", "long reason", func(w *World) any { return &operation.MemoryReject{ID: w.Pending(Here), Reason: tooLong()} }, Nothing},
		request("memory_restore", "nothing", operation.MemoryRestore{ID: nothing}),
		request("memory_sweep", "namespace", operation.MemorySweep{Namespace: badSpace}),
	}
}

// hostRefusals are the refusals of plugins, policies and runs.
func hostRefusals() []Case {
	return []Case{
		request("plugin_list", "limit", operation.PluginList{Paging: limit}),
		request("plugin_list", "page", operation.PluginList{Paging: token}),
		request("plugin_logs", "lines", operation.PluginLogs{Name: "test/judge", Lines: -1}),
		request("plugin_logs", "after", operation.PluginLogs{Name: "test/judge", After: "nowhere"}),
		request("plugin_logs", "name", operation.PluginLogs{Name: "../judge"}),
		request("policy_push", "candidate", operation.PolicyPush{Files: map[string]string{"retention/all.yaml": "rule: {match: [{output: '1 +'}]}"}}),
		request("policy_replay", "candidate", operation.PolicyReplay{Files: map[string]string{"retention/all.yaml": "rule: {match: [{output: '1 +'}]}"}}),
		request("run_get", "nothing", operation.RunGet{ID: nothing}),
		request("run_get", "no id", operation.RunGet{ID: noID}),
		request("run_list", "status", operation.RunList{Status: "pased"}),
		request("host_drain", "nothing", operation.HostDrain{ID: nothing}),
		request("stats", "scope", operation.StatsGet{Scope: "memry"}),
		request("stats", "user", operation.StatsGet{UserID: "no user"}),
		request("stats", "namespace", operation.StatsGet{Namespace: badSpace}),
		request("run_list", "namespace", operation.RunList{Namespace: badSpace}),
		request("run_list", "limit", operation.RunList{Paging: limit}),
		request("run_list", "page", operation.RunList{Paging: token}),
		request("run_replay", "nothing", operation.RunReplay{ID: nothing}),
		{"run_replay", "accept", func(w *World) any { return &operation.RunReplay{ID: w.Run(Here), Accept: "scor > 1"} }, Nothing},
		{"run_replay", "evaluator", func(w *World) any { return &operation.RunReplay{ID: w.Run(Here), Evaluator: "plugin: ["} }, Nothing},
		request("run_resume", "nothing", operation.RunResume{ID: nothing}),
		request("run_start", "workflow", operation.RunStart{Workflow: "nodes: []\nnode: 1\n", Namespace: Here}),
		request("run_start", "namespace", operation.RunStart{Workflow: LostYAML, Namespace: badSpace}),
		request("run_start", "no plugin", operation.RunStart{Workflow: LoopYAML, Namespace: Here}),
		{"run_start", "state", func(*World) any {
			in := &operation.RunStart{Workflow: LostYAML, Namespace: Here}
			in.State = []byte(`{"reflection_output": 1}`)
			return in
		}, Nothing},
		{"run_start", "set", func(*World) any {
			in := &operation.RunStart{Workflow: LostYAML, Namespace: Here}
			in.Set = append(in.Set, struct {
				Path  string          `json:"path"`
				Value json.RawMessage `json:"value"`
			}{"a..b", []byte(`7`)})
			return in
		}, Nothing},
	}
}

func storeRefusals() []Case {
	return []Case{
		request("store_backup", "no folder", operation.StoreBackup{}),
		{"store_backup", "there", func(w *World) any {
			return &operation.StoreBackup{Folder: filepath.Dir(w.File("backup/file", ""))}
		}, Folder},
		{"store_import", "nothing", func(w *World) any { w.emptyStore(); return &operation.StoreImport{} }, Folder},
		{"store_import", "broken", func(w *World) any {
			w.Memory()
			w.Body = w.Export()[:200]
			w.emptyStore()
			return &operation.StoreImport{}
		}, Folder},
		{"store_import", "not empty", func(w *World) any { w.Memory(); w.Body = w.Export(); return &operation.StoreImport{} }, Folder},
		{"store_import", "namespace there", func(w *World) any {
			w.Memory()
			w.Body = w.Export()
			return &operation.StoreImport{Namespaces: []string{Here}}
		}, Folder},
		{"store_prune", "to a folder", func(w *World) any { return &operation.StorePrune{Folder: w.File("file", "")} }, Nothing},
	}
}
