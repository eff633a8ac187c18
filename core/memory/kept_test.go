package memory_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// The prefixes of what is kept of indices.
const indexHead, indexWords, indexDocs = "memory-index/", "memory-index-words/", "memory-index-docs/"

// keeping are memories whose index is kept however small it is, with ids that go on in the next program.
func keeping(t *testing.T, s core.Store, ids core.IDs) *governed {
	return newGoverned(t, s, func(o *memory.Options) { o.IndexKeptFrom, o.IDs = 1, ids })
}

// keptKeys are the keys of a store that a kept index has, with their values.
func keptKeys(t *testing.T, s core.Store) map[string]string {
	all := dump(t, s)
	maps.DeleteFunc(all, func(key, _ string) bool {
		return !strings.HasPrefix(key, indexHead) && !strings.HasPrefix(key, indexWords) && !strings.HasPrefix(key, indexDocs)
	})
	return all
}

// putAll changes keys of a store; "" deletes one.
func putAll(t *testing.T, s core.Store, pairs map[string]string) {
	t.Helper()
	must(t, s.Update(t.Context(), func(tx core.Tx) (err error) {
		for key, value := range pairs {
			if value == "" {
				err = core.JoinErrors(err, tx.Delete([]byte(key)))
			} else {
				err = core.JoinErrors(err, tx.Put([]byte(key), []byte(value)))
			}
		}
		return err
	}))
}

// recallsAsWithout compares what a new program recalls with what it recalls where nothing is kept, and
// returns whether what is kept was of use.
func recallsAsWithout(t *testing.T, s core.Store, queries ...string) (restored bool) {
	t.Helper()
	without := mem.Open()
	all := dump(t, s)
	for key := range keptKeys(t, s) {
		delete(all, key)
	}
	must(t, store.Prepare(t.Context(), without))
	must(t, without.Update(t.Context(), func(tx core.Tx) (err error) {
		for key, value := range all {
			err = core.JoinErrors(err, tx.Put([]byte(key), []byte(value)))
		}
		return err
	}))
	got, want := newGoverned(t, s, nil), newGoverned(t, without, nil)
	for _, query := range queries {
		r := core.RecallRequest{Query: query, Limit: 50, RecallFilter: core.RecallFilter{Namespace: "ns"}}
		if diff := cmp.Diff(want.recall(t, r), got.recall(t, r)); diff != "" {
			t.Errorf("%q (-without what is kept +with it):\n%s", query, diff)
		}
	}
	p, _ := got.Warmth()
	q, _ := want.Warmth()
	if p.Documents != q.Documents || q.Restored != 0 {
		t.Errorf("with what is kept %+v, without %+v", p, q)
	}
	return p.Restored == 1
}

// TestIndex_IsKept lets memories live through several programs, and compares what each recalls with what
// it recalls where nothing is kept.
func TestIndex_IsKept(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		rnd := rand.New(rand.NewPCG(1, 2))
		ids := &coretest.IDs{}
		var made []string
		for program := range 6 {
			g := keeping(t, s, ids)
			g.recall(t, core.RecallRequest{Query: "warm"})
			for range 5 + rnd.IntN(25) {
				r := core.ObserveRequest{
					Namespace: "ns", Title: fmt.Sprint("note ", rnd.IntN(9)), Content: fmt.Sprintf("the pumps of dock%d run on monday, %d of them?", rnd.IntN(12), rnd.IntN(5)),
					Attributes: core.Attributes{Tags: []string{fmt.Sprint("tag", rnd.IntN(3))}, AgentID: fmt.Sprint("agent", rnd.IntN(2)), Metadata: fmt.Appendf(nil, `{"session":"s%d"}`, rnd.IntN(3))},
				}
				made = append(made, g.observe(t, r).ID)
			}
			id := made[rnd.IntN(len(made))]
			g.turn(t, core.RecallRequest{Session: "s", Turn: int64(program + 1), Query: "pumps", Limit: 50}, core.FeedbackRequest{Outcome: core.OutcomeSuccess})
			switch program % 3 {
			case 1:
				_, err := g.Gate.Erase(t.Context(), id, memory.EraseRequest{Reason: "because", Copies: true})
				must(t, err)
			case 2:
				g.link(t, made[len(made)-1], core.RelationSupersedes, made[0])
			}
			g.recall(t, core.RecallRequest{Query: "follow"})
			g.Close()
			if len(keptKeys(t, s)) < 3 {
				t.Fatal("nothing is kept")
			}
			if !recallsAsWithout(t, s, "dock3 pumps", "run on monday", "nothing of that", "of the", "dokc7") {
				t.Error("what is kept was of no use")
			}
			g.sound(t)
		}
	})
}

