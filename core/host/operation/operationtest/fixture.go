package operationtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/policy"
)

// Fixtures make a valid request of each operation, about things that they create in the
// namespace Here. Each operation of the table has one. Nothing archives a memory yet, so
// the request to restore one is refused because of its state.
func Fixtures() map[string]func(*World) any {
	all := fixtures{}
	for _, of := range []fixtures{
		memoryFixtures(), turnFixtures(), dreamFixtures(), gateFixtures(),
		jobFixtures(), runFixtures(), hostFixtures(),
	} {
		maps.Copy(all, of)
	}
	return all
}

// Table is the table of operations, for a test that needs a fixture of each. The test ends if one
// has none, or if a fixture is of no operation.
func Table(t testing.TB) []operation.Operation {
	t.Helper()
	rest, table := Fixtures(), operation.Table()
	var lacking []string
	for i := range table {
		if rest[table[i].Name] == nil {
			lacking = append(lacking, table[i].Name)
		}
		delete(rest, table[i].Name)
	}
	if len(lacking) > 0 {
		t.Fatalf("add a valid request of %s to core/host/operation/operationtest/fixture.go", strings.Join(lacking, ", "))
	}
	if len(rest) > 0 {
		t.Fatalf("core/host/operation/operationtest/fixture.go has %s, which are no operations", slices.Sorted(maps.Keys(rest)))
	}
	return table
}

// ValidRequest makes the valid request of an operation's fixture.
func (w *World) ValidRequest(name string) any {
	w.T.Helper()
	make := Fixtures()[name]
	if make == nil {
		w.T.Fatalf("add a valid request of %s to core/host/operation/operationtest/fixture.go", name)
	}
	return make(w)
}

// fixtures make requests, by the operation.
type fixtures map[string]func(*World) any

func memoryFixtures() fixtures {
	return fixtures{
		"memory_approve":    func(w *World) any { return &operation.MemoryApprove{ID: w.Pending(Here)} },
		"memory_pending":    func(w *World) any { w.Pending(Here); return &operation.MemoryPending{} },
		"memory_reject":     func(w *World) any { return &operation.MemoryReject{ID: w.Pending(Here)} },
		"memory_explain":    func(w *World) any { return &operation.MemoryExplain{ID: w.Memory()} },
		"memory_feedback":   func(w *World) any { return w.Asked(w.Memory()) },
		"memory_get":        func(w *World) any { return &operation.MemoryGet{ID: w.Memory()} },
		"memory_link":       func(w *World) any { return &memory.LinkRequest{From: w.Memory(), Relation: "supports", To: w.Memory()} },
		"memory_list":       func(w *World) any { w.Memory(); return &operation.MemoryList{Namespace: Here} },
		"memory_namespaces": func(w *World) any { w.Memory(); return &operation.MemoryNamespaces{} },
		"memory_observe":    func(*World) any { return &core.ObserveRequest{Namespace: Here, Content: "a fact"} },
		"memory_observe_all": func(*World) any {
			return &operation.MemoryObserveAll{Items: []*core.ObserveRequest{{Namespace: Here, Content: "a"}}}
		},
		"memory_recall":    func(w *World) any { return w.Recall(w.Memory(), w.Session()) },
		"memory_reembed":   func(w *World) any { w.Memory(); return &operation.MemoryReembed{Namespace: Here} },
		"memory_reflect":   func(w *World) any { return w.Reflection(w.Memory()) },
		"memory_restore":   func(w *World) any { return &operation.MemoryRestore{ID: w.Memory()} },
		"memory_sweep":     func(w *World) any { w.Memory(); return &operation.MemorySweep{Namespace: Here} },
		"memory_history":   func(w *World) any { return &operation.MemoryHistory{ID: w.Memory()} },
		"memory_lineage":   func(w *World) any { return &operation.MemoryLineage{ID: w.Memory()} },
		"knowledge_get":    func(w *World) any { return &operation.KnowledgeGet{ID: w.Promoted().ID} },
		"knowledge_list":   func(w *World) any { w.Promoted(); return &operation.KnowledgeList{Namespace: Here} },
		"knowledge_recall": func(w *World) any { w.Promoted(); return &memory.KnowledgeQuery{Namespace: Here, Query: "harbour"} },
		"knowledge_supersede": func(w *World) any {
			return &operation.KnowledgeSupersede{ID: w.PromoteAnother().ID, By: w.PromoteAnother().ID}
		},
	}
}

