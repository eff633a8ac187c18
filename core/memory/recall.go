package memory

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/feed"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// The bounds of a memory, for surfaces that state them in advance: characters of a title,
// bytes of a content, tags, and the priorities.
const (
	MaxTitleRunes   = bounds.MaxTitleRunes
	MaxContentBytes = bounds.MaxContentBytes
	MaxTags         = bounds.MaxTags
	MinPriority     = bounds.MinPriority
	MaxPriority     = bounds.MaxPriority
)

// MaxReplyBytes bounds the reply of a feedback.
const MaxReplyBytes = turn.MaxReplyBytes

// MaxRecall is how many memories one recall returns at most.
const MaxRecall = bounds.MaxRecall

// Recall returns the memories that match a query best, the best first. With a session it
// begins a turn: the results and the accesses are recorded in one commit, and the
// session's bias decides how many candidates are searched and returned. Without a session
// nothing is written.
//
// Everything that was committed before the call is found. A namespace that isn't loaded
// yet is loaded first. If the embedder fails, words alone decide, and the result reports
// this.
func (m *Memories) Recall(ctx context.Context, r *core.RecallRequest) (result *core.RecallResult, err error) {
	if err := CheckRecall(r); err != nil {
		return nil, err
	}
	defer m.follow(&ctx, work.Work{Kind: work.Search, Name: "recall", Namespace: r.Namespace, Query: r.Query}, &err)()
	result, err = m.recall(ctx, r, nil)
	if err != nil {
		return nil, sdk.Wrap("recall in "+r.Namespace, err)
	}
	return result, nil
}

// recall recalls from the memories with these ids; nil means from all.
func (m *Memories) recall(ctx context.Context, r *core.RecallRequest, among map[string]bool) (result *core.RecallResult, err error) {
	began := m.options.Clock.Now()
	q := search.Query{Text: r.Query, Now: began, Subject: core.CallerOf(ctx).Subject, Filter: r.RecallFilter, Among: among, Supersedes: func(id string) (supersedes bool, err error) {
		err = m.records.View(ctx, func(reader core.Reader) error {
			by, err := superseder(reader, id)
			supersedes = by != ""
			return err
		})
		return supersedes, err
	}, MinP: r.MinP, ForPrompt: r.ForPrompt, Known: m.knownAt(ctx, r.AsOf)}
	if among != nil {
		q.MinP = new(float64) // its caller chose them
	}
	if err := m.prepare(ctx, r, &q); err != nil {
		return nil, err
	}
	failure, err := m.embedQuery(ctx, &q)
	if err != nil {
		return nil, err
	}
	found, err := m.index.Search(ctx, &q)
	if err != nil {
		return nil, err
	}
	archived := 0
	if among == nil && len(r.States) == 0 && weak(found) {
		found = slices.DeleteFunc(found, func(f search.Found) bool { return f.Spare }) // nothing is under test in it
		if found, archived, err = m.searchArchive(ctx, &q, found); err != nil {
			return nil, err
		}
	}
	nothing := !slices.ContainsFunc(found, func(f search.Found) bool { return f.Relevant })
	if nothing {
		shown := nearestShown
		if r.ForPrompt {
			shown = 0 // what no prompt shows isn't offered
		}
		found, archived = found[:min(shown, len(found))], min(shown, archived)
	}
	by := &turn.Recall{
		TurnRef: core.TurnRef{Session: r.Session, Turn: r.Turn}, Namespace: r.Namespace, Query: r.Query, RunID: m.runOf(ctx),
		Tests: among == nil && archived == 0 && !nothing && !r.Anchored, InHistory: r.InHistory, Given: r.Given,
	}
	if at := slices.IndexFunc(found, func(f search.Found) bool { return f.Spare }); at >= 0 {
		by.Spare = found[at].ID
	}
	memories, withheld, err := m.readFound(ctx, by, found, archived, began)
	if err != nil {
		return nil, err
	}
	describe(memories, &q)
	return &core.RecallResult{
		Session: r.Session, Turn: by.Turn, Memories: memories, Withheld: withheld, EmbeddingFailure: failure, NothingRelevant: nothing,
		Answerable: !nothing && slices.ContainsFunc(memories, func(f core.Recalled) bool { return f.P >= answers }),
	}, nil
}

// prepare reads what a search begins with, all of one moment: the session's bias, the namespace's settings,
// and what changed in it.
func (m *Memories) prepare(ctx context.Context, r *core.RecallRequest, q *search.Query) error {
	return m.records.View(ctx, func(reader core.Reader) error {
		if err := core.Prefetch(reader, func() core.Reads { return m.expectedReads(r) }); err != nil {
			return err
		}
		bias := 0.0
		if r.Session != "" {
			var err error
			if bias, err = turn.Bias(reader, core.CallerOf(ctx), r.Session); err != nil {
				return err
			}
		}
		widths(q, bias, r.Limit)
		g, err := m.records.Governance(reader, r.Namespace)
		if err != nil {
			return err
		}
		// Whether only a caller's own turns count, and whether a result is to spare, for a memory that a turn
		// may leave out.
		q.Own, q.Spare = g.Credit == core.CreditPerSubject, g.Experiment == core.ExperimentOn && r.Session != ""
		q.Prepared, err = m.index.Prepare(ctx, m.source.At(reader), r.Namespace, r.Subtree)
		return err
	})
}

