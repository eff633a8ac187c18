package turn

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/trial"
)

// testedUses is how many uses a memory has at least before it is put to the test.
const testedUses = 3

// maxHistory is how many turns of a conversation are looked through for what they showed. In a longer one,
// nothing new is put to the test.
const maxHistory = 200

// unitLetters is how long the name of a turn or session in a trial is: 48 bits, of which two of 120 are
// equal once in 4·10^10 trials.
const unitLetters = 8

// draw is what was under test in a turn, or in a session whose history holds what its turns were given.
type draw struct {
	// Under are the memories under test that fit the turn, and Of how many were under test when it was drawn.
	Under []string `json:"under,omitempty"`
	Of    int      `json:"of"`
	// Withheld is the one of them that was left out; "" for none.
	Withheld string `json:"withheld,omitempty"`
	// InHistory is whether it was drawn for the session.
	InHistory bool `json:"in_history,omitempty"`
}

// withheld are the memories that the turn left out, also if its session left them out before: later turns see
// its prompt, so none of its parts may have them.
func (r *turnRecord) withheld() []string {
	if r.Trial == nil || r.Trial.Withheld == "" {
		return nil
	}
	return []string{r.Trial.Withheld}
}

// withhold leaves the memory out that is drawn, if one is, so that the spare result takes its place. Otherwise
// it leaves out the spare one.
func (s *Turns) withhold(t *record.Tx, by *Recall, stored *turnRecord, results []core.Recalled) ([]core.Recalled, error) {
	if by.Tests || by.InHistory {
		if err := s.draw(t, by, stored, results); err != nil {
			return nil, err
		}
	}
	out := by.Spare
	if of := stored.Trial; of != nil && of.Withheld != "" && !slices.Contains(by.Given, of.Withheld) &&
		slices.ContainsFunc(results, func(m core.Recalled) bool { return m.ID == of.Withheld && m.ID != by.Spare }) {
		out = of.Withheld
	}
	if out == "" {
		return results, nil
	}
	results = slices.DeleteFunc(results, func(m core.Recalled) bool { return m.ID == out })
	for i := range results {
		results[i].Rank = i
	}
	return results, nil
}

// draw draws what a turn leaves out, once it has something under test; or what the session does, in whose turns
// this stays the same.
func (s *Turns) draw(t *record.Tx, by *Recall, stored *turnRecord, results []core.Recalled) error {
	if stored.Trial != nil && !by.InHistory {
		return nil
	}
	session, of := sessionRecord{}, stored.Trial
	if by.InHistory {
		var err error
		if session, err = readSession(t, by.Session); err != nil {
			return err
		}
		of = session.Trial
	}
	if of == nil && !by.Tests {
		return nil
	}
	if of == nil {
		under, err := s.underTest(t, by, stored, results)
		if err != nil || len(under) == 0 {
			return err
		}
		of = &draw{Of: len(under), InHistory: by.InHistory}
		for _, m := range under {
			of.Under = append(of.Under, m.ID)
		}
		number := by.Turn
		if by.InHistory {
			number = 0
		}
		if at := int(uniform(under[0].Salt, by.Session, number) / trial.Share); at < len(under) {
			of.Withheld = under[at].ID
		}
		if by.InHistory {
			session.Trial = of
			if err := putSession(t, by.Session, session); err != nil {
				return err
			}
		}
	}
	if !by.InHistory {
		stored.Trial = of
		return nil
	}
	fits := draw{Of: of.Of, Withheld: of.Withheld, InHistory: true}
	for _, id := range of.Under {
		had := stored.Trial != nil && slices.Contains(stored.Trial.Under, id)
		if had || slices.ContainsFunc(results, func(m core.Recalled) bool { return m.ID == id && by.fits(&m) }) {
			fits.Under = append(fits.Under, id)
		}
	}
	stored.Trial = &fits
	return nil
}

// uniform is a number from 0 to 1, below 1, that nobody can foresee who doesn't know the salt.
func uniform(salt, session string, turn int64) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", salt, session, turn))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// fits reports whether a turn without the result shows something: it is near the question, where most that it
// contributes shows.
func (by *Recall) fits(m *core.Recalled) bool {
	return by.Tests && m.Why.Near && m.ID != by.Spare && !slices.Contains(by.Given, m.ID)
}