// turnFixtures are requests of an agent's turn: what fits it, its session and its snapshot.
func turnFixtures() fixtures {
	return fixtures{
		"discover":        func(w *World) any { w.Memory(); return &operation.Discover{Intent: "recall memories", Namespace: Here} },
		"session_get":     func(w *World) any { return &operation.SessionGet{Session: w.Asked(w.Memory()).Session} },
		"session_list":    func(w *World) any { w.Asked(w.Memory()); return &operation.SessionList{Namespace: Here, Text: "S"} },
		"session_reset":   func(w *World) any { return &operation.SessionReset{Session: w.Asked(w.Memory()).Session} },
		"session_resume":  func(w *World) any { return &operation.SessionResume{Session: w.Reset()} },
		"snapshot_build":  func(w *World) any { return w.Injection(w.Session(), 1, w.Memory()) },
		"snapshot_list":   func(w *World) any { w.Snapshot(); return &operation.SnapshotList{Namespace: Here} },
		"snapshot_get":    func(w *World) any { return &operation.SnapshotGet{ID: w.Snapshot()} },
		"snapshot_replay": func(w *World) any { return &operation.SnapshotReplay{ID: w.Snapshot()} },
		"snapshot_diff":   func(w *World) any { return &operation.SnapshotDiff{ID: w.Snapshot(), With: w.Snapshot()} },
	}
}

func dreamFixtures() fixtures {
	return fixtures{
		"dream_dates": func(*World) any {
			return &operation.DreamDates{Text: "we met yesterday", At: "2026-04-15T12:00:00Z"}
		},
		"dream_apply":     func(w *World) any { return &operation.DreamApply{ID: w.Plan()} },
		"dream_conflicts": func(w *World) any { w.Memory(); return &operation.DreamConflicts{Namespace: Here} },
		"dream_list":      func(w *World) any { w.Plan(); return &operation.DreamList{Namespace: Here} },
		"dream_plan": func(w *World) any {
			w.Memory()
			return &operation.DreamPlan{DreamPass: operation.DreamPass{Namespace: Here}}
		},
		"dream_run":  func(w *World) any { w.Memory(); return &operation.DreamPass{Namespace: Here, Mode: memory.Always} },
		"dream_show": func(w *World) any { return &operation.DreamShow{ID: w.Plan()} },
		"dream_undo": func(w *World) any { return &operation.DreamUndo{ID: w.Plan()} },
		"dream_compare": func(*World) any {
			return &operation.DreamCompare{A: "Tokens expire after 30 s.", B: "The tokens expire after thirty seconds"}
		},
		"dream_calibrate": func(*World) any { return &operation.DreamCalibrate{} },
	}
}

// gateFixtures are requests of the gate, its evidence and governance.
func gateFixtures() fixtures {
	return fixtures{
		"evidence_dag":       func(w *World) any { return &operation.EvidenceDAG{WorkflowDAG: w.Graph(w.Memory())} },
		"evidence_omega":     func(w *World) any { return w.Known(w.Memory()) },
		"evidence_tool":      func(w *World) any { return w.Outcome(w.Memory()) },
		"gate_explain":       func(w *World) any { return &operation.GateExplain{ID: w.Memory()} },
		"gate_request":       func(w *World) any { return &operation.GateRequest{ID: w.Memory(), Erase: true, Reason: "it is wrong"} },
		"gate_run":           func(w *World) any { return &operation.GateRun{ID: w.Waiting()} },
		"governance_explain": func(w *World) any { w.Govern(); return &operation.GovernanceExplain{Namespace: Here} },
		"governance_get":     func(w *World) any { w.Govern(); return &operation.GovernanceGet{Namespace: Here} },
		"governance_set": func(*World) any {
			return &operation.GovernanceSet{Namespace: Here, Assignments: []string{"max_reflection_depth=2"}}
		},
		"governance_unset": func(w *World) any { w.Govern(); return &operation.GovernanceUnset{Namespace: Here} },
	}
}

