package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
)

// maxRefs is how many references a decision names, the newest ones.
const maxRefs = 20

// Evidence records evidence within a transaction. The transaction's [core.Caller] is
// named in the events. The zero value is ready.
type Evidence struct{}

// outcome is the stored form of a tool's outcome; its other fields are in its key.
type outcome struct {
	// Seq counts the memory's outcomes, from 1.
	Seq       int64     `json:"seq"`
	Tool      string    `json:"tool"`
	OK        bool      `json:"ok"`
	Recovered bool      `json:"recovered,omitempty"`
	Ref       string    `json:"ref,omitempty"`
	At        time.Time `json:"at"`
	// Used is whether the turn used the memory, by its feedback.
	Used bool `json:"used,omitempty"`
}

// good reports whether the outcome counts in favour of the memory.
func (o *outcome) good() bool { return o.Used && (o.OK || o.Recovered) }

// tally sums up all outcomes of a memory, so that a decision needn't read them.
type tally struct {
	Outcomes   int64 `json:"outcomes"`
	Failures   int64 `json:"failures"`
	Recoveries int64 `json:"recoveries"`
	// Good counts the outcomes that succeeded or were recovered from, in turns that used
	// the memory.
	Good int64 `json:"good,omitempty"`
	// Newest are the references of the newest outcomes, the newest first.
	Newest []reference `json:"newest"`
}

// reference is where an outcome is documented, with the number of the outcome.
type reference struct {
	Seq int64  `json:"seq"`
	Ref string `json:"ref"`
}

// count adds an outcome of a turn; the order doesn't matter. A failure that was recovered
// from counts as a recovery, not as a failure.
func (t *tally) count(turn core.TurnRef, o *outcome) {
	t.Outcomes++
	if o.good() {
		t.Good++
	}
	switch {
	case o.Recovered:
		t.Recoveries++
	case !o.OK:
		t.Failures++
	}
	ref := o.Ref
	if ref == "" {
		ref = turnName(turn)
	}
	at, _ := slices.BinarySearchFunc(t.Newest, o.Seq, func(r reference, seq int64) int { return cmp.Compare(seq, r.Seq) })
	t.Newest = slices.Insert(t.Newest, at, reference{o.Seq, ref})
	t.Newest = t.Newest[:min(len(t.Newest), maxRefs)]
}

// refs are the references, each once.
func (t *tally) refs() []string {
	refs := make([]string, 0, len(t.Newest))
	for _, r := range t.Newest {
		if !slices.Contains(refs, r.Ref) {
			refs = append(refs, r.Ref)
		}
	}
	return refs
}

// turnName is a turn as a reference.
func turnName(turn core.TurnRef) string { return fmt.Sprintf("turn:%s/%d", turn.Session, turn.Turn) }

// RecordTools records outcomes of tool calls that involved memories of one namespace, at
// most 1,000, with an event for each on the namespace's stream. An outcome is recorded
// once per memory, session, turn, tool and reference; a repetition changes nothing. It
// returns how many are new. The caller checks that the memories exist.
func (Evidence) RecordTools(tx *journal.Tx, namespace string, outcomes []core.ToolOutcome) (n int, err error) {
	if err := checkTools(outcomes, batch); err != nil {
		return 0, err
	}
	var events []journal.Event
	for i := range outcomes {
		isNew, err := recordTool(tx, &outcomes[i])
		if err != nil {
			return 0, err
		}
		if isNew {
			events = append(events, recorded(tx, &outcomes[i]))
		}
	}
	if len(events) == 0 {
		return 0, nil
	}
	return len(events), tx.Append(journal.NamespaceStream(namespace), events...)
}

// recordTool stores an outcome, and counts it, unless it is already stored.
func recordTool(tx *journal.Tx, o *core.ToolOutcome) (isNew bool, err error) {
	key := toolKey(o)
	if _, found, err := tx.Get(key); err != nil || found {
		return false, err
	}
	t, err := readTally(tx, o.MemoryID)
	if err != nil {
		return false, err
	}
	kept := outcome{Seq: t.Outcomes + 1, Tool: o.Tool, OK: o.OK, Recovered: o.Recovered, Ref: o.Ref, At: tx.Now().UTC()}
	t.count(core.TurnRef{Session: o.Session, Turn: o.Turn}, &kept)
	if err := tx.Put(tallyKey(o.MemoryID), jsontext.MustEncode(t)); err != nil {
		return false, err
	}
	return true, tx.Put(key, jsontext.MustEncode(kept))
}

