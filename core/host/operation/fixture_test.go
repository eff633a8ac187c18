package operation_test

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

// fixtures make a valid request of each operation, about something that they make here.
// Each operation of the table has one. Nothing archives a memory yet, and so what may be
// restored is refused for its state.
var fixtures = map[string]func(*world) any{
	"audit_entries":        func(w *world) any { w.memory(); return &operation.AuditEntries{Stream: journal.NamespaceStream(here)} },
	"audit_head":           func(*world) any { return &operation.AuditHead{} },
	"audit_streams":        func(w *world) any { w.memory(); return &operation.AuditStreams{} },
	"audit_verify":         func(*world) any { return &operation.AuditVerify{} },
	"audit_verify_segment": func(*world) any { return &operation.AuditVerifySegment{} }, // an empty file is none
	"correct": func(*world) any {
		return &operation.Correct{Corrector: judgeYAML, Namespace: here, Output: []byte(`1`)}
	},
	"evaluate": func(*world) any {
		return &operation.Evaluate{Evaluator: judgeYAML, Namespace: here, Output: []byte(`1`)}
	},
	"evidence_dag":       func(w *world) any { return &operation.EvidenceDAG{WorkflowDAG: w.graph(w.memory())} },
	"evidence_omega":     func(w *world) any { return w.known(w.memory()) },
	"evidence_tool":      func(w *world) any { return w.outcome(w.memory()) },
	"gate_explain":       func(w *world) any { return &operation.GateExplain{ID: w.memory()} },
	"gate_request":       func(w *world) any { return &operation.GateRequest{ID: w.memory(), Erase: true, Reason: "it is wrong"} },
	"gate_run":           func(w *world) any { return &operation.GateRun{ID: w.waiting()} },
	"governance_explain": func(w *world) any { w.govern(); return &operation.GovernanceExplain{Namespace: here} },
	"governance_get":     func(w *world) any { w.govern(); return &operation.GovernanceGet{Namespace: here} },
	"governance_set": func(*world) any {
		return &operation.GovernanceSet{Namespace: here, Assignments: []string{"max_reflection_depth=2"}}
	},
	"governance_unset":  func(w *world) any { w.govern(); return &operation.GovernanceUnset{Namespace: here} },
	"knowledge_get":     func(w *world) any { return &operation.KnowledgeGet{ID: w.promoted().ID} },
	"knowledge_list":    func(w *world) any { w.promoted(); return &operation.KnowledgeList{Namespace: here} },
	"knowledge_recall":  func(w *world) any { w.promoted(); return &memory.KnowledgeQuery{Namespace: here, Query: "harbour"} },
	"memory_approve":    func(w *world) any { return &operation.MemoryApprove{ID: w.pending(here)} },
	"memory_pending":    func(w *world) any { w.pending(here); return &operation.MemoryPending{} },
	"memory_reject":     func(w *world) any { return &operation.MemoryReject{ID: w.pending(here)} },
	"memory_explain":    func(w *world) any { return &operation.MemoryExplain{ID: w.memory()} },
	"memory_feedback":   func(w *world) any { return w.asked(w.memory()) },
	"memory_get":        func(w *world) any { return &operation.MemoryGet{ID: w.memory()} },
	"memory_link":       func(w *world) any { return &memory.LinkRequest{From: w.memory(), Relation: "supports", To: w.memory()} },
	"memory_list":       func(w *world) any { w.memory(); return &operation.MemoryList{Namespace: here} },
	"memory_namespaces": func(w *world) any { w.memory(); return &operation.MemoryNamespaces{} },
	"memory_observe":    func(*world) any { return &core.ObserveRequest{Namespace: here, Content: "a fact"} },
	"memory_observe_all": func(*world) any {
		return &operation.MemoryObserveAll{Items: []*core.ObserveRequest{{Namespace: here, Content: "a"}}}
	},
	"memory_recall":  func(w *world) any { return w.recall(w.memory(), w.session()) },
	"memory_reembed": func(w *world) any { w.memory(); return &operation.MemoryReembed{Namespace: here} },
	"memory_reflect": func(w *world) any { return w.reflection(w.memory()) },
	"memory_restore": func(w *world) any { return &operation.MemoryRestore{ID: w.memory()} },
	"plugin_get":     func(*world) any { return &operation.PluginGet{Name: "reflectory/none"} }, // none is installed
	"plugin_list":    func(*world) any { return &operation.PluginList{} },
	"plugin_logs":    func(*world) any { return &operation.PluginLogs{Name: "reflectory/none"} },
	"policy_list":    func(*world) any { return &operation.PolicyList{} },
	"policy_replay":  func(w *world) any { return w.replay() },
	"memory_sweep":   func(w *world) any { w.memory(); return &operation.MemorySweep{Namespace: here} },
	"run_get":        func(w *world) any { return &operation.RunGet{ID: w.run(here)} },
	"run_list":       func(w *world) any { w.run(here); return &operation.RunList{Namespace: here} },
	"run_replay":     func(w *world) any { return &operation.RunReplay{ID: w.run(here)} },
	"run_resume":     func(w *world) any { return &operation.RunResume{ID: w.run(here)} },
	// A store in memory is no folder that could be copied, or taken the place of.
	"store_backup": func(*world) any { return &operation.StoreBackup{Folder: "backup"} },
	"store_check":  func(w *world) any { w.memory(); return &operation.StoreCheck{} },
	"store_export": func(w *world) any { w.memory(); return &operation.StoreExport{} },
	"store_import": func(*world) any { return &operation.StoreImport{} },
	"store_prune":  func(*world) any { return &operation.StorePrune{DryRun: true} },
	"status":       func(*world) any { return &operation.StatusGet{} },
	"run_start":    func(*world) any { return &operation.RunStart{Workflow: lostYAML, Namespace: here} },
}