// jobFixtures are requests of jobs, reflections too.
func jobFixtures() fixtures {
	return fixtures{
		"job_cancel":         func(w *World) any { return &operation.JobCancel{ID: w.Job(Here)} },
		"job_enqueue":        func(*World) any { return &operation.JobEnqueue{Type: job.Revalidate, Namespace: Here} },
		"job_result":         func(w *World) any { return &operation.JobResultGet{ID: w.Job(Here)} },
		"job_get":            func(w *World) any { return &operation.JobGet{ID: w.Job(Here)} },
		"job_list":           func(w *World) any { w.Job(Here); return &operation.JobList{Namespace: Here} },
		"reflection_enqueue": func(w *World) any { w.Memory(); return &operation.ReflectionEnqueue{Namespace: Here, Force: true} },
		"reflection_status":  func(w *World) any { return &operation.ReflectionStatus{JobID: w.ReflectionJob(Here)} },
		"reflection_cancel":  func(w *World) any { return &operation.ReflectionCancel{JobID: w.ReflectionJob(Here)} },
	}
}

// runFixtures are requests of runs and of single calls of plugins.
func runFixtures() fixtures {
	return fixtures{
		"correct": func(*World) any {
			return &operation.Correct{Corrector: JudgeYAML, Namespace: Here, Output: []byte(`1`)}
		},
		"evaluate": func(*World) any {
			return &operation.Evaluate{Evaluator: JudgeYAML, Namespace: Here, Output: []byte(`1`)}
		},
		"run_attempts": func(w *World) any { return &operation.RunAttempts{ID: w.Run(Here)} },
		// A run that couldn't begin has no attempts.
		"run_attempts_diff": func(w *World) any { return &operation.RunAttemptsDiff{ID: w.Run(Here)} },
		"run_get":           func(w *World) any { return &operation.RunGet{ID: w.Run(Here)} },
		"run_list":          func(w *World) any { w.Run(Here); return &operation.RunList{Namespace: Here} },
		"run_replay":        func(w *World) any { return &operation.RunReplay{ID: w.Run(Here)} },
		"run_resume":        func(w *World) any { return &operation.RunResume{ID: w.Run(Here)} },
		"run_start":         func(*World) any { return &operation.RunStart{Workflow: LostYAML, Namespace: Here} },
	}
}

// hostFixtures are requests of a whole host: its journal, store, plugins, policies and tokens.
func hostFixtures() fixtures {
	return fixtures{
		"audit_entries":        func(w *World) any { w.Memory(); return &operation.AuditEntries{Stream: journal.NamespaceStream(Here)} },
		"audit_head":           func(*World) any { return &operation.AuditHead{} },
		"audit_streams":        func(w *World) any { w.Memory(); return &operation.AuditStreams{} },
		"audit_verify":         func(*World) any { return &operation.AuditVerify{} },
		"audit_verify_segment": func(*World) any { return &operation.AuditVerifySegment{} }, // an empty file isn't valid
		"decision_get":         func(w *World) any { return &operation.DecisionGet{ID: w.Decision()} },
		"decision_list":        func(w *World) any { w.Decision(); return &operation.DecisionList{Namespace: Here} },
		"plugin_push":          func(*World) any { return &operation.PluginPush{} }, // no other host works on the store
		"policy_list":          func(*World) any { return &operation.PolicyList{} },
		// A host that shares no store has its policies from a folder.
		"policy_push":   func(w *World) any { return &operation.PolicyPush{Files: w.Replay().Files} },
		"policy_replay": func(w *World) any { return w.Replay() },
		"plugin_get":    func(*World) any { return &operation.PluginGet{Name: "reflectory/none"} }, // none is installed
		"plugin_list":   func(*World) any { return &operation.PluginList{} },
		"plugin_logs":   func(*World) any { return &operation.PluginLogs{Name: "reflectory/none"} },
		// A store in memory isn't a folder that could be copied or replaced.
		"store_backup": func(*World) any { return &operation.StoreBackup{Folder: "backup"} },
		"store_check":  func(w *World) any { w.Memory(); return &operation.StoreCheck{} },
		"store_export": func(w *World) any { w.Memory(); return &operation.StoreExport{} },
		"store_import": func(*World) any { return &operation.StoreImport{} },
		"store_prune":  func(*World) any { return &operation.StorePrune{DryRun: true} },
		"stats":        func(w *World) any { w.Memory(); return &operation.StatsGet{} },
		"status":       func(*World) any { return &operation.StatusGet{} },
		"host_list":    func(w *World) any { w.OtherHost(); return &operation.HostList{} },
		"host_drain":   func(w *World) any { return &operation.HostDrain{ID: w.OtherHost()} },
		"login_new":    func(*World) any { return &operation.LoginNew{} },
		"token_list":   func(w *World) any { w.Token(); return &operation.TokenList{} },
		"token_new": func(w *World) any {
			return &operation.TokenNew{Subject: w.Host.Config.IDs.NewID(), Scopes: []core.Scope{core.ScopeOperate}, Namespaces: []string{Here}}
		},
		"token_operator": func(*World) any { return &operation.TokenOperator{} },
		"token_revoke":   func(w *World) any { return &operation.TokenRevoke{ID: w.Token()} },
	}
}

