package memory

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// maxTurnItems bounds what the recalls of one turn may return together.
const maxTurnItems = 1000

// turnRecord is a turn of a session: what its recalls returned, and then what its
// feedback did. It holds no content.
type turnRecord struct {
	Items []turnItem `json:"items"`
	// Feedback is the result of the turn's feedback, nil before it. Its decisions
	// are in Decisions, by their ids.
	Feedback  *core.FeedbackResult `json:"feedback,omitempty"`
	Decisions []string             `json:"decisions,omitempty"`
}

// turnItem is a memory that a recall returned.
type turnItem struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// Rank counts from 0 among the Of that the recall returned.
	Rank  int     `json:"rank"`
	Of    int     `json:"of"`
	Score float64 `json:"score"`
}

// place is where the recall put the memory.
func (i *turnItem) place() lifecycle.Place {
	return lifecycle.Place{Rank: i.Rank, Of: i.Of, Score: i.Score}
}

// find returns the turn's item of an id, nil for none.
func (r *turnRecord) find(id string) *turnItem {
	if i := slices.IndexFunc(r.Items, func(item turnItem) bool { return item.ID == id }); i >= 0 {
		return &r.Items[i]
	}
	return nil
}

// recordTurn records what a recall of a turn returned, and counts an access of
// each. Everything is counted once per turn: what an earlier recall of the turn
// returned keeps its place, and after the turn's feedback nothing is recorded. A
// memory that was purged since it was found is left out. millis is how long the
// recall has taken.
func recordTurn(t *tx, session string, turn int64, results []core.Recalled, millis float64) error {
	if err := checkTurn(session, turn); err != nil {
		return err
	}
	record, err := readTurnRecord(t, session, turn)
	if err != nil {
		return err
	}
	if record == nil {
		record = &turnRecord{Items: []turnItem{}}
	}
	if record.Feedback != nil {
		return nil
	}
	accessed := map[string][]string{} // by namespace
	for i := range results {
		item, err := access(t, record, &results[i], len(results))
		if err != nil {
			return err
		}
		if item != nil {
			record.Items = append(record.Items, *item)
			accessed[item.Namespace] = append(accessed[item.Namespace], item.ID)
		}
	}
	if len(record.Items) > maxTurnItems {
		return sdk.Errorf(sdk.Exhausted, "turn_full", "turn %d of session %s would have %d results, of at most %d", turn, session, len(record.Items), maxTurnItems).
			WithHint("give its feedback and begin another turn, or recall less")
	}
	for _, namespace := range slices.Sorted(maps.Keys(accessed)) {
		ids := accessed[namespace]
		event := journal.MemoryRecalled{SessionID: session, TurnID: turn, MemoryIDs: ids, LatencyMillis: millis}
		if err := t.record(namespace, event); err != nil {
			return err
		}
	}
	return putTurnRecord(t, session, turn, record)
}

// access counts an access of a result, and returns its place in the turn: nil
// where the turn has it already, or the memory is gone.
func access(t *tx, record *turnRecord, result *core.Recalled, of int) (*turnItem, error) {
	id := result.ID
	if record.find(id) != nil {
		return nil, nil
	}
	before, err := read(t, id)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if math.IsNaN(result.Score) || math.IsInf(result.Score, 0) {
		return nil, sdk.Errorf(sdk.Internal, "score_invalid", "memory %s was recalled with a score of %v", id, result.Score).
			WithHint("this is a defect of the recall; please report it")
	}
	after, now := *before, t.Now().Round(0)
	after.AccessCount++
	after.LastAccessedAt = &now
	if err := put(t, before, &after); err != nil {
		return nil, err
	}
	return &turnItem{ID: id, Namespace: before.Namespace, Rank: result.Rank, Of: of, Score: result.Score}, nil
}

// isGone reports whether a memory was removed, or never was.
func isGone(err error) bool { return sdk.CodeOf(err) == sdk.NotFound }

// checkTurn refuses what can't name a turn.
func checkTurn(session string, turn int64) error {
	var p problems
	p.turn(session, turn)
	return p.err()
}

func (p *problems) turn(session string, turn int64) {
	p.id("session", session)
	if turn < 0 {
		p.add("turn", "is %d: turns count from 0 or 1", turn)
	}
}

func turnRecordKey(session string, turn int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(turnRecordPrefix+session+"/"), uint64(turn))
}

// readTurnRecord returns nil for a turn that has no recall.
func readTurnRecord(r core.Reader, session string, turn int64) (*turnRecord, error) {
	value, found, err := r.Get(turnRecordKey(session, turn))
	if err != nil || !found {
		return nil, err
	}
	var record turnRecord
	if err := json.Unmarshal(value, &record); err != nil {
		return nil, damaged(turnRecordPrefix+session, err)
	}
	return &record, nil
}

func putTurnRecord(t *tx, session string, turn int64, record *turnRecord) error {
	return t.writeOfSession(session, turnRecordKey(session, turn), core.MustJSON(record))
}

// Turn returns a namespace's turn counter: how many feedbacks it had.
func (m *Memories) Turn(ctx context.Context, namespace string) (turn int64, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		turn, err = readTurn(r, namespace)
		return err
	})
	return turn, err
}

// readTurn returns a namespace's turn counter.
func readTurn(r core.Reader, namespace string) (int64, error) {
	value, found, err := r.Get(turnKey(namespace))
	if err != nil || !found {
		return 0, err
	}
	turn, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, damaged(turnPrefix+namespace, err)
	}
	return turn, nil
}

// nextTurn advances a namespace's turn counter by one and returns it.
func nextTurn(t *tx, namespace string) (int64, error) {
	turn, err := readTurn(t, namespace)
	if err != nil {
		return 0, err
	}
	turn++
	return turn, t.write(namespace, turnKey(namespace), strconv.AppendInt(nil, turn, 10))
}
