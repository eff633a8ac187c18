package turn

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// A turn's feedback leaves a reflection record: how the turn went and why, what to do
// about it, and what the next turn should know. Its texts were written by a model or user
// who had seen the memories of the turn, so they may repeat them. A purge of any of these
// memories removes the texts; for that each memory has keys that lead to them.

// Injection reports what was in the prompt of a turn.
type Injection interface {
	// Injected returns the snapshot of a turn's prompt, and the memories that were in it;
	// nil if the turn has no snapshot.
	Injected(r core.Reader, by core.TurnRef) (*Injected, error)
}

// Injected is what was in the prompt of a turn.
type Injected struct {
	// InjectionInfo is what events record about the prompt's snapshot.
	journal.InjectionInfo
	// MemoryIDs are the memories whose blocks are in the prompt, whole or cut.
	MemoryIDs []string
}

// Reflection is what a turn's feedback says about it.
type Reflection struct {
	// SessionID is the turn's session.
	SessionID string `json:"session_id"`
	// TurnID is the turn's number.
	TurnID int64 `json:"turn_id"`
	// SnapshotID is the snapshot of the turn's prompt; "" if it has none.
	SnapshotID string `json:"snapshot_id,omitempty"`
	// Outcome is how the turn went.
	Outcome core.Outcome `json:"outcome"`
	// FailureClass is what failed; "" after a success.
	FailureClass core.FailureClass `json:"failure_class,omitempty"`
	// CorrectiveAction is what was or should be done about it.
	CorrectiveAction string `json:"corrective_action,omitempty"`
	// CreditDelta is how far the turn moved the q_value of each memory that it used.
	CreditDelta map[string]float64 `json:"recall_credit_delta"`
	// NextTurnHint is for the prompt of the session's next turn, and Summary for the prompts of
	// the window's later turns.
	NextTurnHint string `json:"next_turn_hint,omitempty"`
	Summary      string `json:"summary,omitempty"`
	// Purged is whether the texts were removed, together with a memory that the turn
	// had recalled.
	Purged bool `json:"purged,omitempty"`
}

// reflectionRecord is the stored form of a reflection.
type reflectionRecord struct {
	Reflection
	// Salt hides the texts in the record's digest; "" without texts.
	Salt string `json:"salt,omitempty"`
}

// shown is what others see of it; nil if there is none.
func (r *reflectionRecord) shown() *Reflection {
	if r == nil {
		return nil
	}
	return &r.Reflection
}

// hasText reports whether it has a text that may repeat a memory.
func (r *Reflection) hasText() bool {
	return r.CorrectiveAction != "" || r.NextTurnHint != "" || r.Summary != ""
}

// decodeReflection decodes the record of a session's turn.
func decodeReflection(session string, value []byte) (*reflectionRecord, error) {
	var stored reflectionRecord
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, record.Damaged(record.ReflectionPrefix+session, err)
	}
	return &stored, nil
}

// readReflection returns nil for a turn without a reflection record.
func readReflection(r core.Reader, session string, window, turn int64) (*reflectionRecord, error) {
	value, found, err := r.Get(record.ReflectionKey(session, window, turn))
	if err != nil || !found {
		return nil, err
	}
	return decodeReflection(session, value)
}

// putReflection writes the reflection record of a turn. about are the memories that it may
// repeat.
func putReflection(t *record.Tx, window int64, r *Reflection, about []string) error {
	stored := reflectionRecord{Reflection: *r}
	if r.hasText() {
		var err error
		if stored.Salt, err = t.NewSalt(); err != nil {
			return err
		}
		for _, id := range about {
			if err := t.WriteOfSession(r.SessionID, record.ReflectionMemoryKey(id, r.SessionID, window, r.TurnID), nil); err != nil {
				return err
			}
		}
	}
	return t.WriteOfSession(r.SessionID, record.ReflectionKey(r.SessionID, window, r.TurnID), jsontext.MustEncode(stored))
}