// Memory is the id of a new memory.
func (w *World) Memory() string {
	w.T.Helper()
	id := w.Host.Config.IDs.NewID()
	_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{
		ID: id, Namespace: Here, Content: "The harbour closes at noon: note " + id, Attributes: core.Attributes{Tags: []string{"tag-" + id}},
	})
	w.Must(err)
	return id
}

// Injection asks for the snapshot of a turn, about a memory.
func (w *World) Injection(session string, turn int64, memory string) *inject.BuildRequest {
	return &inject.BuildRequest{
		Namespace: Here, Session: session, Turn: turn, Query: "when does the harbour close: note " + memory,
		Policy: &inject.PolicyRequest{Policy: inject.Policy{Ordering: inject.StablePrefix}},
		Blocks: []inject.Draft{{BlockID: "task", Category: inject.Workflow, Priority: new(1), Payload: "Answer in one sentence.", Stable: true}},
	}
}

// Snapshot is the id of a new snapshot.
func (w *World) Snapshot() string {
	w.T.Helper()
	return Try[inject.Built](w, "snapshot_build", w.Injection(w.Session(), 1, w.Memory())).SnapshotID
}

// Plan is the plan of a pass over the namespace of the fixtures.
func (w *World) Plan() string {
	_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{Namespace: Here, Content: "we met yesterday"})
	w.Must(err)
	d, err := w.Host.Memories.Dreams.Plan(w.Ctx, memory.DreamRequest{Namespace: Here})
	w.Must(err)
	return d.ID
}

// Job is the id of a job of nobody's that waits in a namespace, even where a server works.
func (w *World) Job(namespace string) string {
	w.T.Helper()
	return w.reembed(namespace, w.later())
}

// ReadyJob is the id of a job of nobody's in a namespace that a worker may take at once.
func (w *World) ReadyJob(namespace string) string {
	w.T.Helper()
	return w.reembed(namespace, time.Time{})
}

func (w *World) reembed(namespace string, notBefore time.Time) string {
	w.T.Helper()
	made, err := w.Host.Jobs.Enqueue(w.Ctx, &job.Request{UserID: job.SystemUser, Namespace: namespace, Type: job.Reembed, NotBefore: notBefore})
	w.Must(err)
	return made.ID
}

// ReflectionJob is the id of a reflection that waits in a namespace, even where a server works.
func (w *World) ReflectionJob(namespace string) string {
	w.T.Helper()
	made, err := w.Host.Jobs.Enqueue(w.Ctx, &job.Request{
		UserID: job.SystemUser, Namespace: namespace, Type: job.Reflection, Payload: jsontext.MustEncode(reflection.Request{Namespace: namespace}),
		NotBefore: w.later(),
	})
	w.Must(err)
	return made.ID
}