// expectedReads is what prepare probably reads.
func (m *Memories) expectedReads(r *core.RecallRequest) (reads core.Reads) {
	if r.Session != "" {
		reads.Keys = append(reads.Keys, record.SessionKey(r.Session))
	}
	if seq, loaded := m.index.Known(r.Namespace); loaded {
		feed.Ahead(&reads, m.records, r.Namespace, seq)
	}
	return reads
}

// knownAt reports whether a memory was stored at a time. One that was purged counts as stored, so that what
// it superseded stays hidden.
func (m *base) knownAt(ctx context.Context, at time.Time) func(id string) (bool, error) {
	return func(id string) (known bool, err error) {
		err = m.records.View(ctx, func(r core.Reader) error {
			found, err := record.Read(r, id)
			if record.IsGone(err) {
				known = true
				return nil
			}
			known = err == nil && !found.CreatedAt.After(at)
			return err
		})
		return known, err
	}
}

const (
	// nearestShown is how many memories are shown where none is relevant.
	nearestShown = 2
	// answers is the lowest P at which a memory answers a query, and mayAnswer the lowest at which it may: without
	// one the archive is searched, for what is relevant by default.
	answers, mayAnswer = 0.5, 0.3
)

// weak reports whether what was found holds no answer.
func weak(found []search.Found) bool {
	return !slices.ContainsFunc(found, func(f search.Found) bool { return f.P >= mayAnswer })
}

// searchArchive puts the archived memories that may be an answer before what was found, up to the
// query's limit, and returns how many they are.
func (m *base) searchArchive(ctx context.Context, q *search.Query, found []search.Found) (all []search.Found, archived int, err error) {
	old, err := m.archive.Search(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	old = slices.DeleteFunc(old, func(f search.Found) bool { return f.P < core.DefaultMinP })
	all = append(old, found...)
	return all[:min(len(all), max(q.Limit, len(found)))], len(old), nil
}

// readFound reads the memories that were found, of which the first so many are archived. If the recall belongs to a turn, readFound also
// records it, with the time at which it began, sets the turn's number, and leaves out what the turn withholds.
//
// The links to the memories are read before the turn's transaction: a link that is made
// between the two wasn't committed before the recall began, and the transaction would lock
// and validate the range of each memory's links.
func (m *Memories) readFound(ctx context.Context, by *turn.Recall, found []search.Found, archived int, began time.Time) (list []core.Recalled, withheld []string, err error) {
	var read []core.Recalled
	err = m.records.View(ctx, func(reader core.Reader) error {
		read, err = recalled(reader, found, archived)
		return err
	})
	if err != nil || by.Session == "" {
		by.Turn = 0
		return read, nil, err
	}
	named := by.Turn
	err = m.records.Update(ctx, func(t *record.Tx) (err error) {
		if by.Turn = named; named == 0 {
			if by.Turn, err = turn.Next(t, by.Session); err != nil {
				return err
			}
		}
		if list, err = refreshed(t, read); err != nil {
			return err
		}
		by.Millis = m.records.MillisSince(began)
		if list, withheld, err = m.turns.Record(t, by, list); err != nil {
			return err
		}
		// Read again, now with the accesses that were counted.
		list, err = refreshed(t, list)
		return err
	})
	return list, withheld, err
}

// CheckRecall reports everything that is wrong with a request, and brings its tags into their stored
// form.
func CheckRecall(r *core.RecallRequest) error {
	var p bounds.Problems
	if r.Session != "" || r.Turn != 0 {
		p.Turn(r.Session, r.Turn)
	}
	p.Query(r.Query, r.Limit, r.MinScore)
	if r.MinP != nil && !(*r.MinP >= 0 && *r.MinP <= 1) {
		p.Add("min_p", "is %v, not from 0 to 1", *r.MinP)
	}
	p.Check(core.CheckNamespace(r.Namespace))
	p.Tags(r.Tags)
	r.Tags = core.NormalTags(r.Tags)
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
		p.Add("to", "is %s, not later than from", r.To.Format(time.RFC3339))
	}
	p.Word("agent_id", r.AgentID)
	for _, state := range r.States {
		if !state.Recallable() {
			p.Add("states", "has %q, not one of open, active, cooling, revalidate_pending, promoted: others aren't recalled", bounds.Shorten(string(state)))
		}
	}
	p.Kinds(r.Kinds)
	return p.Err()
}

