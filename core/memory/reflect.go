package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// maxSources bounds how many memories one reflection is derived from: its transaction
// reads each of them and writes a link to it.
const maxSources = 256

// Reflect derives a memory from others. It is refused with the reason "source_not_found",
// "source_purged", "source_consolidated", "depth_mismatch", "policy_veto",
// "depth_exceeded", "title_taken", "namespace_full" or "links_full". A refusal writes
// nothing, except that "depth_exceeded" writes its event. Above the depth that needs an
// approval, the result is pending.
func (m *Memories) Reflect(ctx context.Context, r *core.ReflectRequest) (result *core.ReflectResult, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "reflect", Namespace: r.Namespace}, &err)()
	own := *r // a pending reflection keeps the agent that made it
	own.AgentID = cmp.Or(r.AgentID, core.CallerOf(ctx).Label)
	d, err := m.draft(&own)
	if err != nil {
		return nil, err
	}
	return m.reflect(ctx, d)
}

// draft is a reflection to be written, without the fields that are computed from its
// sources.
type draft struct {
	request *core.ReflectRequest
	memory  core.Memory
	// approved is the pending reflection that the caller approved; nil if the request
	// comes from the reflection's author.
	approved *Pending
}

// draft checks a request before anything is loaded.
func (m *Memories) draft(r *core.ReflectRequest) (*draft, error) {
	d, err := checkDraft(r, m.options.Clock.Now())
	if err != nil {
		return nil, err
	}
	d.memory.ID = m.options.IDs.NewID()
	return d, nil
}

// CheckReflect reports everything that is wrong with a request by itself, such as an occurred_at
// after now. [Memories.Reflect] checks its sources.
func CheckReflect(r *core.ReflectRequest, now time.Time) error {
	_, err := checkDraft(r, now)
	return err
}

func checkDraft(r *core.ReflectRequest, now time.Time) (*draft, error) {
	var p bounds.Problems
	checkSources(&p, r.SourceIDs)
	p.Title(r.Title)
	p.Content(r.Content)
	kind := cmp.Or(r.Kind, core.KindReflection)
	checkDerivedKind(&p, kind)
	if r.Namespace != "" {
		p.Check(core.CheckNamespace(r.Namespace))
	}
	memory := described(&p, &r.Attributes, now)
	memory.Namespace, memory.Kind, memory.Title, memory.Content = r.Namespace, kind, r.Title, r.Content
	p.Word("idempotency_key", r.IdempotencyKey)
	return &draft{request: r, memory: *memory}, p.Err()
}

func checkSources(p *bounds.Problems, ids []string) {
	if len(ids) == 0 {
		p.Add("source_ids", "cannot be empty")
	}
	p.Over("source_ids", len(ids), maxSources, "ids")
	for i, id := range ids[:min(len(ids), maxSources)] {
		field := fmt.Sprintf("source_ids[%d]", i)
		p.ID(field, id)
		if first := slices.Index(ids, id); first < i {
			p.Add(field, "repeats source_ids[%d] (%s)", first, bounds.Shorten(id))
		}
	}
}

func checkDerivedKind(p *bounds.Problems, kind core.MemoryKind) {
	if kind != core.KindReflection && kind != core.KindSemantic && kind != core.KindProcedural {
		p.Add("kind", "is %q, not reflection, semantic or procedural", bounds.Shorten(string(kind)))
	}
}

