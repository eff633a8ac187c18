package share_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/share"
)

// TestTake_IsFair follows who has places. A step is a tenant and a number: a request, or,
// below 0, one of its places that it gives back.
func TestTake_IsFair(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  share.Options
		steps    string
		want     string // who was given places, in this order
		waiting  int
		leftover int64
	}{
		{"alone it has all", share.Options{Places: 4}, "a a a a", "a a a a", 0, 4},
		{"a further one waits", share.Options{Places: 2}, "a a b", "a a", 1, 2},
		{"what becomes free goes to who waits, not to who has", share.Options{Places: 2}, "a a a b -a", "a a b", 1, 2},
		{"no more than half while another waits", share.Options{Places: 4}, "a a a a a b -a -a -a", "a a a a b a", 0, 3},
		{"tenants take turns, whatever they queued", share.Options{Places: 1}, "x a a a a b c -x -a -b -c -a -a", "x a b c a a a", 0, 1},
		{"a limit of each holds alone", share.Options{Places: 4, Each: 2}, "a a a a b", "a a b", 2, 3},
		{"who is at its limit isn't in the way", share.Options{Places: 4, Each: 2}, "a a a b b b", "a a b b", 2, 4},
		{"a large one isn't starved by small ones", share.Options{Places: 4}, "a a a b2 c c -a -a", "a a a b2 c", 1, 4},
		{"a request above all gets all", share.Options{Places: 4}, "a9 b -a9", "a9 b", 0, 1},
		{"two tenants share", share.Options{Places: 2}, "a b a b -a -b", "a b a b", 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				s, had, waiting := share.New(c.options), []string{}, 0
				given, dones := make(chan string, 64), map[string][]func(){}
				back := make(chan func(), 64)
				settle := func() {
					synctest.Wait()
					for len(given) > 0 {
						name := <-given
						had, waiting = append(had, name), waiting-1
						dones[name] = append(dones[name], <-back)
					}
				}
				for step := range strings.FieldsSeq(c.steps) {
					if name, gives := strings.CutPrefix(step, "-"); gives {
						dones[name][0]()
						dones[name] = dones[name][1:]
						settle()
						continue
					}
					n := int64(1)
					_, _ = fmt.Sscanf(step[1:], "%d", &n) // without a number it is 1
					waiting++
					go func() {
						done, err := s.Take(ctx, step[:1], n)
						if err == nil {
							back <- done
							given <- step
						}
					}()
					settle()
				}
				if got := strings.Join(had, " "); got != c.want || waiting != c.waiting || s.Taken() != c.leftover {
					t.Errorf("given to %q, %d wait, %d are taken; want %q, %d, %d", got, waiting, s.Taken(), c.want, c.waiting, c.leftover)
				}
				stop()
				synctest.Wait()
				for _, list := range dones {
					for _, done := range list {
						done()
						done() // twice is once
					}
				}
				if s.Taken() != 0 {
					t.Errorf("%d are taken at the end", s.Taken())
				}
			})
		})
	}
}

// TestTake_Lasts: what a tenant may have depends on who else had places lately.
func TestTake_Lasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share.New(share.Options{Places: 4, Lasts: time.Minute})
		free := func(name string) bool {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			given := make(chan bool, 1)
			go func() {
				_, err := s.Take(ctx, name, 1)
				given <- err == nil
			}()
			synctest.Wait()
			stop()
			return <-given
		}
		done, err := s.Take(t.Context(), "b", 1)
		if err != nil || !free("a") || !free("a") || free("a") {
			t.Errorf("a has other than half: %v", err)
		}
		done()
		time.Sleep(time.Minute - 1)
		if free("a") {
			t.Error("a has more than half while b's claim lasts")
		}
		time.Sleep(time.Nanosecond)
		if !free("a") {
			t.Error("a doesn't get more than half once b's claim has ended")
		}
		s.Resize(8)
		more := 0
		for free("a") {
			more++
		}
		if more != 5 {
			t.Errorf("a gets %d of the 5 that are free", more)
		}
		s.Resize(2)
		if free("c") || s.Taken() != 8 {
			t.Errorf("%d are taken of 2", s.Taken())
		}
	})
}

