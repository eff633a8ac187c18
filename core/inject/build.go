package inject

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// MaxBlocks is how many blocks a turn's context is made from at most.
const MaxBlocks = 1000

// The priorities of the blocks that the host collects: recalled text comes after the
// blocks of sessions and role mixes, the best first.
const (
	knowledgePriority = 400
	recallPriority    = 300
)

// maxTries is how often a prompt is made whose session's texts change while it is made.
const maxTries = 10

// half is the default of complexity and risk.
const half = .5

// BuildRequest asks for the snapshot of a turn.
type BuildRequest struct {
	// Namespace is where the turn's memories are; "" is the configured one.
	Namespace string `json:"namespace,omitempty"`
	// Session is the session.
	Session string `json:"session"`
	// Turn is the session's turn; 0, with a query, begins the next turn.
	Turn int64 `json:"turn,omitempty"`
	// Query is the query of the turn's recall; "" recalls nothing.
	Query string `json:"query,omitempty"`
	// Policy is what the turn's prompt may hold. The policy point injection decides the
	// fields that are left out.
	Policy *PolicyRequest `json:"policy,omitempty"`
	// Blocks are the caller's own blocks.
	Blocks []Draft `json:"blocks,omitempty"`
	// Complexity is how complex the task is, from 0 to 1; .5 if it is missing.
	Complexity *float64 `json:"complexity,omitempty"`
	// Risk is how much harm a mistake would do, from 0 to 1; .5 if it is missing.
	Risk *float64 `json:"risk,omitempty"`
	// InHistory is whether later turns of the session see the prompt too, as in a conversation that keeps
	// it. A memory under test is then left out of the whole session.
	InHistory bool `json:"in_history,omitempty"`
}

// MaxRequestBytes bounds a request as JSON.
const MaxRequestBytes = 8 << 20

// ReadRequest decodes a request from JSON, and refuses a field that it doesn't know.
func ReadRequest(data []byte) (*BuildRequest, error) {
	r := new(BuildRequest)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	if err == nil && d.More() {
		err = errors.New("more text follows")
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "snapshot_request_invalid", "the request for a snapshot can't be read: %w", jsontext.Problem(err)).
			WithHint("it is an object with session, turn, query, policy and blocks")
	}
	return r, nil
}

// Built is the snapshot of a turn, and its prompt.
type Built struct {
	*Snapshot
	// Prompt is the payloads, with a blank line between each two; lines of recalled text are one group,
	// whose first and last line say so. It isn't stored.
	Prompt string `json:"prompt"`
	// Duplicate is whether the turn had a snapshot already, which is returned.
	Duplicate bool `json:"duplicate"`
}

// Recaller recalls memories. [core.Memories] does.
type Recaller interface {
	Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error)
}

// Decider decides the policy of a turn.
type Decider interface {
	Injection(ctx context.Context, in *policypoint.InjectionInput) policypoint.InjectionOutcome
}

// Builder collects what is known for a turn, asks the policy, and stores the snapshot. It
// is safe for concurrent use.
type Builder struct {
	// Repository, Recaller, Decider and Clock are required.
	Repository *Repository
	Recaller   Recaller
	Decider    Decider
	Clock      core.Clock
	// Standing has the blocks that every prompt must have; nil has none. It is asked before
	// the recall, so that no turn begins for a prompt that can't be built.
	Standing Source
	// Sources have blocks for every turn.
	Sources []Source
	// Sessions knows the state of sessions; nil knows none.
	Sessions Sessions
	// Roles makes mixes of roles; nil makes none.
	Roles RoleMixer
	// Begin begins a turn that no recall has begun, right before its snapshot is stored; nil
	// begins none.
	Begin func(ctx context.Context, t *Turn) error
	// Memory returns a memory; nil if it doesn't exist. It may be nil: then none is known.
	Memory func(ctx context.Context, id string) (*core.Memory, error)
}

// Build returns the snapshot of a turn, and makes it if there is none. by is the maker of
// the request's blocks. Its refusals are the refusals of [NewBlock], [Policy.Completed],
// [Assemble] and the recall.
func (b *Builder) Build(ctx context.Context, r *BuildRequest, by Origin) (*Built, error) {
	began := b.Clock.Now()
	if err := r.check(by); err != nil {
		return nil, err
	}
	if r.Turn > 0 {
		if s, err := b.Repository.OfTurn(ctx, r.Session, r.Turn); err != nil || s != nil {
			return built(s, true), err
		}
	}
	t := &Turn{Namespace: r.Namespace, SessionID: r.Session, TurnID: r.Turn, Query: r.Query, InHistory: r.InHistory, Complexity: orHalf(r.Complexity), Risk: orHalf(r.Risk)}
	blocks, own, err := b.begin(ctx, t, r, by)
	if err != nil {
		return nil, sdk.Wrap("build the context of a turn", err)
	}
	for tries := 1; ; tries++ {
		made, err := b.make(ctx, t, r, blocks, own, began)
		if tries == maxTries || sdk.ReasonOf(err) != "session_changed" {
			return made, err
		}
	}
}

