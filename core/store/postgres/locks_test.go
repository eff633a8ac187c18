package postgres

import (
	"testing"

	"pgregory.net/rapid"
)

// Of a key in a range, the written key must share a lock with the range that one of them
// has exclusively.
func TestLocks_RangeMeetsItsKeys(t *testing.T) {
	text := rapid.StringMatching(`[ab]?(/|\x00)?[ab]?(/|\x00)?[ab\xff]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		r := readRange{from: text.Draw(t, "from"), to: text.Draw(t, "to")}
		if key := "k" + text.Draw(t, "key"); !r.contains(key) {
			r = readRange{from: key[:rapid.IntRange(0, len(key)).Draw(t, "prefix")], to: key + "\x00"}
			meets(t, r, key)
		} else {
			meets(t, r, key)
		}
	})
}

func meets(t *rapid.T, r readRange, key string) {
	reader, writer := newLockSet(), newLockSet()
	reader.read(&readSet{ranges: []readRange{r}})
	writer.write(map[string]write{key: {}})
	for id, exclusive := range reader {
		if other, both := writer[id]; both && (exclusive || other) {
			return
		}
	}
	t.Fatalf("a commit that read %q to %q and one that writes %q don't wait for each other", r.from, r.to, key)
}

func TestLocks_Container(t *testing.T) {
	for _, c := range []struct {
		from, to string
		what     byte
		name     string
	}{
		{"memory-state/team\x00open\x00", "memory-state/team\x00open\x01", ofClass, "memory-state/team\x00"},
		{"memory-time/team\x00", "memory-time/team\x01", ofClass, "memory-time/team\x00"},
		{"link/a/", "link/a0", ofKind, "link/"},
		{"job-queue/", "job-queue0", ofKind, "job-queue/"},
		{"job-queue/", "job-queue/7\x00", ofKind, "job-queue/"},
		{"", "", ofAll, ""},
		{"a", "b", ofAll, ""},
		{"meta/", "run/", ofAll, ""},
	} {
		if what, name := container(&readRange{from: c.from, to: c.to}); what != c.what || name != c.name {
			t.Errorf("the range from %q to %q locks %c %q, want %c %q", c.from, c.to, what, name, c.what, c.name)
		}
	}
}
