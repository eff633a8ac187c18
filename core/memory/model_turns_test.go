package memory_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// subjectOf is whose session it is.
func subjectOf(session string) string {
	return map[string]string{"s1": "ann", "s2": "bob"}[session]
}

// asSubject is a context of a subject.
func asSubject(t *testing.T, subject string) context.Context {
	return core.WithCaller(t.Context(), core.Caller{Subject: subject})
}

func (l *lives) observe(i int) lifeOp {
	q := core.ObserveRequest{
		ID: fmt.Sprint("m", i), Namespace: l.namespace(), Title: fmt.Sprint("title ", i),
		Content: oneOf(l.r, "retry the upload", "rotate the logs", "renew the certificate") + " " + oneOf(l.r, "at night", "by hand", "with care") + " " + l.subject,
	}
	author := oneOf(l.r, "", "ann", "bob")
	return lifeOp{"observe", func(t *testing.T, g *governed) lifeAnswer {
		m, err := g.Observe(asSubject(t, author), &q)
		return lifeAnswer{Reason: sdk.ReasonOf(err), Memory: m}
	}, func(a *lifeAnswer) (string, string) {
		if a.Reason == "" {
			l.born(a.Memory.ID, q.Namespace, author, 0)
		}
		return a.Reason, a.Reason
	}}
}

func (l *lives) reflect(i int) lifeOp {
	source := l.any()
	if source == nil {
		return l.observe(i)
	}
	q := core.ReflectRequest{SourceIDs: []string{source.id}, Title: fmt.Sprint("title ", i), Content: "retry by hand " + l.subject}
	return lifeOp{"reflect", func(t *testing.T, g *governed) lifeAnswer {
		made, err := g.Reflect(t.Context(), &q)
		if err != nil {
			return lifeAnswer{Reason: sdk.ReasonOf(err)}
		}
		return lifeAnswer{ID: made.ID, Depth: made.ReflectionDepth}
	}, func(a *lifeAnswer) (string, string) {
		want := ""
		switch {
		case source.state == core.StatePurged || source.state == core.StateConsolidated:
			want = "source_" + string(source.state)
		case source.depth == core.DefaultMaxReflectionDepth:
			want = "depth_exceeded"
		default:
			l.born(a.ID, source.namespace, "", source.depth+1)
		}
		return want, unless(a.Reason == want && (want != "" || a.Depth == source.depth+1), "%q of depth %d, want %q", a.Reason, a.Depth, want)
	}}
}

// unless says what is wrong unless something holds.
func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (l *lives) recall() lifeOp {
	q := core.RecallRequest{
		Session: fmt.Sprint("s", l.r.IntN(3)), Limit: 1 + l.r.IntN(3),
		Query: oneOf(l.r, "upload", "logs at night", "certificate", "by hand") + " " + l.subject,
	}
	if len(l.order) > 0 && l.r.IntN(10) == 0 { // the same turn once more
		again := l.order[l.r.IntN(len(l.order))]
		q.Session, q.Turn = again.Session, again.Turn
	}
	q.Namespace, q.Subtree = l.namespace(), l.r.IntN(2) == 0
	want := l.takes(&q)
	turn := core.TurnRef{Session: q.Session, Turn: q.Turn}
	if turn.Turn == 0 {
		turn.Turn = l.current[q.Session] + 1
	}
	return lifeOp{"recall", func(t *testing.T, g *governed) lifeAnswer {
		result, err := g.Recall(asSubject(t, subjectOf(q.Session)), &q)
		if err != nil {
			return lifeAnswer{Reason: sdk.ReasonOf(err)}
		}
		return lifeAnswer{Memories: result.Memories, Turn: result.Turn, Withheld: result.Withheld, Nothing: result.NothingRelevant}
	}, func(a *lifeAnswer) (string, string) {
		if want != "" {
			return want, unless(a.Reason == want, "%q, want %s", a.Reason, want)
		}
		l.current[q.Session] = turn.Turn
		o := l.turns[turn]
		if o == nil {
			o = &offer{}
			l.turns[turn], l.order = o, append(l.order, turn)
		}
		came, wrong := l.withheld(o, &q, a)
		if wrong != "" {
			return "", wrong
		}
		for i, found := range a.Memories {
			m := l.all[found.ID]
			inside := m.namespace == q.Namespace || q.Subtree && q.Namespace == "a"
			if !m.state.Recallable() && m.state != core.StateArchived || found.Archived != (m.state == core.StateArchived) || !inside || found.Rank != i {
				return "", fmt.Sprintf("recalled %+v, which is %s, at %d", found, m.state, i)
			}
			lately := m.lately(subjectOf(q.Session))
			if failure, use := lately.factors(); math.Abs(found.Why.FailureFactor-failure) > 1e-9 || math.Abs(found.Why.UseFactor-use) > 1e-9 || len(m.window()) > 0 && math.Abs(found.Why.Q-lately.q) > 1e-8 {
				return "", fmt.Sprintf("recalled %+v, which has %+v in window %+v", found.Why, lately, m.offers)
			}
			o.offer(m, found, len(a.Memories))
		}
		return came, unless(a.Reason == "" && len(a.Memories) <= q.Limit && a.Turn == turn.Turn, "%s, %d results in turn %d", a.Reason, len(a.Memories), a.Turn)
	}}
}