// make makes the snapshot of a turn from the caller's blocks and the host's.
func (b *Builder) make(ctx context.Context, t *Turn, r *BuildRequest, blocks []*Block, own []Draft, began time.Time) (*Built, error) {
	blocks, err := b.collect(ctx, t, blocks, own)
	if err != nil {
		return nil, sdk.Wrap("build the context of a turn", err)
	}
	in, err := b.decide(ctx, t, r, blocks)
	if err != nil {
		return nil, sdk.Wrap("build the context of a turn", err)
	}
	s, err := Assemble(in)
	if err != nil {
		return nil, err
	}
	if b.Begin != nil && t.Query == "" {
		if err := b.Begin(ctx, t); err != nil {
			return nil, err
		}
	}
	s.LatencyMillis = float64(b.Clock.Now().Sub(began)) / float64(time.Millisecond)
	stored, duplicate, err := b.Repository.add(ctx, s, in)
	return built(stored, duplicate), err
}

func built(s *Snapshot, duplicate bool) *Built {
	if s == nil {
		return nil
	}
	return &Built{s, s.Prompt(), duplicate}
}

func orHalf(n *float64) float64 {
	if n == nil {
		return half
	}
	return *n
}

// Check reports everything that is wrong with a request by itself. Who may make anchors is checked when
// it is built.
func (r *BuildRequest) Check() error {
	var blocks error
	if len(r.Blocks) <= MaxBlocks {
		_, blocks = NewBlocks(r.Blocks, FromOperator)
	}
	return core.JoinErrors(r.check(FromOperator), blocks)
}

// check reports everything that is wrong with a request and its policy, except its blocks.
func (r *BuildRequest) check(by Origin) error {
	var p problems
	switch {
	case r.Session == "":
		p.add("session", "is missing")
	case !core.ValidID(r.Session):
		p.add("session", "is no name of a session")
	}
	switch {
	case r.Turn < 0:
		p.add("turn", "is %d (least 1)", r.Turn)
	case r.Turn == 0 && r.Query == "":
		p.add("turn", "is missing: only a query begins the next turn")
	}
	if len(r.Blocks) > MaxBlocks {
		p.add("blocks", "has %d entries (limit %d)", len(r.Blocks), MaxBlocks)
	}
	for _, of := range []struct {
		field string
		value *float64
	}{{"complexity", r.Complexity}, {"risk", r.Risk}} {
		if of.value != nil && !(*of.value >= 0 && *of.value <= 1) {
			p.add(of.field, "is %v, which isn't from 0 to 1", *of.value)
		}
	}
	if err := core.CheckNamespace(r.Namespace); err != nil {
		p.list = append(p.list, err)
	}
	if r.Policy != nil {
		if _, err := r.Policy.resolved("policy."); err != nil {
			p.list = append(p.list, err)
		}
		if r.Policy.Anchors != nil && by == FromCaller {
			p.list = append(p.list, sdk.Errorf(sdk.Denied, AnchorDenied, "the policy says which categories are anchors, which only the operator may").
				WithHint("leave out anchor_categories").WithDetail("field", "policy.anchor_categories"))
		}
	}
	return p.err()
}

// begin checks the caller's blocks, and then recalls: own are what the host found and its
// standing blocks. The recall begins the turn, if the request doesn't name one, so it is made
// once: by the next try the session may be at a later turn.
func (b *Builder) begin(ctx context.Context, t *Turn, r *BuildRequest, by Origin) (blocks []*Block, own []Draft, err error) {
	drafts := append([]Draft{}, r.Blocks...)
	t.anchored = r.Policy != nil && slices.Contains(r.Policy.Anchors, MemoryRecall)
	for i := range drafts {
		m, err := b.memory(ctx, drafts[i].MemoryID)
		if err != nil {
			return nil, nil, err
		}
		if m != nil {
			drafts[i].Salt = m.Salt
			t.given = append(t.given, m.ID)
		}
	}
	if blocks, err = NewBlocks(drafts, by); err != nil {
		return nil, nil, err
	}
	if own, err = b.standing(ctx, t, by); err != nil {
		return nil, nil, err
	}
	found, err := b.recall(ctx, t)
	return blocks, append(own, found...), err
}

