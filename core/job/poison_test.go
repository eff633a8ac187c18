package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestTakeOver_CountsEndsWithoutACommit: an end of the process counts against a job only if the job
// committed nothing since its start.
func TestTakeOver_CountsEndsWithoutACommit(t *testing.T) {
	progress := func(b *board, c *job.Claimed, kill int) { must(b.t, b.Progress(b.t.Context(), c.Held, .5)) }
	step := func(b *board, c *job.Claimed, kill int) {
		must(b.t, b.SaveStep(b.t.Context(), c.Held, fmt.Sprintf("s%d", kill), json.RawMessage(`1`), nil))
	}
	run := func(b *board, c *job.Claimed, kill int) { b.put("run", fmt.Sprint(kill)) }
	only := func(does func(*board, *job.Claimed, int), kills ...int) func(*board, *job.Claimed, int) {
		return func(b *board, c *job.Claimed, kill int) {
			for _, one := range kills {
				if one == kill {
					does(b, c, kill)
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		typ      job.Type
		crashes  int
		between  func(b *board, c *job.Claimed, kill int)
		poisoned int // the kill that ends the job; 0 is none of 30
	}{
		"nothing":                     {typ: job.Dream, between: func(*board, *job.Claimed, int) {}, poisoned: 3},
		"nothing, of a run":           {typ: job.Workflow, between: func(*board, *job.Claimed, int) {}, poisoned: 3},
		"progress":                    {typ: job.Reembed, between: progress},
		"a step":                      {typ: job.Reflection, between: step},
		"a step of a run":             {typ: job.Workflow, between: step},
		"what a run records":          {typ: job.Workflow, between: run},
		"a run's progress alone":      {typ: job.Workflow, between: progress, poisoned: 3},
		"the first time":              {typ: job.Dream, between: only(step, 1), poisoned: 4},
		"a run, the first time":       {typ: job.Workflow, between: only(run, 1), poisoned: 4},
		"each second time":            {typ: job.Workflow, between: only(run, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)},
		"each third time is too late": {typ: job.Workflow, between: only(run, 4, 7), poisoned: 3},
		"the third time, then never":  {typ: job.Workflow, between: only(run, 3), poisoned: 6},
		"one end is enough":           {typ: job.Dream, crashes: 1, between: func(*board, *job.Claimed, int) {}, poisoned: 1},
		"five ends":                   {typ: job.Dream, crashes: 5, between: only(step, 4), poisoned: 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, job.Options{Crashes: tt.crashes, Mark: markIn("run")})
			id := b.add("u", tt.typ, "n")
			for kill := 1; kill <= 30; kill++ {
				c := b.claims("h")
				tt.between(b, c, kill)
				_, err := b.TakeOver(t.Context(), "h")
				must(t, err)
				if kill == tt.poisoned {
					b.wantStatus(id, job.StatusFailed, job.Poisoned)
					break
				}
				j := b.wantStatus(id, job.StatusQueued, job.ProcessEnded)
				if j.NotBefore != nil || j.Attempts != 0 {
					t.Fatalf("after kill %d it waits until %v, with %d attempts", kill, j.NotBefore, j.Attempts)
				}
			}
			b.sound()
		})
	}
}

// markIn is a mark that is stored at a key, after the job's own payload.
func markIn(key string) func(core.Reader, json.RawMessage) (string, error) {
	return func(r core.Reader, payload json.RawMessage) (string, error) {
		value, _, err := r.Get([]byte(key + string(payload)))
		return string(value), err
	}
}

// put writes what a job's work commits.
func (b *board) put(key, value string) {
	b.t.Helper()
	must(b.t, b.store.Update(b.t.Context(), func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }))
}

// TestPool_PoisonEndsAlone: of twelve runs that make progress, and one that ends the process each time
// it is started, only that one fails, whatever runs next to it. Thirty processes are killed in all.
func TestPool_PoisonEndsAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const poison, kills = 4, 30
		s, o := mem.Open(), job.Options{Exclusive: true, Mark: markIn("run")}
		first := newCrew(t, s, o)
		var runs []string
		for i := range 13 {
			made, err := first.Enqueue(t.Context(), &job.Request{
				UserID: "u", Type: job.Workflow, Namespace: "n", IdempotencyKey: fmt.Sprint(i), Payload: json.RawMessage(fmt.Sprint(i)),
			})
			must(t, err)
			runs = append(runs, made.ID)
		}
		for range kills {
			killedHost(t, s, o, fmt.Sprint(poison))
		}
		first.wantStatus(runs[poison], "failed "+job.Poisoned)
		last := newCrew(t, s, o)
		_, err := last.pool(job.PoolOptions{Handlers: handle(steady(s))}).RunUntilIdle(t.Context())
		must(t, err)
		for i, id := range runs {
			if i != poison {
				first.wantStatus(id, "completed done")
			}
		}
		first.sound()
	})
}

// steady is a run of fifty parts, each of which takes ten seconds and is recorded.
func steady(s core.Store) job.HandlerFunc {
	return func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		mark := markIn("run")
		for {
			var done string
			err := s.View(ctx, func(r core.Reader) (err error) { done, err = mark(r, j.Payload); return err })
			if len(done) == 50 || err != nil {
				return nil, err
			}
			if err := sleep(ctx, 10*time.Second); err != nil {
				return nil, err
			}
			err = s.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte("run"+string(j.Payload)), []byte(done+".")) })
			if err != nil {
				return nil, err
			}
		}
	}
}

// killedHost is a process that is killed after 25 s, or as soon as it starts the poisonous job.
func killedHost(t *testing.T, s core.Store, o job.Options, poison string) {
	t.Helper()
	stuck := &stuckStore{Store: s}
	c := newCrew(t, stuck, o)
	kill, killed := context.WithTimeout(t.Context(), 25*time.Second)
	work := steady(stuck)
	p := c.pool(job.PoolOptions{Grace: time.Nanosecond, Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		if string(j.Payload) == poison {
			killed()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return work(ctx, j)
	})})
	must(t, p.Start(t.Context()))
	<-kill.Done()
	stuck.stop(true)
	_ = p.Stop(t.Context()) // which can't write anything
}
