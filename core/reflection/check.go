package reflection

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
)

// Checker proves that what was counted agrees with the events of observations.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Derived implements [core.Rebuilder]: the sums follow from the events.
func (Checker) Derived() []string { return []string{countPrefix} }

// Rows are the rows of its kinds in the description of the format.
func (Checker) Rows() []string { return kind().Rows() }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return kind().Check(ctx, r, report, nil)
}

// kind are the states with the counts, which follow from the events.
func kind() *table.Kind[State] {
	k := states
	k.Sums = []table.Sum[State]{{
		Prefix: countPrefix,
		Doc:    counts.Doc,
		Wrong:  "it doesn't count what the events tell of observations",
		Of:     func(string, *State) string { return "" }, // a state may exist without a count
		Value: func(ctx context.Context, _ *table.Kind[State], r core.Reader, namespace string) ([]byte, error) {
			return value(ctx, r, namespace)
		},
	}}
	return &k
}

// value is the count of a namespace that follows from its events; nil without observations that
// count. If they can't be read, the error is [table.Corrupt].
func value(ctx context.Context, r core.Reader, namespace string) ([]byte, error) {
	c, err := counted(ctx, r, namespace)
	switch {
	case journal.IsBroken(err): // its own check reports it
		return nil, states.Damaged([]byte(statePrefix+namespace), "the events that it counts from can't be read")
	case err != nil || c.Observations == 0:
		return nil, err
	}
	return jsontext.MustEncode(c), nil
}

// disagrees describes what is wrong with the state of a namespace's reflections; "" if
// nothing is. Events have only what was observed, so the rest must be within its bounds.
func disagrees(r core.Reader, namespace string, s *State) (string, error) {
	head, err := journal.ReadHead(r, journal.NamespaceStream(namespace))
	if err != nil && !journal.IsBroken(err) {
		return "", err
	}
	if s.From > head.Seq+1 || s.Seen < 0 || s.Failures < 0 || s.Taken.Observations < 0 || s.Taken.Importance < 0 || s.JobID != "" && !core.ValidID(s.JobID) {
		return "a value is out of its bounds", nil
	}
	c, err := readCount(r, namespace)
	if table.Corrupt(err) {
		return "", nil // reported with the count
	}
	if err == nil && (s.Taken.Observations > c.Observations || s.Taken.Importance > c.Importance || s.Seen > c.Observations) {
		return "it has taken more than was observed", nil
	}
	return "", err
}

// counted is the count of observations according to a namespace's events.
func counted(ctx context.Context, r core.Reader, namespace string) (c count, err error) {
	s, err := ReadState(r, namespace)
	if err != nil {
		return c, err
	}
	err = journal.ReadFrom(r, journal.NamespaceStream(namespace), s.From, func(e journal.Entry) (bool, error) {
		if !e.Is(journal.MemoryObserved{}) {
			return true, ctx.Err()
		}
		var o journal.MemoryObserved
		if err := json.Unmarshal(e.Data, &o); err != nil {
			return true, nil // the journal's check reports it
		}
		if Counts(&core.Memory{Kind: o.Kind}) {
			c.add(o.Importance, e.At)
		}
		return true, ctx.Err()
	})
	return c, err
}

// Rebuild implements [core.Rebuilder]. A namespace whose events can't be read keeps what it
// has.
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	streams := journal.NamespaceStream("")
	err := journal.UpdateStreams(ctx, s, streams, func(tx core.Tx, stream string) error {
		key := []byte(countPrefix + stream[len(streams):])
		if _, found, err := tx.Get(key); err != nil || found { // a count that exists is a sum
			return err
		}
		count, err := value(ctx, tx, stream[len(streams):])
		if table.Corrupt(err) || err == nil && count == nil {
			return nil
		}
		if err == nil {
			err = tx.Put(key, count)
		}
		return err
	})
	if err != nil {
		return err
	}
	return kind().Rebuild(ctx, s)
}
