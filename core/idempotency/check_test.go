package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

func memoryKey(memory, digest string) []byte { return []byte(memoryPrefix + memory + "/" + digest) }

func timeKey(at int64, digest string) []byte { return table.NumberKey(timePrefix, uint64(at), digest) }

// TestKeyLayout checks the rows of core/store/FORMAT.md.
func TestKeyLayout(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{recordKey("d"), "idempotency/d"},
		{timeKey(258, "d"), "idempotency-time/\x00\x00\x00\x00\x00\x00\x01\x02/d"},
		{memoryKey("m", "d"), "idempotency-memory/m/d"},
	} {
		if string(c.key) != c.want {
			t.Errorf("%q, want %q", c.key, c.want)
		}
	}
	if timeDigest(timeKey(258, "d"), nil) != "d" {
		t.Error("a digest isn't found in its key")
	}
	const want = "3064463187306d83e9929c70458bf9b9080f11ea946742f31745fdc1b9db4fb8" // the SHA-256 of ["s","k"]
	if got := (&Request{Subject: "s", Key: "k"}).digest(); got != want {
		t.Errorf("the digest is %s", got)
	}
}

// call makes a call with a key, whose outcome mentions a memory.
func call(t *testing.T, k *Keys, key string) *Outcome {
	t.Helper()
	claim, earlier, err := k.Begin(t.Context(), &Request{Subject: "s", Key: key, Operation: "op", Body: []byte("{}")}, []string{"n"})
	if err != nil {
		t.Fatal(err)
	}
	if claim == nil {
		return earlier
	}
	if err := claim.End(t.Context(), Ending{Data: []byte(`{"a":1}`), Memories: []string{"m", "m"}}); err != nil {
		t.Fatal(err)
	}
	return nil
}

