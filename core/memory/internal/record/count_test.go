package record

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestTally_IsReadAsItIsWritten, by hand as by the general decoder, with what was counted
// before states were.
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
		if got := string(tally.JSON()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		read, ok := parseTally(want)
		if diff := cmp.Diff(tally, read); !ok || diff != "" {
			t.Errorf("%s: %t (-want +got):\n%s", want, ok, diff)
		}
		var general Tally
		if err := json.Unmarshal([]byte(want), &general); err != nil || !cmp.Equal(general, tally) {
			t.Errorf("%s: %v %v", want, general, err)
		}
	}
	for _, other := range []string{``, `{}`, `{"memories":1}`, `{"memories":1,"bytes":2,"states":{"open":x},"kinds":{}}`, `{"memories":1,"bytes":2,"states":{}}`, `{"bytes":2,"memories":1}`} {
		if got, ok := parseTally(other); ok {
			t.Errorf("%s is %+v", other, got)
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