// takes is why the session takes no recall in a turn; "" if it does.
func (l *lives) takes(q *core.RecallRequest) string {
	o := l.turns[core.TurnRef{Session: q.Session, Turn: q.Turn}]
	switch {
	case q.Turn != 0 && q.Turn < l.current[q.Session]:
		return "turn_out_of_order"
	case o != nil && o.done != nil:
		return "turn_closed"
	}
	return ""
}

// offer adds a result to a turn, in the best of its places.
func (o *offer) offer(m *life, found core.Recalled, of int) {
	i := slices.IndexFunc(o.items, func(r core.Recalled) bool { return r.ID == m.id })
	if i < 0 {
		m.accesses++
		o.items, o.of = append(o.items, found), append(o.of, of)
		return
	}
	had := &o.items[i]
	had.Archived = had.Archived || found.Archived
	had.Score, had.Why.Fused = max(had.Score, found.Score), max(had.Why.Fused, found.Why.Fused)
	if found.Rank < had.Rank || found.Rank == had.Rank && of > o.of[i] {
		had.Rank, o.of[i] = found.Rank, of
	}
}

// feedback is of a turn of the last ones, as a rule.
func (l *lives) feedback() lifeOp {
	q := core.FeedbackRequest{Session: "nobody", Outcome: oneOf(l.r, core.OutcomeSuccess, core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial), Source: "user"}
	if n := len(l.order); n > 0 {
		ref := l.order[max(0, n-1-l.r.IntN(20))]
		q.Session, q.Turn = ref.Session, ref.Turn
	}
	o := l.turns[core.TurnRef{Session: q.Session, Turn: q.Turn}]
	if o != nil && o.without != "" && good(o.without) != l.late && l.r.IntN(10) > 0 {
		q.Outcome = core.OutcomeFailure
	}
	if o != nil {
		for _, item := range o.items {
			// What is even is good, and what is odd isn't, until late.
			if (good(item.ID) != l.late) == (q.Outcome != core.OutcomeFailure) {
				q.Used = append(q.Used, item.ID)
			}
		}
	}
	switch l.r.IntN(60) {
	case 0:
		q.Used = append(q.Used, "stranger")
	case 1, 2, 3, 4, 5:
		if o != nil && len(o.items) > 0 { // nothing is named, but the reply is known
			q.Used, q.Reply = nil, o.items[0].Content
		}
	}
	if l.r.IntN(5) > 0 {
		ok := q.Outcome != core.OutcomeFailure
		q.ToolOutcomes = []core.ToolOutcome{{Tool: "test", OK: ok, Recovered: ok}}
	}
	return lifeOp{"feedback", func(t *testing.T, g *governed) lifeAnswer {
		result, err := g.Feedback(asSubject(t, subjectOf(q.Session)), &q)
		return lifeAnswer{Reason: sdk.ReasonOf(err), Feedback: result}
	}, func(a *lifeAnswer) (string, string) { return l.fed(&q, o, a) }}
}