// memory is the id of a new memory.
func (w *world) memory() string {
	w.t.Helper()
	id := w.host.NewID()
	_, err := w.host.Memories.Observe(w.ctx, &core.ObserveRequest{
		ID: id, Namespace: here, Content: "The harbour closes at noon: note " + id, Tags: []string{"tag-" + id},
	})
	w.must(err)
	return id
}

// session names a new session.
func (w *world) session() string { return "session-" + w.host.NewID() }

// recall asks for a memory in a turn of a session.
func (w *world) recall(id, session string) *core.RecallRequest {
	return &core.RecallRequest{Session: session, Query: "when does the harbour close?", RecallFilter: core.RecallFilter{
		Namespace: here, Tags: []string{"tag-" + id},
	}}
}

// feedback recalls a memory in a session, "" for a new one, and says that it was of use.
func (w *world) feedback(id, session string) *core.FeedbackRequest {
	w.t.Helper()
	if session == "" {
		session = w.session()
	}
	recalled, err := w.host.Memories.Recall(w.ctx, w.recall(id, session))
	w.must(err)
	return &core.FeedbackRequest{Session: session, Turn: recalled.Turn, Outcome: core.OutcomeSuccess, Used: []string{id}}
}

// asked is feedback of a turn that who asks began, if they can: else the operator did.
func (w *world) asked(id string) *core.FeedbackRequest {
	w.t.Helper()
	c := core.Caller{Subject: w.asker.Subject, Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: w.asker.Namespaces}
	if !c.Reaches(here) {
		c = core.Operator("tester")
	}
	in := w.recall(id, w.session())
	out, err := w.do(c, "memory_recall", in)
	w.must(err)
	return &core.FeedbackRequest{Session: in.Session, Turn: out.(*operation.Recalled).Turn, Outcome: core.OutcomeSuccess, Used: []string{id}}
}

