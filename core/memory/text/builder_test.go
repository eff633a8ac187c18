package text_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/memory/text"
)

// TestABuiltIndexIsTheSame compares an index that was built with one whose documents
// were put in one by one, also after more changes. Numbers are left out, and some
// documents come twice.
func TestABuiltIndexIsTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func() string {
		return strings.Repeat(string(rune('a'+rnd.IntN(20)))+" ", rnd.IntN(4)) + string(rune('a'+rnd.IntN(20)))
	}
	b, one := text.NewBuilder(text.Language{}, byNumber), text.New(text.Language{}, byNumber)
	put := func(doc uint32) {
		s := random()
		b.Put(doc, s)
		one.Put(doc, s)
	}
	for doc := uint32(0); doc < 300; doc += 1 + uint32(rnd.IntN(2)) {
		put(doc)
		if rnd.IntN(20) == 0 {
			put(uint32(rnd.IntN(int(doc) + 1)))
		}
	}
	built := b.Index()
	compare := func(when string) {
		t.Helper()
		if built.Len() != one.Len() || built.Bytes() != one.Bytes() {
			t.Errorf("%s: %d documents in %d bytes, want %d in %d", when, built.Len(), built.Bytes(), one.Len(), one.Bytes())
		}
		for c := 'a'; c < 'a'+20; c++ {
			query := string(c) + " " + random()
			got, want := built.Top(text.NewQuery(query, built), 300, nil), one.Top(text.NewQuery(query, one), 300, nil)
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, %q: got %v, want %v", when, query, got, want)
			}
		}
	}
	compare("built")
	for range 200 {
		doc := uint32(rnd.IntN(320))
		if rnd.IntN(3) == 0 {
			built.Remove(doc)
			one.Remove(doc)
			continue
		}
		s := random()
		built.Put(doc, s)
		one.Put(doc, s)
	}
	compare("changed")
}