// underTest are the results that are under test, at most [trial.MaxUnder].
func (s *Turns) underTest(t *record.Tx, by *Recall, stored *turnRecord, results []core.Recalled) ([]*core.Memory, error) {
	var list []*core.Memory
	trials := map[string]*trial.Trial{}
	for i := range results {
		m := &results[i]
		if !by.fits(m) || !tested(m.Memory) || stored.find(m.ID) != nil {
			continue
		}
		g, err := s.Governance(t, m.Namespace)
		if err != nil {
			return nil, err
		}
		if g.Experiment != core.ExperimentOn || g.Failure != nil {
			continue
		}
		of, err := record.ReadTrial(t, m.ID)
		if err != nil {
			return nil, err
		}
		if of.Verdict == core.EffectUnderTest {
			list, trials[m.ID] = append(list, m.Memory), of
		}
	}
	if by.InHistory && len(list) > 0 {
		shown, err := s.shown(t, by)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(m *core.Memory) bool { return shown == nil || shown[m.ID] })
	}
	slices.SortFunc(list, func(a, b *core.Memory) int {
		return cmp.Or(trial.Compare(trials[a.ID], trials[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), trial.MaxUnder)], nil
}

// shown are the memories that the history of a conversation holds: those in the prompts of its earlier turns,
// and what turns without a known prompt recalled. It is nil for a history that is too long to look through.
func (s *Turns) shown(r core.Reader, by *Recall) (map[string]bool, error) {
	if by.Turn > maxHistory {
		return nil, nil //nolint:nilnil // as documented
	}
	ids := map[string]bool{}
	last := record.TurnRecordKey(by.Session, by.Turn)
	err := r.Scan(record.TurnRecordKey(by.Session, 1), last, func(key, value []byte) (bool, error) {
		if len(key) != len(last) {
			return true, nil
		}
		var stored turnRecord
		if err := json.Unmarshal(value, &stored); err != nil {
			return false, record.Damaged(record.TurnRecordPrefix+by.Session, err)
		}
		if s.Injection != nil {
			in, err := s.Injection.Injected(r, core.TurnRef{Session: by.Session, Turn: turnOf(key)})
			if err != nil {
				return false, err
			}
			if in != nil {
				for _, id := range in.MemoryIDs {
					ids[id] = true
				}
				return true, nil
			}
		}
		for _, item := range stored.Items {
			ids[item.ID] = true
		}
		return true, nil
	})
	return ids, err
}

// tested reports whether a memory is put to the test where its namespace experiments: it may become knowledge,
// or is, for uses that may be other memories' merit. What a user told isn't.
func tested(m *core.Memory) bool {
	s := &m.Signals
	state := m.State == core.StatePromoted || m.State.Live() && m.State != core.StateRevalidatePending
	return state && s.Uses() >= testedUses && 2*s.Failures <= s.Uses() && s.RidesAlong() && !toldByUser(m.Metadata)
}

// toldByUser reports whether a memory's metadata say that a user told it: {"source": "user"}.
func toldByUser(metadata json.RawMessage) bool {
	var by struct {
		Source any `json:"source"`
	}
	return len(metadata) > 0 && json.Unmarshal(metadata, &by) == nil && by.Source == lifecycle.SourceUser
}

// keepTrial adds the turn's outcome to the trials of what was under test in it. A turn that left another memory out
// shows nothing about the rest.
func (f *feedbackTx) keepTrial(t *record.Tx, stored *turnRecord) error {
	of := stored.Trial
	if of == nil {
		return nil
	}
	row := trial.Row{Without: of.Withheld != "", Under: of.Of, Outcomes: lifecycle.Reward(f.outcome), Turns: 1, Unit: unit(f.turn, of.InHistory)}
	if f.first != nil {
		row.Outcomes, row.Turns = row.Outcomes-lifecycle.Reward(f.first.Outcome), 0
	}
	for _, id := range of.Under {
		m, err := record.Read(t, id)
		if record.IsGone(err) || row.Without && id != of.Withheld {
			continue
		}
		if err != nil {
			return err
		}
		g, err := f.turns.Governance(t, m.Namespace)
		if err != nil {
			return err
		}
		kept, err := record.ReadTrial(t, id)
		if err != nil {
			return err
		}
		if kept.Add(row, g.RegretBudget); len(kept.Rows) == 0 {
			continue
		}
		if err := record.PutTrial(t, m, kept); err != nil {
			return err
		}
	}
	return nil
}

// unit names a turn in a trial, or its session.
func unit(turn core.TurnRef, session bool) string {
	number := turn.Turn
	if session {
		number = 0
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", turn.Session, number))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:unitLetters]
}