// taught is a memory that was used with an outcome in so many turns of two sessions, in
// each of which a tool had an outcome too.
func (w *world) taught(outcome core.Outcome, turns int) string {
	w.t.Helper()
	id, sessions := w.memory(), []string{w.session(), w.session()}
	for i := range turns {
		f := w.feedback(id, sessions[i%2])
		f.Outcome = outcome
		f.ToolOutcomes = []core.ToolOutcome{{
			MemoryID: id, Session: f.Session, Turn: f.Turn, Tool: "calendar", OK: outcome == core.OutcomeSuccess, Ref: fmt.Sprint("call-", i),
		}}
		_, err := w.host.Memories.Feedback(w.ctx, f)
		w.must(err)
	}
	return id
}

// waiting is a memory that waits for the gate.
func (w *world) waiting() string {
	w.t.Helper()
	return w.taught(core.OutcomeFailure, 3)
}

// promoted is knowledge that the gate made of a memory.
func (w *world) promoted() *core.Knowledge {
	w.t.Helper()
	if w.knowledge != nil {
		return w.knowledge
	}
	id := w.taught(core.OutcomeSuccess, 8)
	graph := w.graph(id)
	_, err := w.host.Evidence.RecordDAG(w.ctx, &graph)
	w.must(err)
	well := 1.0
	d, err := w.host.Memories.Revalidate(w.ctx, id, memory.RevalidateRequest{Omega: core.OmegaFactors{UpstreamStatus: &well}})
	w.must(err)
	if d.NextAction != core.NextPromote {
		w.t.Fatalf("the gate says %s: %s", d.Verdict, d.Reason)
	}
	found, err := w.host.Memories.Get(w.ctx, id)
	w.must(err)
	w.knowledge, err = w.host.Memories.Knowledge(w.ctx, found.PromotedTo)
	w.must(err)
	return w.knowledge
}

// reflection asks for a memory to be derived from others.
func (w *world) reflection(sources ...string) *core.ReflectRequest {
	return &core.ReflectRequest{SourceIDs: sources, Title: "Hours by " + sources[0], Content: "Offices close early."}
}

// graph is a workflow's graph with a memory in it.
func (w *world) graph(id string) core.WorkflowDAG {
	return core.WorkflowDAG{
		Workflow: "harbour", Entry: []string{"ask"}, Exits: []string{"answer"},
		Edges: [][2]string{{"ask", "look"}, {"look", "check"}, {"check", "answer"}}, Memories: map[string][]string{id: {"ask"}},
	}
}

// known is what somebody knows of a memory.
func (w *world) known(id string) *operation.EvidenceOmega {
	well := 0.8
	return &operation.EvidenceOmega{OmegaEvidence: core.OmegaEvidence{MemoryID: id, OmegaFactors: core.OmegaFactors{UpstreamStatus: &well}}}
}

// outcome is an outcome of a tool call that a memory had to do with.
func (w *world) outcome(id string) *operation.EvidenceTool {
	return &operation.EvidenceTool{Outcomes: operation.Outcomes{{MemoryID: id, Session: "s", Turn: 1, Tool: "calendar", OK: true, Ref: "log:1"}}}
}

// govern has a level set something.
func (w *world) govern() {
	w.t.Helper()
	_, err := w.host.Governance.Set(w.ctx, here, "max_reflection_depth=2")
	w.must(err)
}

// pending is the id of a reflection that waits for an approval in a namespace.
func (w *world) pending(namespace string) string {
	w.t.Helper()
	_, err := w.host.Governance.Set(w.ctx, namespace, "require_approval_above_depth=0")
	w.must(err)
	r := w.reflection(w.memory())
	r.Namespace = namespace
	asked, err := w.host.Memories.Reflect(w.ctx, r)
	w.must(err)
	_, err = w.host.Governance.Unset(w.ctx, namespace, "require_approval_above_depth")
	w.must(err)
	return asked.PendingID
}

// replay has decisions recorded, and asks for them to be decided again by a candidate.
func (w *world) replay() *operation.PolicyReplay {
	w.t.Helper()
	w.waiting()
	return &operation.PolicyReplay{Files: map[string]string{
		"retention/all.yaml": "rule: {match: [{output: '{\"ttl_score\": 0.1, \"state\": state}'}]}",
	}}
}
