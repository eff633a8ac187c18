package conversation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestKeyLayout checks the rows of core/store/FORMAT.md.
func TestKeyLayout(t *testing.T) {
	at := int64(258)
	s := &Session{Turn: 1, At: at, Open: []Open{{Turn: 1, At: at}}}
	var keys []string
	for _, list := range []func() ([][]byte, error){
		func() ([][]byte, error) { return sessions.IndexKeys("n\x00s", s) },
		func() ([][]byte, error) { return places.IndexKeys("n\x00d", &Place{At: at}) },
		func() ([][]byte, error) { return messages.IndexKeys("n\x00d", &Message{At: at}) },
		func() ([][]byte, error) { return sessions.IndexKeys("n\x00s", &Session{Turn: 1, At: at, Named: true}) },
	} {
		found, err := list()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range found {
			keys = append(keys, string(key))
		}
	}
	const n = "\x00\x00\x00\x00\x00\x00\x01\x02"
	want := []string{"gateway-waiting/" + n + "/n\x00s", "gateway-session-time/" + n + "/n\x00s", "gateway-place-time/" + n + "/n\x00d", "gateway-message-time/" + n + "/n\x00d"}
	if fmt.Sprintf("%q", keys) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, want %q", keys, want)
	}
	if key("n", "s") != "n\x00s" || sessions.Prefix != "gateway-session/" || places.Prefix != "gateway-place/" || messages.Prefix != "gateway-message/" {
		t.Error("the keys of records have changed")
	}
}

// watched calls a function within each view, and another after each commit.
type watched struct {
	core.Store
	viewed, committed func()
}

func (w *watched) View(ctx context.Context, fn func(core.Reader) error) error {
	return w.Store.View(ctx, func(r core.Reader) error { w.viewed(); return fn(r) })
}

func (w *watched) Update(ctx context.Context, fn func(core.Tx) error) error {
	err := w.Store.Update(ctx, fn)
	w.committed()
	return err
}

// TestLog_ReadersSeeWhatIsCommittedMeanwhile: a record that waits when a reader begins doesn't vanish
// for it.
func TestLog_ReadersSeeWhatIsCommittedMeanwhile(t *testing.T) {
	done, ended := make(chan struct{}), make(chan error, 1)
	store := &watched{Store: mem.Open(), committed: func() { close(done) }}
	l := &Log{Store: store, Clock: &coretest.Clock{}}
	store.viewed = func() {
		go func() { ended <- l.Commit(t.Context()) }()
		<-done
	}
	if err := l.PutPlace("n", "d", &Place{Session: "s", Turn: 1, At: 1}); err != nil {
		t.Fatal(err)
	}
	err := l.View(t.Context(), func(r *Reader) error {
		p, err := r.Place("n", "d")
		if p == nil {
			t.Error("the place is gone")
		}
		return err
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestLog_ARunThatIsWrongIsLeftOut, and the others are written.
func TestLog_ARunThatIsWrongIsLeftOut(t *testing.T) {
	l := &Log{Store: mem.Open(), Clock: &coretest.Clock{}}
	var did []string
	step := func(run string, err error) Step {
		return Step{Run: run, Do: func(tx core.Tx) error {
			if err != nil {
				return err
			}
			did = append(did, run)
			return tx.Put([]byte("x/"+run), nil)
		}}
	}
	wrong := sdk.Errorf(sdk.Invalid, "too_large", "it is too large")
	if err := l.Add(step("a", nil), step("b", wrong), step("b", nil), step("c", nil)); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context()); !errors.Is(err, wrong) || l.Failure() != nil {
		t.Errorf("%v, failure %v", err, l.Failure())
	}
	var keys []string
	err := l.Store.View(t.Context(), func(r core.Reader) (err error) {
		keys, err = core.Suffixes(r, []byte("x/"), 10)
		return err
	})
	if fmt.Sprint(keys) != "[a c]" || err != nil {
		t.Errorf("%v %v, after %v", keys, err, did)
	}
	if err := l.Commit(t.Context()); err != nil {
		t.Errorf("the next commit: %v", err)
	}
}

// TestLog_IsBounded: what waits for a store that can't write is refused at some point.
func TestLog_IsBounded(t *testing.T) {
	l := &Log{Store: mem.Open(), Clock: &coretest.Clock{}}
	s := Step{Run: "a", Size: maxWaiting/2 + 1, Do: func(core.Tx) error { return nil }}
	if err := errors.Join(l.Add(s), l.Add(s)); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(s); sdk.ReasonOf(err) != "log_full" {
		t.Errorf("%v", err)
	}
	if err := errors.Join(l.Commit(t.Context()), l.Add(s)); err != nil {
		t.Error(err)
	}
}

// TestLog_EndsWhatIsOld: places and sessions without a name after 30 days, messages with the runs.
func TestLog_EndsWhatIsOld(t *testing.T) {
	clock := &coretest.Clock{}
	l := &Log{Store: mem.Open(), Clock: clock, KeepRuns: 40 * 24 * time.Hour}
	counts := func() (n [4]int) {
		err := l.Store.View(t.Context(), func(r core.Reader) error {
			for i, prefix := range []string{sessionPrefix, placePrefix, messagePrefix, "gateway-"} {
				list, err := core.Suffixes(r, []byte(prefix), 1000)
				if n[i] = len(list); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	now := clock.Now().UnixNano()
	for i := range 40 {
		d := fmt.Sprint("d", i)
		if err := errors.Join(
			l.PutSession("n", d, &Session{Turn: 1, At: now, Named: i < 5}), l.PutPlace("n", d, &Place{Session: d, Turn: 1, At: now}),
			l.AddMessages(t.Context(), "n", []string{d}, []Message{{Role: "user", Body: []byte(`"hi"`)}}),
		); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  [3]int
	}{{0, [3]int{40, 40, 40}}, {29 * 24 * time.Hour, [3]int{40, 40, 40}}, {2 * 24 * time.Hour, [3]int{5, 0, 40}}, {11 * 24 * time.Hour, [3]int{5, 0, 0}}} {
		clock.Advance(c.after)
		for n := range 4 { // each commit removes some
			if err := errors.Join(l.Add(Step{Run: fmt.Sprint(n), Do: func(core.Tx) error { return nil }}), l.Commit(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if n := counts(); [3]int(n[:3]) != c.want {
			t.Errorf("after %s there are %v, want %v", c.after, n, c.want)
		}
	}
	if n := counts(); n[3] != 5 {
		t.Errorf("%d keys are left of 5 sessions", n[3])
	}
}
