package reflection

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Checker proves that what was counted agrees with the events of observations.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Derived implements [core.Rebuilder]: the sums follow from the events.
func (Checker) Derived() []string { return []string{countPrefix} }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	problem := func(key []byte, rebuildable bool, message string) {
		report(core.Problem{Part: "reflections", Key: string(key), Message: message, Rebuildable: rebuildable})
	}
	err := core.ScanPrefix(r, []byte(countPrefix), func(key, value []byte) (bool, error) {
		key = bytes.Clone(key)
		namespace := string(key[len(countPrefix):])
		found, err := counted(ctx, r, namespace)
		switch {
		case sdk.ReasonOf(err) == "record_corrupt" || journal.IsBroken(err):
			return true, nil // its own check reports it
		case err != nil:
			return false, err
		case !bytes.Equal(value, core.MustJSON(found)):
			problem(key, true, "it doesn't count what the events tell of observations")
		}
		return true, ctx.Err()
	})
	if err != nil {
		return err
	}
	return core.ScanPrefix(r, []byte(statePrefix), func(key, value []byte) (bool, error) {
		key = bytes.Clone(key)
		wrong, err := wrongState(r, string(key[len(statePrefix):]), value)
		if wrong != "" {
			problem(key, false, wrong)
		}
		return true, err
	})
}

// wrongState describes what is wrong with the state of a namespace's reflections; "" if
// nothing is. Events have only what was observed, so the rest must be within its bounds.
func wrongState(r core.Reader, namespace string, value []byte) (string, error) {
	var s State
	if err := core.DecodeStrict(value, &s); err != nil {
		return "it isn't as the program writes it: " + err.Error(), nil
	}
	head, err := journal.ReadHead(r, journal.NamespaceStream(namespace))
	if err != nil && !journal.IsBroken(err) {
		return "", err
	}
	if s.From > head.Seq+1 || s.Seen < 0 || s.Failures < 0 || s.Taken.Observations < 0 || s.Taken.Importance < 0 || s.JobID != "" && !core.ValidID(s.JobID) {
		return "a value is out of its bounds", nil
	}
	c, err := readCount(r, namespace)
	if sdk.ReasonOf(err) == "record_corrupt" {
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
	for after := streams; ; {
		next := ""
		err := s.Update(ctx, func(tx core.Tx) error {
			next = ""
			err := journal.StreamsAfter(tx, after, func(h journal.StreamHead) (bool, error) {
				next = h.Stream
				return false, nil
			})
			if err != nil || !strings.HasPrefix(next, streams) {
				return err
			}
			return recount(ctx, tx, next[len(streams):])
		})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(next, streams) {
			break
		}
		after = next
	}
	return core.UpdateEach(ctx, s, countPrefix, func(tx core.Tx, key string) error {
		return recount(ctx, tx, key[len(countPrefix):])
	})
}

// recount writes the count of a namespace that follows from its events. A namespace without
// counted observations has none.
func recount(ctx context.Context, tx core.Tx, namespace string) error {
	c, err := counted(ctx, tx, namespace)
	if sdk.ReasonOf(err) == "record_corrupt" || journal.IsBroken(err) {
		return nil
	}
	if err != nil {
		return err
	}
	key := countKey(namespace)
	if c.Observations == 0 {
		return tx.Delete(key)
	}
	old, found, err := tx.Get(key)
	if err != nil || found && bytes.Equal(old, core.MustJSON(c)) {
		return err
	}
	return tx.Put(key, core.MustJSON(c))
}