// reflect writes a checked draft, in one transaction.
func (m *Memories) reflect(ctx context.Context, d *draft) (*core.ReflectResult, error) {
	embeddings, err := m.embed(ctx, []*core.Memory{&d.memory})
	if err != nil {
		return nil, err
	}
	var result *core.ReflectResult
	var refusal error
	err = m.records.UpdateAsking(ctx, func(t *record.Tx) error {
		refusal = nil // the transaction may run again
		var err error
		if result, err = d.earlier(t); err != nil || result != nil {
			return err
		}
		a := &reflectTx{memories: m, t: t, draft: d, memory: d.memory, embedding: &embeddings[0]}
		if result, err = a.run(ctx); a.exceeded == nil {
			return err
		}
		refusal = err // nil is returned, so that the event is committed
		return t.Record(a.memory.Namespace, *a.exceeded)
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// earlier returns the result of an earlier identical request, or nil. An approval
// continues if that reflection is still pending.
func (d *draft) earlier(r core.Reader) (*core.ReflectResult, error) {
	if d.approved == nil {
		return record.ReadOutcome(r, d.request)
	}
	_, err := record.ReadPending(r, d.approved.ID)
	return nil, err
}

// reflectTx is one run of a reflection's transaction.
type reflectTx struct {
	memories  *Memories
	t         *record.Tx
	draft     *draft
	memory    core.Memory
	embedding *embedding

	sources  []*core.Memory
	space    *space // the space of the reflection's namespace
	cap      depthCap
	decision policypoint.Decision
	// exceeded is the event of a reflection that is too deep.
	exceeded *journal.DepthExceeded
}

// run does everything after the lookup of the request, in a fixed order.
func (a *reflectTx) run(ctx context.Context) (*core.ReflectResult, error) {
	if err := a.readSources(); err != nil {
		return nil, err
	}
	if err := a.computeDepth(); err != nil {
		return nil, err
	}
	if err := a.resolveCap(); err != nil {
		return nil, err
	}
	if err := a.askPolicy(ctx); err != nil {
		return nil, err
	}
	if err := a.checkDepth(); err != nil {
		return nil, err
	}
	above := a.space.governance.RequireApprovalAbove
	if above != nil && a.memory.ReflectionDepth > *above && a.draft.approved == nil {
		return a.postpone(*above)
	}
	return a.write()
}

// readSources loads the sources, and refuses sources from which nothing can be derived.
func (a *reflectTx) readSources() error {
	for i, id := range a.draft.request.SourceIDs {
		source, err := record.Read(a.t, id)
		switch {
		case sdk.ReasonOf(err) == "memory_not_found":
			return sdk.Errorf(sdk.NotFound, "source_not_found", "source_ids[%d]: there is no memory %s", i, id).
				WithHint("list them").WithAction("memory list", "namespace", nil).WithDetail("source_id", id)
		case sdk.ReasonOf(err) == "memory_purged":
			return unusable(i, id, core.StatePurged).WithHint("remove it from the sources: a purge can't be undone")
		case err != nil:
			return err
		case source.State == core.StateConsolidated:
			return unusable(i, id, source.State).WithHint("reflect on %s instead, which it was merged into", source.MergedInto)
		}
		a.sources = append(a.sources, source)
	}
	if a.memory.Namespace == "" {
		a.memory.Namespace = a.sources[0].Namespace
	}
	return nil
}

func unusable(i int, id string, state core.MemoryState) *sdk.Error {
	return sdk.Errorf(sdk.Conflict, "source_"+string(state), "source_ids[%d]: memory %s is %s and can't be reflected on", i, id, state).
		WithDetail("source_id", id).WithDetail("state", state)
}

// computeDepth sets the depth: one more than the depth of the deepest source. A depth in
// the request must be the same.
func (a *reflectTx) computeDepth() error {
	for _, source := range a.sources {
		a.memory.ReflectionDepth = max(a.memory.ReflectionDepth, source.ReflectionDepth+1)
	}
	asserted := a.draft.request.Depth
	if asserted == nil || *asserted == a.memory.ReflectionDepth {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "depth_mismatch", "depth is given as %d, but the sources make it %d", *asserted, a.memory.ReflectionDepth).
		WithHint("leave depth out: it is computed").
		WithDetail("asserted", *asserted).WithDetail("computed", a.memory.ReflectionDepth)
}

// write stores the reflection with its links and its event.
func (a *reflectTx) write() (*core.ReflectResult, error) {
	memory, r := &a.memory, a.draft.request
	if err := checkTitle(a.t, memory); err != nil {
		return nil, err
	}
	if most := a.space.governance.Limits.MaxLinksPerMemory; most > 0 && int64(len(a.sources)) > most {
		return nil, linksFull(a.space.governance, memory.ID, memory.Namespace)
	}
	memory.Metadata = a.metadata()
	if err := create(a.t, a.space, memory, a.embedding); err != nil {
		return nil, err
	}
	if err := reflectsOn(a.t, memory, r.SourceIDs); err != nil {
		return nil, err
	}
	if err := a.t.Record(memory.Namespace, a.event(), memory.ID); err != nil {
		return nil, err
	}
	result := &core.ReflectResult{
		ID: memory.ID, ReflectionDepth: memory.ReflectionDepth, Namespace: memory.Namespace,
		ReflectsOn: slices.Clone(r.SourceIDs),
	}
	if a.draft.approved != nil {
		if err := record.DeletePending(a.t, a.draft.approved); err != nil {
			return nil, err
		}
	}
	return result, record.WriteOutcome(a.t, r, result)
}

// checkTitle refuses a title that a live memory of the namespace already has.
func checkTitle(r core.Reader, m *core.Memory) error {
	start := record.TitleStart(m.Namespace, m.Title)
	taker := ""
	err := r.Scan(start, append(slices.Clone(start), 0x7f), func(key, _ []byte) (bool, error) {
		taker = string(key[len(start):])
		return false, nil
	})
	if err != nil || taker == "" {
		return err
	}
	return sdk.Errorf(sdk.Conflict, "title_taken", "memory %s of namespace %s already has the title %q", taker, m.Namespace, bounds.Shorten(m.Title)).
		WithHint("choose another title, or look at that memory").WithAction("memory get", "id", taker).
		WithDetail("memory_id", taker).WithDetail("namespace", m.Namespace)
}

// metadata returns the caller's metadata with the fields that describe the reflection's
// origin. A reflection_metadata field that the caller set is kept; an agent_id is always
// replaced.
func (a *reflectTx) metadata() json.RawMessage {
	members := slices.DeleteFunc(jsontext.Members(a.memory.Metadata), func(m jsontext.Member) bool { return m.Key == "agent_id" })
	if !slices.ContainsFunc(members, func(m jsontext.Member) bool { return m.Key == "reflection_metadata" }) {
		origin := struct {
			Sources []string `json:"reflected_on_source_ids"`
			Depth   int      `json:"reflection_depth"`
			At      string   `json:"reflection_created_at"`
		}{a.draft.request.SourceIDs, a.memory.ReflectionDepth, a.t.Now().Format(time.RFC3339Nano)}
		members = append(members, jsontext.Member{Key: "reflection_metadata", Value: jsontext.MustEncode(origin)})
	}
	return jsontext.JoinMembers(append(members, jsontext.Member{Key: "agent_id", Value: jsontext.MustEncode(a.memory.AgentID)}))
}

func (a *reflectTx) event() journal.MemoryReflected {
	e := journal.MemoryReflected{
		MemoryID: a.memory.ID, AgentID: a.memory.AgentID, Kind: a.memory.Kind, Depth: a.memory.ReflectionDepth,
		Cap: a.cap.most, DecidedBy: a.cap.decidedBy, SourceIDs: a.draft.request.SourceIDs,
		Title: record.Keyed(a.memory.Salt, a.memory.Title), Content: record.Keyed(a.memory.Salt, a.memory.Content), Turn: a.memory.CreatedTurn,
		Importance: a.memory.Importance, OccurredAt: a.memory.OccurredAt,
		EmbeddingModel: a.embedding.model, EmbeddingFailure: a.embedding.failure,
		Policy: a.decision.Digest, Rule: a.decision.Rule,
	}
	if a.draft.approved != nil {
		e.PendingID, e.ApprovedBy = a.draft.approved.ID, a.t.Caller().Label
	}
	return e
}

// reflectsOn writes the links from a reflection to its sources.
func reflectsOn(t *record.Tx, m *core.Memory, sources []string) error {
	for i, source := range sources {
		l := &core.Link{From: m.ID, Relation: core.RelationReflectsOn, To: source, Position: i, CreatedAt: m.CreatedAt}
		if _, err := record.PutLink(t, m.Namespace, l); err != nil {
			return err
		}
	}
	return nil
}
