package record

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestTally_IsReadAsItIsWritten, with what was counted before states were.
func TestTally_IsReadAsItIsWritten(t *testing.T) {
	full := NewTally()
	for i, m := range []core.Memory{
		{State: core.StateOpen, Kind: core.KindObservation, Title: "a"}, {State: core.StateOpen, Kind: core.KindSemantic, Content: "bc"}, {State: core.StateActive, Kind: core.KindObservation},
	} {
		full.add(&m, 1)
		if i == 2 {
			full.add(&m, -1)
		}
	}
	for want, tally := range map[string]Tally{
		`{"memories":2,"bytes":3,"states":{"open":2},"kinds":{"observation":1,"semantic":1}}`: full,
		`{"memories":0,"bytes":0,"states":{},"kinds":{}}`:                                     NewTally(),
		`{"memories":2,"bytes":3}`:                                                            {Count: Count{Memories: 2, Bytes: 3}},
	} {
		if got := string(jsontext.MustEncode(tally)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		s := mem.Open()
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(CountKey("n"), []byte(want)) }); err != nil {
			t.Fatal(err)
		}
		var read Tally
		err := s.View(t.Context(), func(r core.Reader) (err error) {
			read, err = ReadTally(r, "n")
			return err
		})
		if diff := cmp.Diff(tally, read); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", want, err, diff)
		}
	}
}

// TestCountValues_EndsWithItsContext: a namespace may have a million of them.
func TestCountValues_EndsWithItsContext(t *testing.T) {
	s := mem.Open()
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx core.Tx) error {
		for _, id := range []string{"a", "b"} {
			if err := tx.Put([]byte(StatePrefix+"n\x00open\x00"+id), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[core.MemoryState]int64{}
	err = s.View(t.Context(), func(r core.Reader) error {
		cancel()
		return CountValues(ctx, r, StatePrefix, "n", counts)
	})
	if !errors.Is(err, context.Canceled) || counts["open"] != 1 {
		t.Errorf("%v, %v", counts, err)
	}
}
