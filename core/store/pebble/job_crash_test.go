package pebble

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
)

// jobsOn are the jobs of a store, in the only process that has it.
func jobsOn(t *testing.T, s core.Store, clock *coretest.Clock) *job.Repository {
	t.Helper()
	jobs, err := job.New(&journal.Writer{Store: s, Clock: clock}, &core.SystemIDs{}, job.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// workJobs queues jobs of three users and works until none is left, each with a step, and
// an effect in the commit of its end.
func workJobs(ctx context.Context, jobs *job.Repository, clock *coretest.Clock) error {
	for i := range 3 {
		for _, typ := range []job.Type{job.Reflection, job.Workflow} {
			q := job.Request{UserID: fmt.Sprint("u", i), Type: typ, Namespace: "n", IdempotencyKey: "k", Payload: []byte(`{"do":"it"}`)}
			if _, err := jobs.Enqueue(ctx, &q); err != nil {
				return err
			}
		}
	}
	// Six jobs have seven starts, and as many again after a crash.
	for range 100 {
		c, err := jobs.Claim(ctx, "h", job.Types())
		if err != nil {
			return err
		}
		if c == nil {
			if due, err := jobs.NextDue(ctx); err != nil || due.IsZero() {
				return err
			}
			clock.Advance(time.Minute)
			continue
		}
		if _, found, err := jobs.Step(ctx, c.Held, "ask"); err != nil {
			return err
		} else if !found {
			if err := jobs.SaveStep(ctx, c.Held, "ask", []byte(`"answer"`), []string{"m"}); err != nil {
				return err
			}
		}
		if c.UserID == "u1" && c.Attempts == 1 {
			if _, err := jobs.Retry(ctx, c.Held, &job.Outcome{Reason: "unavailable"}); err != nil {
				return err
			}
			continue
		}
		err = jobs.Complete(ctx, c.Held, &job.Outcome{Effects: func(tx *journal.Tx) error {
			key := []byte("effect/" + c.ID)
			before, _, err := tx.Get(key)
			if err != nil {
				return err
			}
			return tx.Put(key, append(before, 'x'))
		}})
		if err != nil {
			return err
		}
	}
	list, _, err := jobs.List(ctx, job.ListFilter{})
	return errors.Join(fmt.Errorf("at %s the work hasn't ended after 100 looks: %+v", clock.Now(), list), err)
}

// afterEach is a store that calls fn after each commit that was acknowledged.
type afterEach struct {
	*Store
	fn func()
}

func (s *afterEach) Update(ctx context.Context, fn func(core.Tx) error) error {
	before := s.Commits()
	err := s.Store.Update(ctx, fn)
	if err == nil && s.Commits() != before {
		s.fn()
	}
	return err
}

// TestJobs_CrashAtEveryCommit cuts the power after each commit. The next process finds a
// whole store, takes over what was held, and each job ends once with its effect.
func TestJobs_CrashAtEveryCommit(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	fs := newMemDisk()
	clock := &coretest.Clock{}
	s := openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs)
	crashes := 0
	err := workJobs(t.Context(), jobsOn(t, &afterEach{s, func() {
		if crashes++; crashes%coretest.Heavy(3, 1) > 0 {
			return
		}
		survives(t, openTest(t, Options{Dir: "db"}, fs.CrashClone(vfs.CrashCloneCfg{})), crashes)
	}}, clock), clock)
	if err != nil {
		t.Fatal(err)
	}
	if crashes < 25 {
		t.Errorf("only %d crashes", crashes)
	}
}

// survives lets the next process continue after a crash.
func survives(t *testing.T, s *Store, crash int) {
	t.Helper()
	parts := []core.Checker{journal.Checker{}, job.Checker{}}
	check := func(when string) {
		t.Helper()
		_, err := store.Check(t.Context(), s, parts, func(p core.Problem) { t.Errorf("crash %d, %s: %+v", crash, when, p) })
		if err != nil {
			t.Fatal(err)
		}
	}
	check("found")
	clock := &coretest.Clock{}
	clock.Advance(time.Hour)
	jobs := jobsOn(t, s, clock)
	if _, err := jobs.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := workJobs(t.Context(), jobs, clock); err != nil {
		t.Fatal(err)
	}
	check("worked off")
	listed, _, err := jobs.List(t.Context(), job.ListFilter{})
	if err != nil || len(listed) != 6 {
		t.Fatalf("crash %d: %d jobs, %v", crash, len(listed), err)
	}
	err = s.View(t.Context(), func(r core.Reader) error {
		for _, j := range listed {
			effect, _, err := r.Get([]byte("effect/" + j.ID))
			if err != nil {
				return err
			}
			if j.Status != job.StatusCompleted || string(effect) != "x" {
				t.Errorf("crash %d: job %s is %s, with effect %q", crash, j.ID, j.Status, effect)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