// Used notes whether a turn used a memory of a namespace: only then do its outcomes count
// in favour of the memory. It updates the outcomes that were recorded before, and writes
// that to the namespace's stream.
func (Evidence) Used(tx *journal.Tx, namespace, memory string, turn core.TurnRef, used bool) error {
	changed := map[string]*outcome{}
	t, err := readTally(tx, memory)
	if err != nil {
		return err
	}
	err = tools.Each(tx, string(turnKey(memory, turn)[len(toolPrefix):]), func(id string, o *outcome) error {
		if o.Used == used {
			return nil
		}
		if o.good() {
			t.Good--
		}
		if o.Used = used; o.good() {
			t.Good++
		}
		changed[toolPrefix+id] = o
		return nil
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if err := tx.Put([]byte(key), jsontext.MustEncode(changed[key])); err != nil {
			return err
		}
	}
	if err := tx.Put(tallyKey(memory), jsontext.MustEncode(t)); err != nil {
		return err
	}
	return tx.Append(journal.NamespaceStream(namespace), journal.ToolEvidenceUsed{
		AgentID: tx.Caller().Label, MemoryID: memory, SessionID: turn.Session, TurnID: turn.Turn, Used: used,
	})
}

// recorded is the event of an outcome that was stored.
func recorded(tx *journal.Tx, o *core.ToolOutcome) journal.Event {
	return journal.ToolEvidenceRecorded{
		AgentID: tx.Caller().Label, MemoryID: o.MemoryID, SessionID: o.Session, TurnID: o.Turn, OK: o.OK, Recovered: o.Recovered,
		Outcome: core.Digest(jsontext.MustEncode([]string{o.Tool, o.Ref})),
	}
}

// CheckTools refuses outcomes that can't be recorded, and lists everything that is wrong with them.
func CheckTools(outcomes []core.ToolOutcome) error { return checkTools(outcomes, MaxToolOutcomes) }

func checkTools(outcomes []core.ToolOutcome, limit int) error {
	p := problems{field: "outcomes"}
	if !p.atMost("tool outcomes at once", len(outcomes), limit) {
		return p.err()
	}
	for i := range outcomes {
		o := &outcomes[i]
		p.list, p.item = "outcomes", i
		p.in("memory_id").id(o.MemoryID, "outcome %d: memory_id", i+1)
		p.in("session").id(o.Session, "outcome %d: session", i+1)
		p.in("tool").name(o.Tool, "outcome %d: tool", i+1)
		p.in("ref").text(o.Ref, "outcome %d: ref", i+1)
		if o.Turn < 0 {
			p.in("turn").add("turns count from 0", "outcome %d: turn is %d", i+1, o.Turn)
		}
	}
	return p.err()
}

func readTally(r core.Reader, memory string) (*tally, error) {
	t := &tally{}
	value, found, err := r.Get(tallyKey(memory))
	if err != nil || !found {
		return t, err
	}
	if err := json.Unmarshal(value, t); err != nil {
		return nil, tools.Damaged(tallyKey(memory), "it can't be decoded: "+err.Error())
	}
	return t, nil
}

// readTallies sums up the outcomes of a memory and of those that were merged into it, whose
// references come after its own.
func readTallies(r core.Reader, memory string, merged []string) (*tally, error) {
	sum, err := readTally(r, memory)
	for _, id := range merged {
		if err != nil {
			return nil, err
		}
		var t *tally
		if t, err = readTally(r, id); err == nil {
			sum.Outcomes, sum.Failures, sum.Recoveries, sum.Good = sum.Outcomes+t.Outcomes, sum.Failures+t.Failures, sum.Recoveries+t.Recoveries, sum.Good+t.Good
			sum.Newest = append(sum.Newest, t.Newest...)[:min(maxRefs, len(sum.Newest)+len(t.Newest))]
		}
	}
	return sum, err
}

// Has reports whether an outcome is recorded for a memory.
func (Evidence) Has(r core.Reader, memoryID string) (bool, error) {
	t, err := readTally(r, memoryID)
	return err == nil && t.Outcomes > 0, err
}