// TestHold_TakesBack follows who loses places. A step is a holder that comes, "?" before a
// stranger, "!" after one that is in use; "x=a" makes the stranger x known as a.
func TestHold_TakesBack(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		places      int64
		lost        string // in this order; with "refused" for a holder that got nothing
	}{
		{"alone a tenant has all", "a a a a a", 4, "refused"},
		{"another one takes what is above half", "a a a a b b b", 4, "a a refused"},
		{"a tenant with half keeps it", "a a b b c", 4, "refused"},
		{"strangers yield first, the oldest first", "a a ?x ?y b b b", 4, "x y refused"},
		{"strangers of one origin have half", "?x ?x ?x ?x", 4, "x x"},
		{"what is in use isn't lost", "?x! ?x! ?x", 4, "refused"},
		{"a stranger takes from strangers", "a a ?x ?y ?z", 4, "x"},
		{"who is known isn't a stranger", "?x x=a ?x x=a ?x x=a ?x x=a ?x", 4, "a"},
		{"many known ones yield to another tenant", "?x x=a ?x x=a ?x x=a ?x x=a b", 4, "a"},
		{"one place only", "a b ?x", 1, "refused refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := share.New(share.Options{Places: c.places})
			var lost []string
			var places []*share.Slot
			var names []*string
			for step := range strings.FieldsSeq(c.steps) {
				if from, to, is := strings.Cut(step, "="); is {
					i := len(names) - 1
					for *names[i] != from {
						i--
					}
					*names[i] = to
					places[i].Known(to)
					continue
				}
				name, stranger := strings.CutPrefix(step, "?")
				name, used := strings.CutSuffix(name, "!")
				p := s.Hold(name, stranger, func() bool {
					if !used {
						lost = append(lost, name)
					}
					return !used
				})
				if p == nil {
					lost = append(lost, "refused")
					continue
				}
				places, names = append(places, p), append(names, &name)
			}
			if got := strings.Join(lost, " "); got != c.lost {
				t.Errorf("lost by %q, want %q", got, c.lost)
			}
			for _, p := range slices.Backward(places) {
				p.Free()
				p.Free()
			}
			if s.Taken() != 0 {
				t.Errorf("%d are taken at the end", s.Taken())
			}
		})
	}
}

// TestTakeFor_UsersTakeTurns: within a tenant, the next place goes to the user with the fewest requests;
// between tenants, users don't count.
func TestTakeFor_UsersTakeTurns(t *testing.T) {
	for _, c := range []struct{ name, asks, want string }{
		{"in the order in which they came", "t/a t/a t/a", "t/a t/a t/a"},
		{"one with one request after one with many", "t/a t/a t/a t/a t/b", "t/a t/b t/a t/a t/a"},
		{"in turn", "t/a t/a t/a t/b t/b t/c", "t/a t/b t/c t/a t/b t/a"},
		{"by what they have already", "t/b t/a t/b t/a", "t/b t/a t/b t/a"},
		{"tenants come first", "t/a t/a t/b t/c u/a u/a", "t/a t/b u/a t/c u/a t/a"},
		{"the same name in another tenant is another user", "t/a t/a u/b t/b u/a", "t/a t/b u/b t/a u/a"},
		{"no user", "t/ t/ t/a", "t/ t/a t/"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, given, free := share.New(share.Options{Places: 1}), make(chan string, 64), make(chan func(), 64)
			for ask := range strings.FieldsSeq(c.asks) {
				go func() {
					tenant, user, _ := strings.Cut(ask, "/")
					done, err := s.TakeFor(t.Context(), tenant, user, 1)
					if err != nil {
						t.Error(err)
						return
					}
					given <- ask
					free <- done
				}()
				synctest.Wait()
			}
			var got []string
			for range strings.Fields(c.asks) {
				got = append(got, <-given)
				(<-free)()
				synctest.Wait()
			}
			if strings.Join(got, " ") != c.want || s.Taken() != 0 {
				t.Errorf("%s: %q; want %q", c.name, got, c.want)
			}
		})
	}
}

// TestTakeFor_WhoGivesUp no longer counts.
func TestTakeFor_WhoGivesUp(t *testing.T) {
	s := share.New(share.Options{Places: 1})
	held, err := s.TakeFor(t.Context(), "t", "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	for range 3 {
		if _, err := s.TakeFor(gone, "t", "a", 1); err == nil {
			t.Fatal("it was given a place that isn't there")
		}
	}
	held()
	if done, err := s.TakeFor(t.Context(), "t", "a", 1); err != nil {
		t.Error(err)
	} else {
		done()
	}
	if s.Taken() != 0 || s.Waiting() != 0 {
		t.Errorf("%d taken, %d wait", s.Taken(), s.Waiting())
	}
}