// later is after the end of any test.
func (w *World) later() time.Time { return w.Config.Clock.Now().Add(24 * time.Hour) }

// OtherHost is the id of another server on the same store.
func (w *World) OtherHost() string {
	w.T.Helper()
	h := store.HostRecord{
		ID: w.Host.Config.IDs.NewID(), Beat: 7, Address: "https://other.example.com", Version: "1.2.3", Formats: []int{store.Format},
		Plugins: map[string]string{"test/judge": "sha256:0"}, StartedAt: coretest.Epoch(),
	}
	w.Must(w.Host.Store.Update(w.Ctx, func(tx core.Tx) error { return tx.Put([]byte("host/"+h.ID), jsontext.MustEncode(h)) }))
	return h.ID
}

// Token is the id of a new token for here.
func (w *World) Token() string {
	w.T.Helper()
	issued, err := w.Host.Access.Issue(w.Ctx, access.Request{
		Subject: w.Host.Config.IDs.NewID(), Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{Here},
	})
	w.Must(err)
	return issued.ID
}

// Session names a new session.
func (w *World) Session() string { return "session-" + w.Host.Config.IDs.NewID() }

// Reset is the name of a session in its second window.
func (w *World) Reset() string {
	w.T.Helper()
	session := w.Asked(w.Memory()).Session
	c := w.Asker
	if c.Scopes = core.Scopes(); !c.Reaches(Here) {
		c = core.Operator("tester")
	}
	_, err := w.Do(c, "session_reset", &operation.SessionReset{Session: session})
	w.Must(err)
	return session
}

// Recall asks for a memory in a turn of a session.
func (w *World) Recall(id, session string) *core.RecallRequest {
	return &core.RecallRequest{Session: session, Query: "when does the harbour close?", RecallFilter: core.RecallFilter{
		Namespace: Here, Tags: []string{"tag-" + id},
	}}
}

// Feedback recalls a memory in a session ("" is a new one), and says that it was useful.
func (w *World) Feedback(id, session string) *core.FeedbackRequest {
	w.T.Helper()
	if session == "" {
		session = w.Session()
	}
	recalled, err := w.Host.Memories.Recall(w.Ctx, w.Recall(id, session))
	w.Must(err)
	return &core.FeedbackRequest{Session: session, Turn: recalled.Turn, Outcome: core.OutcomeSuccess, Used: []string{id}}
}

// Asked is feedback on a turn that the asking caller began, if it can; otherwise the
// operator did.
func (w *World) Asked(id string) *core.FeedbackRequest {
	w.T.Helper()
	c := core.Caller{Subject: w.Asker.Subject, Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: w.Asker.Namespaces}
	if !c.Reaches(Here) {
		c = core.Operator("tester")
	}
	in := w.Recall(id, w.Session())
	out, err := w.Do(c, "memory_recall", in)
	w.Must(err)
	return &core.FeedbackRequest{Session: in.Session, Turn: out.(*operation.Recalled).Turn, Outcome: core.OutcomeSuccess, Used: []string{id}}
}

// Taught is a memory that was used with an outcome in a number of turns of two sessions,
// in each of which a tool had an outcome too.
func (w *World) Taught(outcome core.Outcome, turns int) string {
	w.T.Helper()
	id, sessions := w.Memory(), []string{w.Session(), w.Session()}
	for i := range turns {
		f := w.Feedback(id, sessions[i%2])
		f.Outcome = outcome
		f.ToolOutcomes = []core.ToolOutcome{{
			MemoryID: id, Session: f.Session, Turn: f.Turn, Tool: "calendar", OK: outcome == core.OutcomeSuccess, Ref: fmt.Sprint("call-", i),
		}}
		_, err := w.Host.Memories.Feedback(w.Ctx, f)
		w.Must(err)
	}
	return id
}

// Waiting is a memory that waits for the gate.
func (w *World) Waiting() string {
	w.T.Helper()
	return w.Taught(core.OutcomeFailure, 3)
}

// Promoted is knowledge that the gate made from a memory.
func (w *World) Promoted() *core.Knowledge {
	w.T.Helper()
	if w.knowledge == nil {
		w.knowledge = w.PromoteAnother()
	}
	return w.knowledge
}