// widths sets how many candidates a search looks at, and how many it returns. The bias
// doesn't change a limit that the caller sets.
func widths(q *search.Query, bias float64, limit int) {
	if q.Limit, q.Most = limit, limit; limit == 0 {
		q.Limit, q.Most = search.Limit(bias), search.Limit(0)
	}
	q.Nearest = max(search.Nearest, q.Limit)
}

// embedQuery sets the query's vector. If no vector can be made, the search uses words
// alone, and failure is the reason. The error is the context's error.
func (m *base) embedQuery(ctx context.Context, q *search.Query) (failure string, err error) {
	e, err := m.embedTexts(ctx, []string{q.Text})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(e[0].vector, func(c float32) bool { return c != 0 }) {
		q.Model, q.Vector = e[0].model, e[0].vector
		if weighted, ok := m.options.Embedder.(core.EmbedderWithWeight); ok {
			q.VectorWeight = weighted.Weight()
		}
		q.VectorsLast = vectorsLast(m.options.Embedder)
	}
	return e[0].failure, nil
}

// recalled reads the memories that were found, and the links to them. It leaves out any
// memory that is gone by now, or can't be recalled any more. The first so many are archived.
func recalled(r core.Reader, found []search.Found, archived int) ([]core.Recalled, error) {
	if err := prefetch(r, found); err != nil {
		return nil, err
	}
	list := make([]core.Recalled, 0, len(found))
	for i, f := range found {
		list = append(list, core.Recalled{Memory: &core.Memory{ID: f.ID}, Score: f.Score, P: f.P, Why: f.Why, SameAs: f.SameAs, Archived: i < archived, Question: f.Question})
	}
	list, err := refreshed(r, list)
	for i := range list {
		if err == nil {
			list[i].SupersededBy, err = relatedBy(r, list[i].ID, core.RelationSupersedes, superseder)
		}
		if err == nil {
			list[i].ContradictedBy, err = relatedBy(r, list[i].ID, core.RelationContradicts, recallable)
		}
		if err == nil {
			list[i].About, err = sources(r, list[i].Memory)
		}
	}
	return list, err
}

// refreshed returns results with their memories as they are now, and what follows from
// these. It leaves out any memory that is gone, or can't be recalled any more.
func refreshed(r core.Reader, results []core.Recalled) ([]core.Recalled, error) {
	list := make([]core.Recalled, 0, len(results))
	for _, result := range results {
		memory, err := record.Read(r, result.ID)
		if record.IsGone(err) || err == nil && !memory.State.Recallable() && !(result.Archived && memory.State == core.StateArchived) {
			continue
		}
		if err != nil {
			return nil, err
		}
		result.Memory, result.Rank, result.KnowledgeID, result.FailureRate = memory, len(list), memory.PromotedTo, nil
		result.Archived = memory.State == core.StateArchived
		if uses := memory.Signals.Uses(); uses > 0 {
			rate := float64(memory.Signals.Failures) / float64(uses)
			result.FailureRate = &rate
		}
		list = append(list, result)
	}
	return list, nil
}

// prefetch reads what recalled reads of each memory.
func prefetch(r core.Reader, found []search.Found) error {
	return core.Prefetch(r, func() (reads core.Reads) {
		for _, f := range found {
			reads.Keys = append(reads.Keys, record.MemoryKey(f.ID))
			reads.Prefixes = append(reads.Prefixes, record.LinkToKey(f.ID, core.RelationSupersedes, ""), record.LinkToKey(f.ID, core.RelationContradicts, ""))
		}
		return reads
	})
}

// relatedBy returns the names of the memories that have a link of this relation to id, each
// once, at most [core.MaxRelated]. A name of "" is left out.
func relatedBy(r core.Reader, id, relation string, name func(r core.Reader, id string) (string, error)) (list []string, err error) {
	start := record.LinkToKey(id, relation, "")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		from, err := name(r, string(key[len(start):]))
		if from != "" && !slices.Contains(list, from) {
			list = append(list, from)
		}
		return len(list) < core.MaxRelated, err
	})
	return list, err
}

// recallable is a memory's id, if it can be recalled.
func recallable(r core.Reader, id string) (string, error) {
	if is, err := isRecallable(r, id); err != nil || !is {
		return "", err
	}
	return id, nil
}

// superseder is the id of a memory that can be recalled, and so takes the place of what it
// supersedes; or, for one that was purged, [core.SupersededByPurged].
func superseder(r core.Reader, id string) (string, error) {
	by, err := recallable(r, id)
	if by != "" || err != nil {
		return by, err
	}
	gone, err := record.ReadTombstone(r, id)
	if gone == nil || err != nil {
		return "", err
	}
	return core.SupersededByPurged, nil
}

// isRecallable reports whether the memory exists and can be recalled.
func isRecallable(r core.Reader, id string) (bool, error) {
	m, err := record.Read(r, id)
	if record.IsGone(err) {
		return false, nil
	}
	return err == nil && m.State.Recallable(), err
}