// keptSamples keeps the index of 48 memories in two parts, of 40 and of 8. The last one is a secret.
func keptSamples(t *testing.T, s core.Store) (secret string) {
	t.Helper()
	ids := &coretest.IDs{}
	for _, count := range []int{40, 8} {
		g := keeping(t, s, ids)
		g.recall(t, core.RecallRequest{Query: "warm"})
		for i := range count {
			r := core.ObserveRequest{Namespace: "ns", Title: fmt.Sprint("dock ", i), Content: fmt.Sprintf("the pumps of dock%d run on monday", i)}
			if count == 8 && i == 7 {
				r = core.ObserveRequest{
					Namespace: "ns", Title: "the zsecretz title", Content: "zsecretz pumps", Attributes: core.Attributes{Tags: []string{"zsecretz"}, Metadata: []byte(`{"session":"zsecretz"}`)},
				}
			}
			secret = g.observe(t, r).ID
		}
		g.recall(t, core.RecallRequest{Query: "pumps"})
		g.Close()
	}
	if n := len(keptKeys(t, s)); n != 5 {
		t.Fatalf("%d keys are kept, want a head and two parts", n)
	}
	return secret
}

// TestIndex_DropsWhatItCantUse damages what is kept. A recall never fails because of it, and finds what it
// finds without; a check reports it and a rebuild removes it.
func TestIndex_DropsWhatItCantUse(t *testing.T) {
	// change is a case: it gets what is kept, and returns what to write.
	type change func(kept map[string]string) map[string]string
	head := func(change func(string) string) change {
		return func(kept map[string]string) map[string]string {
			key := indexHead + "ns"
			return map[string]string{key: change(kept[key])}
		}
	}
	// first changes the first key with a prefix.
	first := func(prefix string, change func(string) string) change {
		return func(kept map[string]string) map[string]string {
			key := slices.Sorted(maps.Keys(kept))[slices.IndexFunc(slices.Sorted(maps.Keys(kept)), func(k string) bool { return strings.HasPrefix(k, prefix) })]
			return map[string]string{key: change(kept[key])}
		}
	}
	replaced := func(old, with string) change {
		return head(func(s string) string { return strings.ReplaceAll(s, old, with) })
	}
	gone := func(string) string { return "" }
	torn := func(s string) string { return s[:len(s)/2] }
	flipped := func(s string) string { return s[:len(s)/2] + string(s[len(s)/2]^1) + s[len(s)/2+1:] }
	cases := map[string]struct {
		change change
		// useless is whether nothing of it is of use, and sound whether a check finds nothing wrong.
		useless, sound bool
	}{
		"the words are gone":    {first(indexWords, gone), false, true},
		"the words are torn":    {first(indexWords, torn), false, false},
		"a bit of the words":    {first(indexWords, flipped), false, false},
		"the rest is gone":      {first(indexDocs, gone), false, true},
		"the rest is torn":      {first(indexDocs, torn), false, false},
		"a bit of the rest":     {first(indexDocs, flipped), false, false},
		"words of another part": {first(indexWords, func(string) string { return "words" }), false, false},
		"the head is gone":      {head(gone), true, false},
		"the head is torn":      {head(torn), true, false},
		"the head is null":      {head(func(string) string { return "null" }), true, false},
		"the head is a list":    {head(func(string) string { return "[]" }), true, false},
		"another version":       {replaced(`"settings":"1.`, `"settings":"0.`), true, true},
		"another language":      {replaced(`"settings":"1.1 `, `"settings":"1.1 x`), true, true},
		"no settings":           {replaced(`"settings":"`, `"sottings":"`), true, false},
		"no mark":               {replaced(`"mark":"`, `"murk":"`), true, false},
		"no parts":              {replaced(`"parts":[`, `"ports":[`), true, false},
		"a part without a name": {replaced(`"name":"`, `"nome":"`), true, false},
		"of a later time":       {replaced(`"seq":`, `"seq":9`), true, true},
		"not whole":             {replaced(`"whole":true,`, ``), false, true},
		"all words are gone": {func(kept map[string]string) map[string]string {
			maps.DeleteFunc(kept, func(key, _ string) bool { return !strings.HasPrefix(key, indexWords) })
			for key := range kept {
				kept[key] = ""
			}
			return kept
		}, true, true},
		"of another namespace": {func(all map[string]string) map[string]string {
			moved := map[string]string{}
			for key, value := range all {
				moved[key], moved[strings.Replace(key, "/ns", "/other", 1)] = "", value
			}
			return moved
		}, true, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := empty(t)
			keptSamples(t, s)
			putAll(t, s, c.change(keptKeys(t, s)))
			if restored := recallsAsWithout(t, s, "pumps of dock3", "zsecretz", "dokc7"); restored == c.useless {
				t.Errorf("of use: %v", restored)
			}
			g := newGoverned(t, s, nil)
			found := 0
			view(t, s, func(r core.Reader) error {
				return g.Check(t.Context(), r, func(p core.Problem) {
					if found++; !p.Rebuildable || strings.Contains(p.Message, "pumps") {
						t.Errorf("%+v", p)
					}
				})
			})
			if c.sound != (found == 0) {
				t.Errorf("a check finds %d problems", found)
			}
			must(t, g.Rebuild(t.Context(), s))
			g.sound(t)
			again := keeping(t, s, &coretest.IDs{})
			again.recall(t, core.RecallRequest{Query: "pumps"})
			again.Close()
			if !recallsAsWithout(t, s, "pumps of dock3", "zsecretz") {
				t.Error("it wasn't made again")
			}
		})
	}
}

