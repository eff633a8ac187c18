package memory

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MaxRecall is how many memories one recall returns at most.
	MaxRecall = 100
	// maxQueryBytes bounds a query: a whole content may be one.
	maxQueryBytes = maxContentBytes
)

// Recall returns the memories that fit a query best, the best first.
// With a session it begins a turn: what it returns and the accesses are recorded
// in one commit, and how much is looked at and returned follows the session's
// bias. Without a session nothing is written.
//
// What was committed before the call is found, by whichever process. A namespace that isn't loaded yet is
// loaded first. Where the embedder fails, words alone decide, and the result says
// so.
func (m *Memories) Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	if err := checkRecall(r); err != nil {
		return nil, err
	}
	result, err := m.recall(ctx, r)
	if err != nil {
		return nil, sdk.Wrap("recall in "+r.Namespace, err)
	}
	return result, nil
}

func (m *Memories) recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	began := m.options.Clock.Now()
	bias := 0.0
	if r.Session != "" {
		var err error
		if bias, err = m.Bias(ctx, r.Session); err != nil {
			return nil, err
		}
	}
	q := search.Query{Text: r.Query, Filter: r.RecallFilter, Recallable: func(id string) (recallable bool, err error) {
		err = m.options.Store.View(ctx, func(reader core.Reader) error {
			recallable, err = isRecallable(reader, id)
			return err
		})
		return recallable, err
	}}
	widths(&q, bias, r.Limit)
	failure, err := m.embedQuery(ctx, &q)
	if err != nil {
		return nil, err
	}
	found, err := m.index.Search(ctx, &q)
	if err != nil {
		return nil, err
	}
	memories, turn, err := m.take(ctx, r, found, began)
	if err != nil {
		return nil, err
	}
	return &core.RecallResult{Session: r.Session, Turn: turn, Memories: memories, EmbeddingFailure: failure}, nil
}

// take reads what was found, and records it where the recall, which began at the
// given time, is one of a turn, whose number it returns.
func (m *Memories) take(ctx context.Context, r *core.RecallRequest, found []search.Found, began time.Time) (list []core.Recalled, turn int64, err error) {
	if r.Session == "" {
		err = m.options.Store.View(ctx, func(reader core.Reader) error {
			list, err = recalled(reader, found)
			return err
		})
		return list, 0, err
	}
	err = m.update(ctx, func(t *tx) (err error) {
		if turn = r.Turn; turn == 0 {
			if turn, err = nextTurnOf(t, r.Session); err != nil {
				return err
			}
		}
		if list, err = recalled(t, found); err != nil {
			return err
		}
		by := core.TurnRef{Session: r.Session, Turn: turn}
		if err := recordTurn(t, by, r.Namespace, list, m.millisSince(began)); err != nil {
			return err
		}
		// Again, with the accesses that were counted.
		list, err = recalled(t, found)
		return err
	})
	return list, turn, err
}

// checkRecall tells all that is wrong with a request.
func checkRecall(r *core.RecallRequest) error {
	var p problems
	if r.Session != "" || r.Turn != 0 {
		p.turn(r.Session, r.Turn)
	}
	p.query(r.Query, r.Limit, r.MinScore)
	p.check(core.CheckNamespace(r.Namespace))
	p.tags(r.Tags)
	p.word("agent_id", r.AgentID)
	for _, state := range r.States {
		if !state.Recallable() {
			p.add("states", "have %q: only open, active, cooling, revalidate_pending and promoted memories are recalled", cut(string(state)))
		}
	}
	p.kinds(r.Kinds)
	return p.err()
}

// kinds checks the kinds of a filter.
func (p *problems) kinds(kinds []core.MemoryKind) {
	all := []core.MemoryKind{core.KindObservation, core.KindReflection, core.KindSemantic, core.KindProcedural, core.KindNotification}
	for _, kind := range kinds {
		if !slices.Contains(all, kind) {
			p.add("kinds", "has %q, not one of %s", cut(string(kind)), words(all))
		}
	}
}

// query checks what recalls of memories and of knowledge have in common.
func (p *problems) query(query string, limit int, minScore float64) {
	switch {
	case strings.TrimSpace(query) == "":
		p.add("query", "is blank")
	case !utf8.ValidString(query):
		p.add("query", "isn't UTF-8")
	}
	p.over("query", len(query), maxQueryBytes, "bytes")
	if limit < 0 || limit > MaxRecall {
		p.add("limit", "is %d, not from 0 to %d", limit, MaxRecall)
	}
	if math.IsNaN(minScore) || math.IsInf(minScore, 0) {
		p.add("min_score", "is %v, not a finite number", minScore)
	}
}

// widths sets how many candidates a search looks at, and how many it returns: a
// caller's limit stands, whatever the bias.
func widths(q *search.Query, bias float64, limit int) {
	q.Nearest, q.Limit = search.Widths(bias)
	if limit > 0 {
		q.Limit = limit
	}
	q.Nearest = max(q.Nearest, q.Limit)
}

// embedQuery sets the query's vector. One that can't be made leaves the words: the
// first result is why. The error is the context's.
func (m *Memories) embedQuery(ctx context.Context, q *search.Query) (failure string, err error) {
	e, err := m.embedTexts(ctx, []string{q.Text})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(e[0].vector, func(c float32) bool { return c != 0 }) {
		q.Model, q.Vector = e[0].model, e[0].vector
		if weighted, ok := m.options.Embedder.(core.EmbedderWithWeight); ok {
			q.VectorWeight = weighted.Weight()
		}
	}
	return e[0].failure, nil
}

// recalled reads what was found. What is gone since then, or can't be recalled any
// more, is left out.
func recalled(r core.Reader, found []search.Found) ([]core.Recalled, error) {
	list := make([]core.Recalled, 0, len(found))
	for _, f := range found {
		memory, err := read(r, f.ID)
		if isGone(err) || err == nil && !memory.State.Recallable() {
			continue
		}
		if err != nil {
			return nil, err
		}
		result := core.Recalled{Memory: memory, Rank: len(list), Score: f.Score, Why: f.Why, SameAs: f.SameAs}
		if err := annotate(r, &result); err != nil {
			return nil, err
		}
		list = append(list, result)
	}
	return list, nil
}

// annotate says what a reader of a recalled memory should know apart from its content.
func annotate(r core.Reader, result *core.Recalled) (err error) {
	if result.SupersededBy, err = relatedBy(r, result.ID, core.RelationSupersedes); err != nil {
		return err
	}
	if result.ContradictedBy, err = relatedBy(r, result.ID, core.RelationContradicts); err != nil {
		return err
	}
	if uses := result.Signals.Uses(); uses > 0 {
		rate := float64(result.Signals.Failures) / float64(uses)
		result.FailureRate = &rate
	}
	result.KnowledgeID = result.PromotedTo
	return nil
}
