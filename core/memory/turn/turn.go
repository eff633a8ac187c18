package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// maxTurnItems bounds what the recalls of one turn may return together.
const maxTurnItems = 1000

// maxQueryRunes is how many characters of a query a turn keeps, for readers of the session: enough to
// recognize the question.
const maxQueryRunes = 500

// turnRecord is a turn of a session: what its recalls returned, and later the result of
// its feedback.
type turnRecord struct {
	// Namespace is the namespace that the turn's first recall searched: its stream
	// records a turn that found nothing.
	Namespace string `json:"namespace,omitempty"`
	// Window is the session's window that it belongs to; 0 means 1.
	Window int64 `json:"window,omitempty"`
	// At is when it began, and RunID the run that began it; "" if none did.
	At    time.Time `json:"at,omitzero"`
	RunID string    `json:"run_id,omitempty"`
	// Query is the beginning of its first query, which may repeat what the turn recalled: a purge
	// of such a memory removes it, with the salt that hides it in the record's digest.
	Query string     `json:"query,omitempty"`
	Salt  string     `json:"salt,omitempty"`
	Items []turnItem `json:"items"`
	// Trial is what was under test in it; nil for nothing.
	Trial *draw `json:"trial,omitempty"`
	// Feedback is the result of the turn's feedback; nil if it had none yet. Feedbacks is
	// how many turns of the session had their feedback by then.
	Feedback  *core.FeedbackResult `json:"feedback,omitempty"`
	Feedbacks int64                `json:"feedbacks,omitempty"`
	// Counted is whether [Turns.Ended] was called with it: not for the turn of a run.
	Counted bool `json:"counted,omitempty"`
}

// window is the number of the window that the turn belongs to.
func (r *turnRecord) window() int64 { return cmp.Or(r.Window, 1) }

// turnItem is a memory that a recall returned.
type turnItem struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// Rank counts from 0; Of is how many results the recall returned.
	Rank  int     `json:"rank"`
	Of    int     `json:"of"`
	Score float64 `json:"score"`
	// Likeness is its similarity to the query.
	Likeness float64 `json:"likeness,omitempty"`
	// Archived is whether it was found in the archive.
	Archived bool `json:"archived,omitempty"`
}

// place is the memory's rank in the recall.
func (i *turnItem) place() lifecycle.RecallRank {
	return lifecycle.RecallRank{Rank: i.Rank, Of: i.Of, Score: i.Score}
}

// improve takes the better rank (of equal ranks, the one among more results), and the
// better score and likeness, and whether it came from the archive.
func (i *turnItem) improve(result *core.Recalled, of int) {
	if result.Rank < i.Rank || result.Rank == i.Rank && of > i.Of {
		i.Rank, i.Of = result.Rank, of
	}
	i.Score, i.Likeness = max(i.Score, result.Score), max(i.Likeness, result.Why.Fused)
	i.Archived = i.Archived || result.Archived
}

// find returns the turn's item with an id; nil if there is none.
func (r *turnRecord) find(id string) *turnItem {
	if i := slices.IndexFunc(r.Items, func(item turnItem) bool { return item.ID == id }); i >= 0 {
		return &r.Items[i]
	}
	return nil
}

// Recall is a recall of a turn.
type Recall struct {
	core.TurnRef
	// Namespace is where it searched, and Query what for.
	Namespace, Query string
	// RunID is the run that recalls; "" if none does.
	RunID string
	// Millis is how long it has taken.
	Millis float64
	// Tests is whether memories may be under test in it, and Spare the result that takes the place of one
	// that is left out; "" for none. InHistory and Given are the request's.
	Tests, InHistory bool
	Spare            string
	Given            []string
}

// Record records what a recall returned in a turn, and counts an access of
// each memory. All recalls of a turn count as one: a memory that several of them returned
// is counted once, with its best rank. A memory that was purged since it was found is
// skipped. It sets the results' handles, and returns what is left of them without what the turn
// withholds.
func (s *Turns) Record(t *record.Tx, by *Recall, results []core.Recalled) (left []core.Recalled, withheld []string, err error) {
	if err := checkTurn(by.Session, by.Turn); err != nil {
		return nil, nil, err
	}
	stored, err := beginTurn(t, by)
	if err != nil {
		return nil, nil, err
	}
	if results, err = s.withhold(t, by, stored, slices.Clone(results)); err != nil {
		return nil, nil, err
	}
	if err := recordItems(t, by, stored, results); err != nil {
		return nil, nil, err
	}
	return results, stored.withheld(), putTurnRecord(t, by.Session, by.Turn, stored)
}