// TestPurge_TakesTheKeptIndex: a purge's commit deletes the part with words of the memory, and no other.
func TestPurge_TakesTheKeptIndex(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		secret := keptSamples(t, s)
		before := keptKeys(t, s)
		quotes := func(key string) bool { return strings.Contains(before[key], "zsecretz") }
		if n := len(slices.DeleteFunc(slices.Collect(maps.Keys(before)), func(key string) bool { return !quotes(key) })); n != 2 {
			t.Fatalf("%d keys quote the memory, so that this test proves nothing", n)
		}
		g := keeping(t, s, &coretest.IDs{})
		_, err := g.Gate.Erase(t.Context(), secret, memory.EraseRequest{Reason: "because"})
		must(t, err)
		g.lacks(t, "zsecretz")
		for key, value := range keptKeys(t, s) {
			if key != indexHead+"ns" && value != before[key] {
				t.Errorf("%s is new", key)
			}
		}
		if n := len(keptKeys(t, s)); n != 3 {
			t.Errorf("%d keys are left, want the head and a part", n)
		}
		g.sound(t)
		if !recallsAsWithout(t, s, "pumps of dock3", "zsecretz") {
			t.Error("what is left was of no use")
		}
		g.recall(t, core.RecallRequest{Query: "pumps"})
		g.Close()
		g.lacks(t, "zsecretz")
		if export := g.export(t); strings.Contains(export, indexHead) || strings.Contains(export, indexWords) {
			t.Error("an export has it")
		}
	})
}

