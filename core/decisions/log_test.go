package decisions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// decided is a decision of the gate whose record is a text.
func decided(text string) decisions.Decision {
	return decisions.Decision{Point: policypoint.Gate, Make: func() (journal.PolicyDecided, []byte, error) {
		return journal.PolicyDecided{File: "gate/a.yaml", Outcome: map[string]any{"verdict": "retain"}}, jsontext.MustEncode(text), nil
	}}
}

func unmade() decisions.Decision {
	return decisions.Decision{Point: policypoint.Gate, Make: func() (journal.PolicyDecided, []byte, error) {
		return journal.PolicyDecided{}, nil, errors.New("can't be encoded")
	}}
}

// records reads all records of a store.
func records(t *testing.T, s core.Store, since time.Time) []string {
	t.Helper()
	var list []string
	for stored, err := range decisions.List(t.Context(), s, "", since) {
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(stored.Value, &text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	return list
}

// entries reads a stream, which must be whole.
func entries(t *testing.T, s core.Store, stream string) []journal.Entry {
	t.Helper()
	var list []journal.Entry
	err := s.View(t.Context(), func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(t.Context(), r); err != nil {
			return err
		}
		return journal.Read(r, stream, func(e journal.Entry) error { list = append(list, e); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestADecisionIsAnEventAndARecord(t *testing.T) {
	s, opened := mem.Open(), make(chan struct{})
	log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}, Ready: opened})
	log.Add(decided("one")) // before the store is open
	if log.Waiting() != 1 {
		t.Errorf("%d wait", log.Waiting())
	}
	close(opened)
	log.Add(decided("two"))
	log.Record(journal.PolicyReloadRefused{Code: "policy_invalid", Problems: 2})
	if err := errors.Join(log.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, records(t, s, time.Time{})); diff != "" {
		t.Error(diff)
	}
	list := entries(t, s, journal.DecisionStream("gate"))
	if len(list) != 2 || list[0].Type != "agent.policy.decision" {
		t.Fatalf("got %+v", list)
	}
	var event journal.PolicyDecided
	if err := json.Unmarshal(list[0].Data, &event); err != nil {
		t.Fatal(err)
	}
	if len(event.ID) != 36 || event.Record != core.Digest([]byte(`"one"`)) || event.File != "gate/a.yaml" || event.Lost != 0 {
		t.Errorf("got %+v", event)
	}
	if strings.Contains(string(list[0].Data), "one") {
		t.Errorf("the event holds content: %s", list[0].Data)
	}
	if list := entries(t, s, journal.PolicyStream); len(list) != 1 || list[0].Type != "agent.policy.reload_refused" {
		t.Errorf("got %+v", list)
	}
}

func TestDecisionsAreWrittenWithinATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
		defer log.Close()
		for round := range 3 {
			time.Sleep(time.Minute)
			log.Add(decided(fmt.Sprint(round)))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if got := records(t, s, time.Time{}); len(got) != round+1 || log.Waiting() != 0 {
				t.Errorf("round %d: %q, %d wait", round, got, log.Waiting())
			}
		}
	})
}

// counting counts the transactions of a store, each of which may take a while.
type counting struct {
	core.Store
	updates int
	err     error
	takes   time.Duration
}

func (c *counting) Update(ctx context.Context, fn func(core.Tx) error) error {
	c.updates++
	time.Sleep(c.takes)
	if c.err != nil {
		return c.err
	}
	return c.Store.Update(ctx, fn)
}

// sink is just enough of a store to count what is written to it.
type sink map[string][]byte

func (k sink) View(context.Context, func(core.Reader) error) error             { return nil }
func (k sink) Update(_ context.Context, fn func(core.Tx) error) error          { return fn(k) }
func (k sink) Get(key []byte) ([]byte, bool, error)                            { v, ok := k[string(key)]; return v, ok, nil }
func (k sink) Scan(_, _ []byte, _ func(key, value []byte) (bool, error)) error { return nil }
func (k sink) Put(key, value []byte) error                                     { k[string(key)] = value; return nil }
func (k sink) Delete([]byte) error                                             { return nil }

// Many decide at once, faster than the store writes: all of it is written, many
// at a time.
func TestNothingIsLostUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := sink{}
		s := &counting{Store: kept, takes: 10 * time.Millisecond}
		log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 1000 {
					log.Add(decided("x"))
				}
			})
		}
		wg.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		// Records, events, the head of the stream, and a mark for each transaction.
		if want := 2*8000 + 1 + s.updates; len(kept) != want {
			t.Errorf("%d keys, not %d", len(kept), want)
		}
		if s.updates < 16 || s.updates > 30 {
			t.Errorf("%d transactions", s.updates)
		}
	})
}

func TestWhatCannotBeWrittenIsCountedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counting{Store: mem.Open(), err: errors.New("disk full")}
		log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
		step := func(d decisions.Decision) {
			log.Add(d)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		step(decided("lost"))
		s.err = nil
		step(unmade())
		step(decided("kept"))
		step(decided("kept too"))
		err := log.Close()
		if sdk.ReasonOf(err) != "decisions_lost" || sdk.AsError(err).Details["count"] != uint64(2) || !strings.Contains(err.Error(), "disk full") || sdk.AsError(err).Hint == "" {
			t.Errorf("got %v", err)
		}
		var told []uint64
		for _, e := range entries(t, s, journal.DecisionStream("gate")) {
			var event journal.PolicyDecided
			if err := json.Unmarshal(e.Data, &event); err != nil {
				t.Fatal(err)
			}
			told = append(told, event.Lost)
		}
		if diff := cmp.Diff([]uint64{2, 0}, told); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALogOfAStoreThatIsNotOpenKeepsDecisions(t *testing.T) {
	s := mem.Open()
	log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}, Ready: make(chan struct{})})
	for range 5000 { // more than are kept, and nobody waits for a place
		log.Add(decided("x"))
	}
	err := log.Close()
	if n := len(records(t, s, time.Time{})); n != 4096 {
		t.Errorf("%d were written", n)
	}
	log.Add(decided("late"))
	if sdk.AsError(err).Details["count"] != uint64(5000-4096) || sdk.AsError(log.Close()).Details["count"] != uint64(5001-4096) {
		t.Errorf("got %v, %v", err, log.Close())
	}
}

func TestADiscardedLogWritesNothing(t *testing.T) {
	s := mem.Open()
	log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}, Ready: make(chan struct{})})
	log.Add(decided("x"))
	log.Discard()
	if n := len(records(t, s, time.Time{})); n != 0 {
		t.Errorf("%d were written", n)
	}
}

func TestReadBeginsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
		log.Add(decided("before"))
		time.Sleep(2 * time.Millisecond)
		since := time.Now()
		log.Add(decided("at once"))
		time.Sleep(2 * time.Millisecond)
		log.Add(decided("after"))
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"at once", "after"}, records(t, s, since)); diff != "" {
			t.Error(diff)
		}
		for range decisions.List(t.Context(), s, "", time.Time{}) {
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range decisions.List(ctx, s, "", time.Time{}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestDecision_HasTheSubjectThatLedToIt: a batch is of many. One that nobody can be loses
// its decision, and no other.
// TestListBack_IsListFromTheEnd, however the records lie in time: many at once, one after years,
// ids without a time, and from an id or a time on.
func TestListBack_IsListFromTheEnd(t *testing.T) {
	s, now := mem.Open(), time.UnixMilli(1_800_000_000_000)
	var ids []string
	add := func(at time.Time, n int) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("%08x-%04x-7000-8000-%012x", at.UnixMilli()>>16, at.UnixMilli()&0xffff, i))
		}
	}
	add(time.UnixMilli(0), 3)
	add(now.AddDate(-3, 0, 0), 1)
	add(now.Add(-time.Minute), 1500)
	for i := range 200 {
		add(now.Add(time.Duration(i-200)*50*time.Millisecond), 1)
	}
	add(now.Add(time.Hour), 1) // by a clock that is ahead
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for _, id := range ids {
			if err := tx.Put([]byte("decision/"+id), []byte(id)); err != nil {
				return err
			}
		}
		return tx.Put([]byte("decision0"), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	for _, c := range []struct {
		before string
		since  time.Time
		want   []string
	}{
		{"", time.Time{}, ids}, {ids[1000], time.Time{}, ids[:1000]}, {ids[0], time.Time{}, nil}, {"", now.Add(-time.Hour), ids[4:]}, {ids[10], now.Add(-time.Hour), ids[4:10]},
		{"decision-of-old", time.Time{}, ids},
	} {
		var got []string
		for one, err := range decisions.ListBack(t.Context(), s, c.before, c.since, now) {
			if err != nil || one.ID != string(one.Value) {
				t.Fatalf("%+v %v", one, err)
			}
			got = append(got, one.ID)
		}
		if slices.Reverse(got); !slices.Equal(got, c.want) {
			t.Errorf("before %q since %s: %d, want %d", c.before, c.since, len(got), len(c.want))
		}
	}
}

func TestDecision_HasTheSubjectThatLedToIt(t *testing.T) {
	s := mem.Open()
	log := decisions.NewLog(decisions.Options{IDs: &core.SystemIDs{}, Writer: &journal.Writer{Store: s}})
	for _, subject := range []string{"", "ada", "a\nb", "bob"} {
		d := decided("of " + subject)
		d.Subject = subject
		log.Add(d)
	}
	if err := log.Close(); sdk.ReasonOf(err) != "decisions_lost" || sdk.AsError(err).Details["count"] != uint64(1) {
		t.Errorf("%v", err)
	}
	var subjects []string
	for _, e := range entries(t, s, journal.DecisionStream("gate")) {
		subjects = append(subjects, e.Subject)
	}
	if diff := cmp.Diff([]string{"", "ada", "bob"}, subjects); diff != "" {
		t.Error(diff)
	}
}