// recordItems records the results in a turn.
func recordItems(t *record.Tx, by *Recall, stored *turnRecord, results []core.Recalled) (err error) {
	if by.Query != "" && stored.Query == "" && len(stored.Items) == 0 {
		stored.Query = beginning(by.Query)
		if stored.Salt, err = t.NewSalt(); err != nil {
			return err
		}
	}
	accessed := map[string][]string{} // by namespace
	if len(stored.Items) == 0 && len(results) == 0 {
		accessed[by.Namespace] = nil // an event records the turn anyway
	}
	for i := range results {
		item, err := access(t, stored, &results[i], len(results))
		if err != nil {
			return err
		}
		if item != nil {
			stored.Items = append(stored.Items, *item)
			if err := noteRepeated(t, by.TurnRef, stored, item.ID); err != nil {
				return err
			}
			accessed[item.Namespace] = append(accessed[item.Namespace], item.ID)
		}
	}
	if len(stored.Items) > maxTurnItems {
		return sdk.Errorf(sdk.Exhausted, "turn_full", "turn %d of session %s would have %d results (limit %d)", by.Turn, by.Session, len(stored.Items), maxTurnItems).
			WithHint("give feedback and begin another turn, or recall fewer memories")
	}
	for i := range results {
		id := results[i].ID
		if at := slices.IndexFunc(stored.Items, func(item turnItem) bool { return item.ID == id }); at >= 0 { // else it is gone by now
			results[i].Handle = core.Handle(at)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(accessed)) {
		ids := accessed[namespace]
		event := journal.MemoryRecalled{SessionID: by.Session, TurnID: by.Turn, MemoryIDs: ids, LatencyMillis: by.Millis}
		if err := t.Record(namespace, event); err != nil {
			return err
		}
	}
	return nil
}

// beginning is the beginning of a query that a turn keeps.
func beginning(query string) string {
	n := 0
	for at := range query {
		if n++; n > maxQueryRunes {
			return query[:at] + "…"
		}
	}
	return query
}

// noteRepeated notes that the turn's query may repeat a memory.
func noteRepeated(t *record.Tx, by core.TurnRef, stored *turnRecord, id string) error {
	if stored.Query == "" {
		return nil
	}
	return t.WriteOfSession(by.Session, record.ReflectionMemoryKey(id, by.Session, stored.window(), by.Turn), nil)
}

// Begin begins a turn in which nothing is recalled, for a run or, with the id "", for none. A turn
// that has begun stays unchanged.
func (s *Turns) Begin(ctx context.Context, by core.TurnRef, namespace, runID string) error {
	var p bounds.Problems
	p.Turn(by.Session, by.Turn)
	p.Check(core.CheckNamespace(namespace))
	if err := p.Err(); err != nil {
		return err
	}
	return s.Update(ctx, func(t *record.Tx) error {
		before, err := readTurnRecord(t, by.Session, by.Turn)
		if err != nil {
			return err
		}
		stored, err := beginTurn(t, &Recall{TurnRef: by, Namespace: namespace, RunID: runID})
		if err != nil || before != nil {
			return err
		}
		return putTurnRecord(t, by.Session, by.Turn, stored)
	})
}

// beginTurn returns the record of the turn to which a recall belongs: the session's
// current turn, or a later turn, which becomes the current turn.
func beginTurn(t *record.Tx, by *Recall) (*turnRecord, error) {
	s, err := readOwn(t, t.Caller(), by.Session)
	if err != nil {
		return nil, err
	}
	if by.Turn < s.Next-1 {
		return nil, sdk.Errorf(sdk.Conflict, "turn_out_of_order", "session %s is already at turn %d, so turn %d takes no recall", by.Session, s.Next-1, by.Turn).
			WithHint("recall in the current turn or a later one, or leave the turn out to begin the next").
			WithDetail("current", s.Next-1)
	}
	begun := &turnRecord{Namespace: by.Namespace, Window: s.Window, At: t.Now().Round(0), RunID: by.RunID, Items: []turnItem{}}
	if by.Turn >= s.Next {
		if !s.began() {
			s.Owner, s.Namespace = t.Caller().Subject, by.Namespace
		}
		s.Next, s.LastAt = by.Turn+1, begun.At
		return begun, putSession(t, by.Session, s)
	}
	stored, err := readTurnRecord(t, by.Session, by.Turn)
	if err == nil && stored == nil {
		stored = begun
	}
	if err == nil && stored.window() != s.window() {
		return nil, sdk.Errorf(sdk.Conflict, "turn_out_of_order", "turn %d of session %s belongs to window %d, and the session is in window %d", by.Turn, by.Session, stored.window(), s.window()).
			WithHint("leave the turn out to begin the next, or name a later one").WithDetail("current", s.Next-1)
	}
	if err == nil && stored.Feedback != nil {
		err = sdk.Errorf(sdk.Conflict, "turn_closed", "turn %d of session %s had its feedback, so it takes no recall", by.Turn, by.Session).
			WithHint("leave the turn out to begin the next, or name a later one")
	}
	return stored, err
}

// access counts an access of a result, and returns its item in the turn: nil if the turn
// already has it, whose rank may improve, or if the memory is gone.
func access(t *record.Tx, stored *turnRecord, result *core.Recalled, of int) (*turnItem, error) {
	id := result.ID
	if math.IsNaN(result.Score) || math.IsInf(result.Score, 0) {
		return nil, sdk.Errorf(sdk.Internal, "score_invalid", "memory %s was recalled with a score of %v", id, result.Score).
			WithHint("this is a defect of the recall; please report it")
	}
	if item := stored.find(id); item != nil {
		item.improve(result, of)
		return nil, nil
	}
	before, err := record.Read(t, id)
	if record.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	after, now := *before, t.Now().Round(0)
	after.AccessCount++
	after.LastAccessedAt = &now
	if err := record.Put(t, before, &after); err != nil {
		return nil, err
	}
	return &turnItem{ID: id, Namespace: before.Namespace, Rank: result.Rank, Of: of, Score: result.Score, Likeness: result.Why.Fused, Archived: result.Archived}, nil
}

// checkTurn refuses an invalid session name or turn number.
func checkTurn(session string, turn int64) error {
	var p bounds.Problems
	p.Turn(session, turn)
	return p.Err()
}

// readTurnRecord returns nil for a turn that has no recall.
func readTurnRecord(r core.Reader, session string, turn int64) (*turnRecord, error) {
	value, found, err := r.Get(record.TurnRecordKey(session, turn))
	if err != nil || !found {
		return nil, err
	}
	var stored turnRecord
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, record.Damaged(record.TurnRecordPrefix+session, err)
	}
	return &stored, nil
}

