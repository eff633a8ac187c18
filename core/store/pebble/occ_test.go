package pebble

import (
	"strconv"
	"testing"
)

func TestTransactionOlderThanTheHistoryConflicts(t *testing.T) {
	var h history
	old := h.begin()
	var reads readSet
	reads.addKey([]byte("read"))
	for i := range maxRecent {
		h.add([]string{strconv.Itoa(i)})
	}
	if h.changed(0, &reads) {
		t.Error("a conflict without a common key")
	}
	h.add([]string{"one more"})
	if !h.changed(0, &reads) {
		t.Error("no conflict, though what was written first is forgotten")
	}
	if h.changed(1, &reads) {
		t.Error("a conflict of one whose history is known")
	}
	h.end(old)
	if len(h.recent) != 0 {
		t.Errorf("%d commits are remembered for nobody", len(h.recent))
	}
}

func TestHistoryLastsAsLongAsTheOldestTransaction(t *testing.T) {
	var h history
	var reads readSet
	reads.addKey([]byte("a"))
	first := h.begin()
	h.add([]string{"a"})
	second := h.begin()
	h.add([]string{"b"})
	h.end(second)
	if !h.changed(first.Value.(uint64), &reads) {
		t.Error("the older transaction's conflict was forgotten")
	}
	if h.changed(second.Value.(uint64), &reads) {
		t.Error("a conflict with what was committed before the beginning")
	}
	h.end(first)
	if len(h.recent) != 0 {
		t.Errorf("%d commits are remembered for nobody", len(h.recent))
	}
}