// fed applies a feedback to the model.
func (l *lives) fed(q *core.FeedbackRequest, o *offer, a *lifeAnswer) (came, wrong string) {
	switch {
	case o == nil:
		return "turn_not_found", unless(a.Reason == "turn_not_found", "%s", a.Reason)
	case o.done != nil:
		want := *o.done
		want.Duplicate = true
		return "duplicate", cmp.Diff(&want, a.Feedback, approximately)
	case slices.Contains(q.Used, "stranger"):
		return "not_recalled", unless(a.Reason == "not_recalled", "%s", a.Reason)
	}
	sign := map[core.Outcome]float64{core.OutcomeSuccess: .15, core.OutcomeFailure: -.15}[q.Outcome]
	l.bias[q.Session] = min(1, max(-1, .85*l.bias[q.Session]+sign))
	o.done = &core.FeedbackResult{
		Session: q.Session, Turn: q.Turn, Outcome: q.Outcome, Source: q.Source, Bias: l.bias[q.Session],
		Items: []core.FeedbackItem{}, Revalidate: []string{},
	}
	l.try(q, o)
	advanced := map[string]bool{}
	for _, item := range o.items {
		if !advanced[item.Namespace] {
			advanced[item.Namespace] = true
			l.counters[item.Namespace]++
		}
	}
	inferred := map[string]float64{} // what the reply shows is text's matter, and what follows from it is the model's
	if a.Feedback != nil && len(q.Used) == 0 && q.Reply != "" {
		for _, item := range a.Feedback.Items {
			if item.Inferred > 0 {
				inferred[item.ID] = item.Inferred
			}
		}
	}
	named := q.Used
	used := slices.Concat(q.Used, slices.Sorted(maps.Keys(inferred)))
	for i, item := range o.items {
		q := *q
		q.Used = used
		told := l.taught(&q, &item, o.of[i], o.passes(&q, &item), inferred[item.ID], len(named) == 0)
		if o.done.Items = append(o.done.Items, told); told.After == core.StateRevalidatePending && told.Before != told.After {
			o.done.Revalidate = append(o.done.Revalidate, told.ID)
		}
		if told.Inferred > 0 {
			came = "inferred"
		}
		if told.Before == core.StateArchived && told.After == core.StateActive {
			came = "restored"
		}
	}
	return came, cmp.Diff(o.done, a.Feedback, approximately)
}

// passes reports whether a turn passes a result over: it uses what isn't nearer, or fails and uses nothing.
func (o *offer) passes(q *core.FeedbackRequest, item *core.Recalled) bool {
	least := 0.0
	for _, other := range o.items {
		switch {
		case len(q.Used) == 0:
			least = max(least, .9*other.Why.Fused)
		case slices.Contains(q.Used, other.ID):
			least = max(least, other.Why.Fused)
		}
	}
	none := len(q.Used) == 0 && q.Outcome != core.OutcomeFailure
	return !none && !slices.Contains(q.Used, item.ID) && item.Why.Fused > 0 && item.Why.Fused >= least
}

// taught applies a turn to one memory that it recalled.
func (l *lives) taught(q *core.FeedbackRequest, item *core.Recalled, of int, passed bool, inferred float64, assumed bool) core.FeedbackItem {
	m, turn := l.all[item.ID], core.TurnRef{Session: q.Session, Turn: q.Turn}
	told := core.FeedbackItem{ID: m.id, Used: slices.Contains(q.Used, m.id), PassedOver: passed, Before: m.state, After: m.state}
	told.Assumed, told.Shared = told.Used && assumed, told.Used && !assumed && len(q.Used) > 1
	if m.state == core.StatePurged {
		return told
	}
	rank := 1.0
	if of > 1 {
		rank = 1 - float64(item.Rank)/float64(of-1)
	}
	weight := min(1, max(.15, .2+.55*rank+.25*(item.Score+1)/2))
	use := ""
	if told.Used {
		use = string(q.Outcome)
	}
	if told.Inferred = inferred; inferred > 0 {
		weight /= 2
	}
	m.relevant(turn, subjectOf(q.Session), l.counters[m.namespace], use, told.Assumed, told.Shared, weight, passed)
	if told.Used {
		if item.Archived && m.state == core.StateArchived {
			m.state = core.StateActive
		}
		told.Weight = weight
		told.Reward = map[core.Outcome]float64{core.OutcomeSuccess: 1, core.OutcomePartial: .5}[q.Outcome]
		for _, tool := range q.ToolOutcomes {
			m.tool(turn, tool)
		}
	}
	told.Q, told.TTLScore, told.After = m.s.Q, m.s.TTLScore, m.state
	return told
}