func putTurnRecord(t *record.Tx, session string, turn int64, stored *turnRecord) error {
	return t.WriteOfSession(session, record.TurnRecordKey(session, turn), jsontext.MustEncode(stored))
}

// Counter returns a namespace's turn counter.
func Counter(r core.Reader, namespace string) (int64, error) {
	value, found, err := r.Get(record.TurnKey(namespace))
	if err != nil || !found {
		return 0, err
	}
	turn, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, record.Damaged(record.TurnPrefix+namespace, err)
	}
	return turn, nil
}

// nextTurn advances a namespace's turn counter by one and returns it.
func nextTurn(t *record.Tx, namespace string) (int64, error) {
	turn, err := Counter(t, namespace)
	if err != nil {
		return 0, err
	}
	turn++
	return turn, t.Write(namespace, record.TurnKey(namespace), strconv.AppendInt(nil, turn, 10))
}

// TurnNamespaces are the namespaces that a turn of a session belongs to, sorted: the
// namespace that its first recall searched, and the namespaces of the recalled memories.
// found is whether the turn exists.
func (s *Turns) TurnNamespaces(ctx context.Context, session string, turn int64) (list []string, found bool, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		stored, err := readTurnRecord(r, session, turn)
		if list, found = nil, stored != nil; err != nil || !found {
			return err
		}
		list = stored.namespaces()
		return nil
	})
	return list, found, err
}

// namespaces are the namespaces that the turn belongs to, sorted.
func (r *turnRecord) namespaces() (list []string) {
	list = append(list, r.Namespace)
	for _, item := range r.Items {
		list = append(list, item.Namespace)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Ended is a turn of a session, begun by no run, that had its feedback and is counted.
type Ended struct {
	Session string
	// Namespace is the namespace of its first recall, and At is when it began.
	Namespace string
	At        time.Time
	Outcome   core.Outcome
	// Offered is how many memories it offered, and Used how many of them were used.
	Offered, Used int64
}

// ended is the turn as it is counted; nil if it isn't.
func (r *turnRecord) ended(session string) *Ended {
	if !r.Counted || r.Feedback == nil {
		return nil
	}
	e := &Ended{Session: session, Namespace: r.Namespace, At: r.At, Outcome: r.Feedback.Outcome, Offered: int64(len(r.Feedback.Items))}
	for _, item := range r.Feedback.Items {
		if item.Used {
			e.Used++
		}
	}
	return e
}

// EachEnded calls fn with each such turn. It leaves out records that can't be decoded, which a check
// reports.
func EachEnded(r core.Reader, fn func(*Ended) error) error {
	return core.ScanPrefix(r, []byte(record.TurnRecordPrefix), func(key, value []byte) (bool, error) {
		session, _, _ := strings.Cut(string(key[len(record.TurnRecordPrefix):]), "/")
		var stored turnRecord
		if json.Unmarshal(value, &stored) != nil {
			return true, nil
		}
		if e := stored.ended(session); e != nil {
			return true, fn(e)
		}
		return true, nil
	})
}

// Turn returns a namespace's turn counter: how many turns had their feedback.
func (s *Turns) Turn(ctx context.Context, namespace string) (turn int64, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		turn, err = Counter(r, namespace)
		return err
	})
	return turn, err
}