// PromoteAnother makes new knowledge.
func (w *World) PromoteAnother() *core.Knowledge {
	w.T.Helper()
	id := w.Taught(core.OutcomeSuccess, 8)
	graph := w.Graph(id)
	_, err := w.Host.Evidence.RecordDAG(w.Ctx, &graph)
	w.Must(err)
	well := 1.0
	d, err := w.Host.Memories.Gate.Revalidate(w.Ctx, id, memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: &well}})
	w.Must(err)
	if d.NextAction != verdict.NextPromote {
		w.T.Fatalf("the gate says %s: %s", d.Verdict, d.Reason)
	}
	found, err := w.Host.Memories.Get(w.Ctx, id)
	w.Must(err)
	entry, err := w.Host.Memories.Knowledge.Get(w.Ctx, found.PromotedTo)
	w.Must(err)
	return entry
}

// Decision is the id of a recorded decision.
func (w *World) Decision() string {
	w.T.Helper()
	w.Waiting()
	w.Reopen() // decisions are recorded in the background
	for stored, err := range decisions.List(w.Ctx, w.Config.Store, "", time.Time{}) {
		w.Must(err)
		if record, err := policy.DecodeRecord(stored.Value); err == nil && record.Namespace == Here {
			return stored.ID
		}
	}
	w.T.Fatal("nothing was decided here")
	return ""
}

// Reflection asks for a memory to be derived from others.
func (w *World) Reflection(sources ...string) *core.ReflectRequest {
	return &core.ReflectRequest{SourceIDs: sources, Title: "Hours by " + sources[0], Content: "Offices close early."}
}

// Graph is a workflow's graph with a memory in it.
func (w *World) Graph(id string) core.WorkflowDAG {
	return core.WorkflowDAG{
		Workflow: "harbour", Entry: []string{"ask"}, Exits: []string{"answer"},
		Edges: [][2]string{{"ask", "look"}, {"look", "check"}, {"check", "answer"}}, Memories: map[string][]string{id: {"ask"}},
	}
}

// Known is what is known about a memory.
func (w *World) Known(id string) *operation.EvidenceOmega {
	well := 0.8
	return &operation.EvidenceOmega{OmegaEvidence: gate.OmegaEvidence{MemoryID: id, OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: &well}}}
}

// Outcome is an outcome of a tool call that involved a memory.
func (w *World) Outcome(id string) *operation.EvidenceTool {
	return &operation.EvidenceTool{Outcomes: operation.Outcomes{{MemoryID: id, Session: "s", Turn: 1, Tool: "calendar", OK: true, Ref: "log:1"}}}
}

// Govern sets a field of a level.
func (w *World) Govern() {
	w.T.Helper()
	_, err := w.Host.Governance.Set(w.Ctx, Here, "max_reflection_depth=2")
	w.Must(err)
}

// Pending is the id of a reflection that waits for an approval in a namespace.
func (w *World) Pending(namespace string) string {
	w.T.Helper()
	_, err := w.Host.Governance.Set(w.Ctx, namespace, "require_approval_above_depth=0")
	w.Must(err)
	r := w.Reflection(w.Memory())
	r.Namespace = namespace
	asked, err := w.Host.Memories.Reflect(w.Ctx, r)
	w.Must(err)
	_, err = w.Host.Governance.Unset(w.Ctx, namespace, "require_approval_above_depth")
	w.Must(err)
	return asked.PendingID
}

// Run is the id of a run in a namespace that ended with an error.
func (w *World) Run(namespace string) string {
	w.T.Helper()
	return Try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: LostYAML, Namespace: namespace}).ID
}

// Replay records decisions, and asks for a replay with a candidate.
func (w *World) Replay() *operation.PolicyReplay {
	w.T.Helper()
	w.Decision() // recorded, which is done in the background
	return &operation.PolicyReplay{Files: map[string]string{
		"retention/all.yaml": "rule: {match: [{output: '{\"ttl_score\": 0.1, \"state\": state}'}]}",
	}}
}
