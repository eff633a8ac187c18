package operation_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/sdk"
)

// TestSession_ParallelTurnsAreNumberedInTheirCommits: callers that share a session and name no turn
// get contexts and recalls, give feedback, and meanwhile the session is reset and resumed. None of
// them is refused, and the turns' numbers have no gap and no repeat.
func TestSession_ParallelTurnsAreNumberedInTheirCommits(t *testing.T) {
	callers, turns := coretest.Heavy(16, 64), coretest.Heavy(8, 200)
	type engine struct {
		name string
		open func(t *testing.T) core.Store
	}
	engines := []engine{
		{"mem", func(*testing.T) core.Store { return mem.Open() }},
		{"pebble", func(t *testing.T) core.Store {
			s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}},
	}
	if postgrestest.Wanted() {
		engines = append(engines, engine{"postgres", func(t *testing.T) core.Store { return database.Open(t) }})
	}
	for _, c := range engines {
		t.Run(c.name, func(t *testing.T) {
			w := operationtest.NewOn(t, c.open(t))
			observed(w, "m", here)
			p := &parallel{world: w, me: subject("me"), seen: map[int64]int{}}
			w.Must(p.turn(0)) // the session has a window to go back to
			var calls sync.WaitGroup
			for n := range callers {
				calls.Go(func() {
					for i := range turns {
						p.report(p.turn(n + i))
						if (n+i)%8 == 0 {
							p.report(p.enter(n + i))
						}
					}
				})
			}
			calls.Wait()
			last := slices.Max(slices.Collect(maps.Keys(p.seen)))
			for n, callers := range p.seen {
				if callers != 1 {
					t.Errorf("%d callers got turn %d", callers, n)
				}
			}
			if gaps := last - int64(len(p.seen)); len(p.seen) != callers*turns+1 || gaps < 0 || gaps > p.unknown {
				t.Errorf("%d turns have %d numbers up to %d, and %d calls timed out", callers*turns+1, len(p.seen), last, p.unknown)
			}
			sound(w)
		})
	}
}

// parallel are the callers of a session.
type parallel struct {
	*world
	me core.Caller

	windows atomic.Int64

	mu       sync.Mutex
	seen     map[int64]int
	failures int
	// unknown are the calls that a busy machine didn't answer in time: each may have begun a
	// turn that nobody got.
	unknown int64
}

// enter resets the session, or resumes one of its windows.
func (p *parallel) enter(n int) error {
	if n%16 == 0 {
		return p.do("session_reset", &operation.SessionReset{Session: "s"}, func(any) { p.windows.Add(1) })
	}
	return p.do("session_resume", &operation.SessionResume{Session: "s", Window: 1 + int64(n)%max(p.windows.Load(), 1)}, nil)
}

// report reports an error of a caller; the first few say enough.
func (p *parallel) report(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures++; p.failures <= 5 {
		p.T.Error(err)
	}
}

func (p *parallel) do(name string, in any, out func(any)) error {
	for {
		result, err := p.Do(p.me, name, in)
		if sdk.CodeOf(err) == sdk.Timeout {
			p.mu.Lock()
			p.unknown++
			p.mu.Unlock()
			continue
		}
		if err == nil && out != nil {
			out(result)
		}
		return err
	}
}

// turn is one turn that the host numbers: every fourth a recall alone, the others a context.
func (p *parallel) turn(n int) error {
	var turn int64
	var err error
	duplicate := false
	if n%4 == 3 {
		err = p.do("memory_recall", &core.RecallRequest{Session: "s", Query: "harbour"}, func(out any) { turn = out.(*operation.Recalled).Turn })
	} else {
		in := &inject.BuildRequest{Namespace: here, Session: "s", Query: "harbour"}
		err = p.do("snapshot_build", in, func(out any) { turn, duplicate = out.(*inject.Built).TurnID, out.(*inject.Built).Duplicate })
	}
	if err == nil && duplicate {
		err = errors.New("a new turn has a context already")
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.seen[turn]++
	p.mu.Unlock()
	return p.do("memory_feedback", &core.FeedbackRequest{
		Session: "s", Turn: turn, Outcome: core.OutcomeSuccess, Summary: fmt.Sprint("It was turn ", turn, "."), NextTurnHint: fmt.Sprint("after ", turn),
	}, nil)
}
