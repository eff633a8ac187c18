package pebble

import (
	"strconv"
	"testing"
)

// commitKeys notes a commit that is visible at once.
func commitKeys(h *history, keys ...string) {
	e := h.begin()
	h.mu.Lock()
	h.note(keys)
	h.mu.Unlock()
	h.apply(e)
}

func TestTransactionOlderThanTheHistoryConflicts(t *testing.T) {
	h := newHistory()
	old := h.begin()
	reads := readSet{keys: []string{"read"}}
	for i := range maxRecent {
		commitKeys(h, strconv.Itoa(i))
	}
	if h.changed(0, &reads) {
		t.Error("a conflict without a common key")
	}
	commitKeys(h, "one more")
	if !h.changed(0, &reads) {
		t.Error("no conflict, though what was written first is forgotten")
	}
	if h.changed(1, &reads) {
		t.Error("a conflict of one whose history is known")
	}
	h.end(old)
	if len(h.recent) != 0 || len(h.written) != 0 {
		t.Errorf("%d commits and %d keys are remembered for nobody", len(h.recent), len(h.written))
	}
}

func TestHistoryLastsAsLongAsTheOldestTransaction(t *testing.T) {
	h := newHistory()
	reads := readSet{keys: []string{"a"}}
	first := h.begin()
	commitKeys(h, "a")
	second := h.begin()
	commitKeys(h, "b")
	h.end(second)
	if !h.changed(moment(first), &reads) {
		t.Error("the older transaction's conflict was forgotten")
	}
	if h.changed(moment(second), &reads) {
		t.Error("a conflict with what was committed before the beginning")
	}
	h.end(first)
	if len(h.recent) != 0 || len(h.written) != 0 {
		t.Errorf("%d commits and %d keys are remembered for nobody", len(h.recent), len(h.written))
	}
}

// TestATransactionMovesOnUnlessItReadWhatChanged covers keys and ranges.
func TestATransactionMovesOnUnlessItReadWhatChanged(t *testing.T) {
	cases := []struct {
		name  string
		reads readSet
		moves bool
	}{
		{"nothing", readSet{}, true},
		{"another key", readSet{keys: []string{"a", "c"}}, true},
		{"the key", readSet{keys: []string{"a", "b"}}, false},
		{"a range before it", readSet{spans: []span{{"a", "b"}}}, true},
		{"a range from it on", readSet{spans: []span{{"b", "b\x00"}}}, false},
		{"a range without an end", readSet{spans: []span{{"a", ""}}}, false},
		{"a range after it", readSet{spans: []span{{"b\x00", ""}}}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			e := h.begin()
			commitKeys(h, "b")
			if !h.wrote(e, &readSet{keys: []string{"b"}}) {
				t.Error("the key's change isn't seen")
			}
			if moved := h.move(e, &c.reads); moved != c.moves {
				t.Errorf("moved: %t, want %t", moved, c.moves)
			}
			if c.moves && h.wrote(e, &readSet{keys: []string{"b"}}) {
				t.Error("the key's change is new also after the move")
			}
			commitKeys(h, "d")
			if h.end(e); len(h.recent) != 0 || len(h.written) != 0 {
				t.Errorf("%d commits and %d keys are remembered for nobody", len(h.recent), len(h.written))
			}
		})
	}
}