// collect is step 1: everything that may be in the turn's context.
func (b *Builder) collect(ctx context.Context, t *Turn, blocks []*Block, own []Draft) ([]*Block, error) {
	recalled := map[string]bool{}
	for i := range own {
		recalled[own[i].MemoryID] = own[i].MemoryID != ""
	}
	own = slices.Clone(own)
	for _, source := range b.Sources {
		more, err := source.Blocks(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, d := range more {
			if d.Category != Knowledge || !recalled[d.MemoryID] && !slices.Contains(t.withheld, d.MemoryID) { // knowledge that a memory became has the same text
				own = append(own, d)
			}
		}
	}
	hosts, err := NewBlocks(own, FromHost)
	return slices.Concat(blocks, hosts), err
}

// standing are the blocks that every prompt must have. Only the operator sees what is
// wrong with the operator's files: other callers can't fix them and mustn't see their
// text.
func (b *Builder) standing(ctx context.Context, t *Turn, by Origin) ([]Draft, error) {
	if b.Standing == nil {
		return nil, nil
	}
	drafts, err := b.Standing.Blocks(ctx, t)
	if err != nil && by == FromCaller {
		return nil, sdk.Errorf(sdk.Unavailable, sdk.ReasonOf(err), "the operator's policies for prompts can't be used").
			WithHint("ask the operator, whose own request for a prompt reports what is wrong with them")
	}
	return drafts, err
}

// recall recalls for the turn.
func (b *Builder) recall(ctx context.Context, t *Turn) ([]Draft, error) {
	if t.Query == "" {
		return nil, nil
	}
	result, err := b.Recaller.Recall(ctx, &core.RecallRequest{
		Session: t.SessionID, Turn: t.TurnID, Query: t.Query, RecallFilter: core.RecallFilter{Namespace: t.Namespace}, ForPrompt: true,
		InHistory: t.InHistory, Given: t.given, Anchored: t.anchored,
	})
	if err != nil {
		return nil, err
	}
	if t.TurnID, t.withheld = result.Turn, result.Withheld; result.NothingRelevant {
		return nil, nil
	}
	var drafts []Draft
	given, above, about := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, id := range t.withheld { // the question before a result may be it
		given[id] = true
	}
	for i := range result.Memories {
		given[result.Memories[i].ID] = true
	}
	for i := range result.Memories {
		m := &result.Memories[i]
		again := about[m.ID] || slices.ContainsFunc(m.About, func(id string) bool { return above[id] })
		above[m.ID] = true
		for _, id := range m.About {
			about[id] = true
		}
		if again { // what an insight says, or what it is about, was said above
			continue
		}
		priority := recallPriority - 2*m.Rank
		if q, err := b.memory(ctx, m.Question); err != nil {
			return nil, err
		} else if q != nil && !given[q.ID] {
			given[q.ID] = true
			drafts = append(drafts, recalledDraft("memory:"+q.ID, MemoryRecall, q, head("", dateOf(q), "asked before "+cmp.Or(m.Handle, "the next")), priority+1))
		}
		drafts = append(drafts, recalledDraft("memory:"+m.ID, MemoryRecall, m.Memory, head(m.Handle, dateOf(m.Memory), m.Record), priority))
	}
	return drafts, nil
}

// memory reads a memory; nil if there is none.
func (b *Builder) memory(ctx context.Context, id string) (*core.Memory, error) {
	if b.Memory == nil || !core.ValidID(id) {
		return nil, nil //nolint:nilnil // none is no error
	}
	return b.Memory(ctx, id)
}

// RecalledKnowledge is the draft of a block with recalled knowledge, which has the text of
// the memory that it was promoted from. salt is the memory's salt, and rank counts from 0.
func RecalledKnowledge(k *core.Knowledge, salt string, rank int) Draft {
	of := &core.Memory{ID: k.PromotedFrom, Title: k.Title, Content: k.Content, Salt: salt}
	return recalledDraft("knowledge:"+k.ID, Knowledge, of, "knowledge", knowledgePriority-rank)
}

func recalledDraft(id string, category Category, m *core.Memory, head string, priority int) Draft {
	return Draft{
		BlockID: id, Category: category, Priority: &priority, Payload: textOf(m.Title, m.Content), Source: id,
		MemoryID: m.ID, Salt: m.Salt, Head: head,
	}
}

// dateOf is when what a memory says happened; "" if its writer didn't say.
func dateOf(m *core.Memory) string {
	if m.OccurredAt == nil {
		return ""
	}
	return m.OccurredAt.Format(time.DateOnly)
}

// head joins the parts of a line's head that there are.
func head(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// textOf is a memory as a model reads it. The title is left out if the content begins with
// it.
func textOf(title, content string) string {
	if title == "" || strings.HasPrefix(content, title) {
		return content
	}
	return title + ": " + content
}

// decide asks the policy point, and adds the blocks of the chosen role mix.
func (b *Builder) decide(ctx context.Context, t *Turn, r *BuildRequest, blocks []*Block) (*Input, error) {
	var state SessionState
	var err error
	if b.Sessions != nil {
		if state, err = b.Sessions.State(ctx, t); err != nil {
			return nil, err
		}
	}
	counts := map[string]int64{}
	for _, block := range blocks {
		counts[string(block.Category())]++
	}
	chosen := b.Decider.Injection(ctx, &policypoint.InjectionInput{
		Namespace: t.Namespace, SessionID: t.SessionID, Turn: t.TurnID, Complexity: t.Complexity, Risk: t.Risk,
		FailureClass: state.FailureClass, Blocks: counts, WindowFill: state.WindowFill, Bias: state.Bias,
	})
	policy := ofOutcome(&chosen)
	if _, err := policy.Completed(); err != nil {
		policy = Policy{} // a policy that can't be used counts as failed: the defaults apply
	}
	if r.Policy != nil {
		own, err := r.Policy.resolved("policy.")
		if err != nil {
			return nil, err
		}
		policy = policy.overlaid(&own)
	}
	in := &Input{
		Namespace: t.Namespace, SessionID: t.SessionID, TurnID: t.TurnID, Route: chosen.Route, Policy: policy,
		File: chosen.Decision.File, FileDigest: chosen.Decision.Digest, Rule: chosen.Decision.Rule, Blocks: blocks,
		Withheld: t.withheld,
	}
	if chosen.Mode = string(policy.Mode); b.Roles != nil {
		mix, drafts, err := b.Roles.Mix(ctx, t, state, &chosen)
		if err != nil {
			return nil, err
		}
		more, err := NewBlocks(drafts, FromHost)
		if err != nil {
			return nil, err
		}
		in.RoleMix, in.Blocks = mix, append(in.Blocks, more...)
	}
	before, err := b.Repository.Before(ctx, t.SessionID, t.TurnID)
	if before != nil {
		in.Before = before.Prefix.Digest
	}
	return in, err
}

// ofOutcome is what the policy point decided.
func ofOutcome(o *policypoint.InjectionOutcome) Policy {
	p := Policy{
		Mode: Mode(o.Mode), MaxBlocks: int(o.MaxBlocks), MaxChars: int(o.MaxChars), MaxTokens: int(o.MaxTokens),
		Ordering: Ordering(o.Ordering), Dedupe: Dedupe(o.Dedupe),
	}
	for category, most := range o.CategoryCap {
		if p.CategoryCap == nil {
			p.CategoryCap = map[Category]int{}
		}
		p.CategoryCap[Category(category)] = int(most)
	}
	if o.EnabledCategories != nil {
		p.Enabled = []Category{}
		for _, category := range o.EnabledCategories {
			p.Enabled = append(p.Enabled, Category(category))
		}
	}
	return p
}

// overlaid is the policy with the fields that another policy sets in place of its own.
func (p Policy) overlaid(by *Policy) Policy {
	setTo(&p.Mode, by.Mode)
	setTo(&p.MaxBlocks, by.MaxBlocks)
	if by.MaxChars > 0 || by.MaxTokens > 0 { // one budget, not half of each
		p.MaxChars, p.MaxTokens = by.MaxChars, by.MaxTokens
	}
	setTo(&p.Tokenizer, by.Tokenizer)
	setTo(&p.Ordering, by.Ordering)
	setTo(&p.Dedupe, by.Dedupe)
	if by.CategoryCap != nil {
		p.CategoryCap = by.CategoryCap
	}
	if by.Enabled != nil {
		p.Enabled = by.Enabled
	}
	if by.Anchors != nil {
		p.Anchors = by.Anchors
	}
	return p
}

// setTo sets a field to a value that isn't zero.
func setTo[T comparable](field *T, value T) {
	if value != *new(T) {
		*field = value
	}
}