// An archived memory isn't in the index any more, and its words are in what is kept: a purge finds them.
func TestPurge_TakesTheKeptIndexOfAnArchivedMemory(t *testing.T) {
	s := empty(t)
	secret := keptSamples(t, s)
	for program := range 2 { // the second keeps what the first did
		g := keeping(t, s, &coretest.IDs{})
		g.recall(t, core.RecallRequest{Query: "pumps"})
		if m := g.get(t, secret); m.State != core.StateArchived {
			must(t, g.MoveByDream(t.Context(), secret, core.StateArchived, ""))
		}
		for i := range 6 { // so many changes that it is kept again
			g.observe(t, core.ObserveRequest{ID: fmt.Sprintf("x%d-%d", program, i), Namespace: "ns", Content: "more"})
		}
		g.recall(t, core.RecallRequest{Query: "pumps"})
		g.Close()
	}
	g := keeping(t, s, &coretest.IDs{})
	_, err := g.Gate.Erase(t.Context(), secret, memory.EraseRequest{Reason: "because"})
	must(t, err)
	g.lacks(t, "zsecretz")
	g.Close()
	g.lacks(t, "zsecretz")
	g.sound(t)
}

// interrupted is a store that calls a function before a commit, by the number of commits before it.
type interrupted struct {
	core.Store
	before func(commits int)
	n      int
}

func (s *interrupted) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.n++
	s.before(s.n - 1)
	return s.Store.Update(ctx, fn)
}

// TestPurge_IsNotUndoneByKeeping erases a memory before each commit of what keeps the index, which was
// read before that.
func TestPurge_IsNotUndoneByKeeping(t *testing.T) {
	for at := range 6 {
		t.Run(fmt.Sprint("before commit ", at), func(t *testing.T) {
			s := empty(t)
			secret := keptSamples(t, s)
			must(t, newGoverned(t, s, nil).Rebuild(t.Context(), s))
			for key := range keptKeys(t, s) {
				putAll(t, s, map[string]string{key: ""})
			}
			erased := false
			keeps := &interrupted{Store: s, before: func(commits int) {
				if commits != at {
					return
				}
				erased = true
				_, err := newGoverned(t, s, nil).Gate.Erase(t.Context(), secret, memory.EraseRequest{Reason: "because"})
				must(t, err)
			}}
			g := newGoverned(t, s, func(o *memory.Options) { o.Store, o.IndexKeptFrom = keeps, 1 })
			g.recall(t, core.RecallRequest{Query: "pumps"})
			g.Close()
			if !erased {
				_, err := newGoverned(t, s, nil).Gate.Erase(t.Context(), secret, memory.EraseRequest{Reason: "because"})
				must(t, err)
			}
			g.lacks(t, "zsecretz")
			g.sound(t)
			recallsAsWithout(t, s, "pumps of dock3", "zsecretz")
		})
	}
}

// docsDigest is of what is kept of the samples besides their words, by the layout that package search has.
const docsDigest = "sha256:cf2b492a7c4d92414179e53941b284dfff85999a4a1568c94ebc0933ac4b9f9e"

// TestIndex_LayoutOfDocs: what was kept is read as it was written. If this fails because the layout
// changed, or what it holds, raise docsVersion in package search, and note the new digest here.
func TestIndex_LayoutOfDocs(t *testing.T) {
	s := mem.Open()
	keptSamples(t, s)
	digest, keys := "", keptKeys(t, s)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if strings.HasPrefix(key, indexDocs) {
			digest = core.Digest([]byte(digest + keys[key]))
		}
	}
	if !strings.Contains(keys[indexHead+"ns"], `"settings":"1.1 `) || digest != docsDigest {
		t.Errorf("%s\n%s", digest, keys[indexHead+"ns"])
	}
}
