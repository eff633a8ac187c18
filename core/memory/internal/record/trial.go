package record

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/trial"
	"github.com/reflectory/reflectory/core/table"
)

// Trials are the trials of memories, by the memory.
var Trials = table.Kind[trial.Trial]{
	Part: Part, Prefix: TrialPrefix,
	Doc: "memory | the trial of a memory that is left out of turns by chance: `{rows: [{unit, without?, under, outcomes, turns}], verdict}`, at most 120 rows. `unit` is the beginning of a digest of the session and turn, or of the session; `under` is how many memories were under test with it; `outcomes` is the sum of its `turns` turns' outcomes",

	Valid: func(_ string, t *trial.Trial) string {
		verdicts := []string{core.EffectUnderTest, core.EffectHelps, core.EffectNone, core.EffectUndecided}
		wrong := len(t.Rows) > trial.MaxRows || !slices.Contains(verdicts, t.Verdict)
		for _, r := range t.Rows {
			wrong = wrong || r.Unit == "" || r.Under < 1 || r.Under > trial.MaxUnder || r.Turns < 1 || !(r.Outcomes >= 0 && r.Outcomes <= float64(r.Turns))
		}
		if wrong {
			return "it isn't a trial"
		}
		return ""
	},
}

// ReadTrial returns a memory's trial: an empty one if it has none.
func ReadTrial(r core.Reader, id string) (*trial.Trial, error) {
	found, err := Trials.Get(r, id)
	if err == nil && found == nil {
		found = &trial.Trial{Verdict: core.EffectUnderTest}
	}
	return found, err
}

// PutTrial writes a memory's trial.
func PutTrial(t *Tx, m *core.Memory, of *trial.Trial) error {
	return t.Write(m.Namespace, TrialKey(m.ID), jsontext.MustEncode(of))
}

// ForgetTrial removes a memory's trial, if it has one.
func ForgetTrial(t *Tx, m *core.Memory) error {
	if _, found, err := t.Get(TrialKey(m.ID)); err != nil || !found {
		return err
	}
	return t.Erase(m.Namespace, TrialKey(m.ID))
}