func problems(t *testing.T, s core.Store) (list []string) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return Checker().Check(t.Context(), r, func(p core.Problem) { list = append(list, p.Key+": "+p.Message) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestChecker_FindsAndDropsWhatDoesNotAgree(t *testing.T) {
	for name, tamper := range map[string]func(tx core.Tx, digest string, at int64) error{
		"a record that is none":          func(tx core.Tx, d string, _ int64) error { return tx.Put(recordKey(d), []byte("{")) },
		"a record out of its indices":    func(tx core.Tx, d string, at int64) error { return tx.Delete(timeKey(at, d)) },
		"one that a purge wouldn't find": func(tx core.Tx, d string, _ int64) error { return tx.Delete(memoryKey("m", d)) },
		"an entry of the index by time":  func(tx core.Tx, d string, at int64) error { return tx.Put(timeKey(at+1, d), nil) },
		"an entry of the other index":    func(tx core.Tx, d string, _ int64) error { return tx.Put(memoryKey("other", d), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := mem.Open(), &coretest.Clock{}
			k := &Keys{Store: s, Clock: clock, Owner: "o", Sole: true}
			call(t, k, "k")
			call(t, k, "other")
			if found := problems(t, s); len(found) > 0 {
				t.Fatalf("before: %v", found)
			}
			digest := (&Request{Subject: "s", Key: "k"}).digest()
			err := s.Update(t.Context(), func(tx core.Tx) error { return tamper(tx, digest, clock.Now().UnixNano()) })
			if err != nil {
				t.Fatal(err)
			}
			if found := problems(t, s); len(found) == 0 {
				t.Error("it isn't found")
			}
			if err := Checker().Rebuild(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			if found := problems(t, s); len(found) > 0 {
				t.Errorf("after: %v", found)
			}
			if lost := name == "a record that is none"; (call(t, k, "k") == nil) != lost {
				t.Errorf("the call is done again: %t", !lost)
			}
			if out := call(t, k, "other"); out == nil || string(out.Data) != `{"a":1}` || fmt.Sprint(out.Namespaces) != "[n]" {
				t.Errorf("another key gives %+v", out)
			}
		})
	}
}

// FuzzKey claims and finds a key: one of 1 to 128 printable characters has the outcome that
// it was given, and every other is refused.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "k", "a b", "a\nb", "é", "\xff", strings.Repeat("k", MaxKey), strings.Repeat("k", MaxKey+1)} {
		f.Add("s", key)
	}
	f.Fuzz(func(t *testing.T, subject, key string) {
		k := &Keys{Store: mem.Open(), Clock: &coretest.Clock{}, Owner: "o"}
		r := &Request{Subject: subject, Key: key, Operation: "op", Body: []byte("{}")}
		good := len(key) >= 1 && len(key) <= MaxKey
		for _, b := range []byte(key) {
			good = good && b >= ' ' && b <= '~'
		}
		claim, _, err := k.Begin(t.Context(), r, nil)
		if (err == nil) != good {
			t.Fatalf("%q: %v", key, err)
		}
		if !good {
			return
		}
		if err := claim.End(t.Context(), Ending{Data: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		if out, err := k.Find(t.Context(), r); err != nil || out == nil || string(out.Data) != "1" {
			t.Errorf("%q gives %v, %v", key, out, err)
		}
	})
}

// TestSweep_GoesOverWhatItCantRead: an entry of the index that leads to no record keeps
// nothing behind it from expiring.
func TestSweep_GoesOverWhatItCantRead(t *testing.T) {
	s, clock := mem.Open(), &coretest.Clock{}
	k := &Keys{Store: s, Clock: clock, Owner: "o", Sole: true}
	call(t, k, "damaged")
	call(t, k, "old")
	digest := (&Request{Subject: "s", Key: "damaged"}).digest()
	err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(recordKey(digest), []byte("{")) })
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(Lifetime)
	call(t, k, "new")
	err = s.View(t.Context(), func(r core.Reader) error {
		_, found, err := r.Get(recordKey((&Request{Subject: "s", Key: "old"}).digest()))
		if found {
			t.Error("an expired record is still there")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEnd_OfACallThatWroteNothingAndMayBeMadeAgain leaves the key free; one that wrote
// something doesn't.
func TestEnd_OfACallThatWroteNothingAndMayBeMadeAgain(t *testing.T) {
	for _, wrote := range []bool{false, true} {
		k := &Keys{Store: mem.Open(), Clock: &coretest.Clock{}, Owner: "o", Sole: true}
		r := &Request{Subject: "s", Key: "k", Operation: "op", Body: []byte("{}")}
		ctx, cancel := context.WithCancel(t.Context())
		claim, _, err := k.Begin(ctx, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if wrote {
			inner := claim.Context(ctx)
			if err := k.Store.Update(inner, func(tx core.Tx) error { return core.Mark(inner, tx) }); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if err := claim.End(ctx, Ending{Data: []byte(`"cancelled"`), Again: true}); err != nil {
			t.Fatal(err)
		}
		if out, err := k.Find(t.Context(), r); err != nil || (out != nil) != wrote {
			t.Errorf("wrote %t: %+v, %v", wrote, out, err)
		}
	}
}

// TestClaim_OfAHostThatIsGone is taken over by another host, which does the call. If the first
// one lives after all, it writes nothing more for it, and its outcome doesn't count.
func TestClaim_OfAHostThatIsGone(t *testing.T) {
	s, gone := mem.Open(), false
	hosts := map[string]*Keys{}
	for _, owner := range []string{"one", "two"} {
		hosts[owner] = &Keys{Store: s, Clock: &coretest.Clock{}, Owner: owner, Gone: func(_ core.Reader, owner string) (bool, error) {
			return gone && owner == "one", nil
		}}
	}
	ctx, r := t.Context(), &Request{Subject: "s", Key: "k", Operation: "op", Body: []byte("{}")}
	mark := func(c *Claim) error {
		inner := c.Context(ctx)
		return s.Update(inner, func(tx core.Tx) error { return core.Mark(inner, tx) })
	}
	first, _, err := hosts["one"].Begin(ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := hosts["two"].Begin(ctx, r, nil); sdk.ReasonOf(err) != "idempotency_in_progress" {
		t.Errorf("while its host lives: %v", err)
	}
	gone = true
	second, _, err := hosts["two"].Begin(ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mark(first); sdk.ReasonOf(err) != "idempotency_taken_over" {
		t.Errorf("the first host writes: %v", err)
	}
	if err := mark(second); err != nil {
		t.Error(err)
	}
	if err := errors.Join(second.End(ctx, Ending{Data: []byte(`"second"`)}), first.End(ctx, Ending{Data: []byte(`"first"`)})); err != nil {
		t.Error(err)
	}
	for owner, k := range hosts {
		if out, err := k.Find(ctx, r); err != nil || string(out.Data) != `"second"` {
			t.Errorf("host %s has the outcome %+v, %v", owner, out, err)
		}
	}
}
