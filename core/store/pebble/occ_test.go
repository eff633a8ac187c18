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
			if !h.wrote(moment(e), "b") {
				t.Error("the key's change isn't seen")
			}
			if moved := h.move(e, &c.reads); moved != c.moves {
				t.Errorf("moved: %t, want %t", moved, c.moves)
			}
			if c.moves && h.wrote(moment(e), "b") {
				t.Error("the key's change is new also after the move")
			}
			commitKeys(h, "d")
			if h.end(e); len(h.recent) != 0 || len(h.written) != 0 {
				t.Errorf("%d commits and %d keys are remembered for nobody", len(h.recent), len(h.written))
			}
		})
	}
}

func TestKeptValuesAreTheNewest(t *testing.T) {
	var k hotKeys
	k.put("a", hotValue{[]byte("1"), true})
	k.put("gone", hotValue{})
	k.change(&write{key: "a", value: []byte("2")})
	k.change(&write{key: "gone", value: []byte("3")})
	k.change(&write{key: "unread", value: []byte("4")})
	for key, want := range map[string]string{"a": "2", "gone": "3"} {
		if v, known := k.get(key); !known || string(v.value) != want || !v.found {
			t.Errorf("%s: %q, found %t, known %t", key, v.value, v.found, known)
		}
	}
	if _, known := k.get("unread"); known {
		t.Error("a key that nobody read is cached")
	}
	k.change(&write{key: "a", deleted: true})
	if v, known := k.get("a"); !known || v.found {
		t.Errorf("a deleted key: found %t, known %t", v.found, known)
	}
	k.change(&write{key: "gone", value: make([]byte, maxHotBytes+1)})
	if _, known := k.get("gone"); known {
		t.Error("a large value is cached")
	}
	for i := range 10 * maxHotKeys {
		if _, known := k.get("a"); !known {
			t.Fatalf("what is read all the time is forgotten after %d others", i)
		}
		k.put(strconv.Itoa(i), hotValue{})
	}
	if n := len(k.young) + len(k.old); n > 2*maxHotKeys {
		t.Errorf("%d are cached", n)
	}
}