// ForgetTexts removes the queries and the texts of the reflection records of turns that recalled a
// memory, and the summaries of their windows.
func ForgetTexts(t *record.Tx, m *core.Memory) error {
	start := record.ReflectionMemoryStart(m.ID)
	var places []string
	if err := core.ScanPrefix(t, start, func(key, _ []byte) (bool, error) {
		places = append(places, string(key[len(start):]))
		return true, nil
	}); err != nil {
		return err
	}
	for _, place := range places {
		key := []byte(record.ReflectionPrefix + place)
		session, window := record.ReflectionWindow(place)
		value, found, err := t.Get(key)
		if err != nil {
			return err
		}
		if found {
			if err := forgetReflection(t, session, window, key, value); err != nil {
				return err
			}
		}
		if err := forgetQuery(t, session, turnOf(key)); err != nil {
			return err
		}
		if err := t.EraseOfSession(session, slices.Concat(start, []byte(place))); err != nil {
			return err
		}
	}
	return nil
}

// forgetReflection removes the texts of a reflection record, and the summary of its window.
func forgetReflection(t *record.Tx, session string, window int64, key, value []byte) error {
	stored, err := decodeReflection(session, value)
	if err != nil || !stored.hasText() {
		return err
	}
	stored.CorrectiveAction, stored.NextTurnHint, stored.Summary, stored.Salt, stored.Purged = "", "", "", "", true
	if err := t.WriteOfSession(session, key, jsontext.MustEncode(stored)); err != nil {
		return err
	}
	return forgetSummary(t, session, window)
}

// forgetQuery removes the query of a turn.
func forgetQuery(t *record.Tx, session string, turn int64) error {
	stored, err := readTurnRecord(t, session, turn)
	if err != nil || stored == nil || stored.Query == "" {
		return err
	}
	stored.Query, stored.Salt = "", ""
	return putTurnRecord(t, session, turn, stored)
}

// reflect records what the feedback says about its turn. Feedback that replaces earlier
// feedback keeps the earlier texts that it doesn't have itself, unless they were purged.
func (f *feedbackTx) reflect(t *record.Tx, stored *turnRecord) error {
	r := f.reflection
	r.SessionID, r.TurnID, r.Outcome, r.CreditDelta = f.turn.Session, f.turn.Turn, f.outcome, f.deltas
	if f.first != nil {
		earlier, err := readReflection(t, r.SessionID, stored.window(), r.TurnID)
		if err != nil {
			return err
		}
		if earlier != nil {
			r.after(&earlier.Reflection)
		}
	}
	if r.FailureClass == "" && f.outcome != core.OutcomeSuccess {
		r.FailureClass = core.FailureOther
		if f.toolFailed {
			r.FailureClass = core.FailureToolError
		}
	}
	if f.outcome == core.OutcomeSuccess {
		r.FailureClass = ""
	}
	if err := putReflection(t, stored.window(), &r, ids(f.result.Items)); err != nil {
		return err
	}
	info := f.injected
	if info.Categories == nil { // without a snapshot there is no block of any category
		info.Categories = map[string]int{}
	}
	info.TurnInfo = journal.TurnInfo{SessionID: r.SessionID, TurnID: r.TurnID, LatencyMillis: f.turns.MillisSince(f.began)}
	event := journal.ReflectionRecorded{
		InjectionInfo: info, Outcome: r.Outcome, FailureClass: string(r.FailureClass), Offered: len(f.result.Items),
		CreditDelta: r.CreditDelta, Hint: r.NextTurnHint != "", Revised: f.first != nil,
	}
	for _, item := range f.result.Items {
		if item.Used {
			event.Used++
		}
	}
	return t.Record(stored.Namespace, event)
}

// after adds the texts and the effects of an earlier feedback on the same turn.
func (r *Reflection) after(earlier *Reflection) {
	r.Purged = earlier.Purged && !r.hasText()
	keep := func(text *string, before string) {
		if *text == "" {
			*text = before
		}
	}
	keep(&r.CorrectiveAction, earlier.CorrectiveAction)
	keep(&r.NextTurnHint, earlier.NextTurnHint)
	keep(&r.Summary, earlier.Summary)
	if r.FailureClass == "" {
		r.FailureClass = earlier.FailureClass
	}
	for id, delta := range earlier.CreditDelta {
		r.CreditDelta[id] += delta
	}
}

// turnOf is the turn at the end of a key.
func turnOf(key []byte) int64 {
	return int64(binary.BigEndian.Uint64(key[len(key)-8:])) //nolint:gosec // turns count from 1
}
