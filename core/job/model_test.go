package job_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store"
)

// The model knows the rules, and not how they are implemented: it is a list of jobs. It
// doesn't say which job goes next, but which may, and the starts are checked to be fair.

// modelJob is what the model knows of a job.
type modelJob struct {
	id, user, queue, key string
	shard                string // "" where jobs aren't divided
	typ                  job.Type
	status               job.Status
	attempts, snoozes    int
	crashes              int
	epoch                uint64
	holder               string
	progress             float64
	asked                bool
	// notBefore is until when it waits, and wait for how long it was postponed.
	notBefore time.Time
	wait      time.Duration
}

func (j *modelJob) ended() bool { return j.status.Terminal() }

type model struct {
	*board
	t    *rapid.T
	jobs []*modelJob // in the order of queueing
	// starts are the queues that were served, in order.
	starts []string
	// divided is whether jobs are in shards. Then the order holds within each.
	divided bool
}

var (
	modelUsers   = []string{"a", "b", "c", job.SystemUser}
	modelTypes   = []job.Type{job.Reflection, job.Dream, job.Workflow}
	modelHolders = []string{"h1", "h2"}
)

// limits are small, so that they are met.
var modelOptions = job.Options{QueuePerUser: 3, QueueTotal: 9, WorkflowsPerUser: 2}

func TestJobs_KeepTheRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{board: newBoard(t, modelOptions), t: rt, divided: rapid.Bool().Draw(rt, "divided")}
		if m.divided {
			o := modelOptions
			o.QueueTotal = 0 // of other shards it is known about only
			m.restart(o)
			must(t, m.Divide(t.Context()))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue":  m.enqueue,
			"claim":    m.claimNext,
			"claim2":   m.claimNext, // as often as jobs come
			"progress": m.progressed,
			"complete": func(t *rapid.T) { m.finish(t, job.StatusCompleted) },
			"fail":     func(t *rapid.T) { m.finish(t, job.StatusFailed) },
			"retry":    m.retry,
			"snooze":   m.snooze,
			"release":  m.release,
			"cancel":   m.cancel,
			"stale":    m.stale,
			"crash":    m.crash,
			"advance":  m.advance,
			"jumpBack": m.jumpBack,
			"":         m.compare,
		})
		m.sound()
		before := dump(t, m.store)
		must(t, store.Rebuild(t.Context(), m.store, parts()))
		if diff := cmp.Diff(before, dump(t, m.store)); diff != "" {
			rt.Fatalf("what follows from the jobs isn't what a rebuild makes (-kept +rebuilt):\n%s", diff)
		}
	})
}

// which draws a job that fits; nil if none does.
func (m *model) which(t *rapid.T, fits func(*modelJob) bool) *modelJob {
	var list []*modelJob
	for _, j := range m.jobs {
		if fits(j) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(t, "job")
}

func running(j *modelJob) bool { return j.status == job.StatusRunning }

func (j *modelJob) lease() job.Lease { return job.Lease{JobID: j.id, Holder: j.holder, Epoch: j.epoch} }

func (m *model) count(fits func(*modelJob) bool) (n int) {
	for _, j := range m.jobs {
		if fits(j) {
			n++
		}
	}
	return n
}

func (m *model) enqueue(t *rapid.T) {
	user, typ := rapid.SampledFrom(modelUsers).Draw(t, "user"), rapid.SampledFrom(modelTypes).Draw(t, "type")
	namespace := rapid.SampledFrom([]string{"n/1", "n/2"}).Draw(t, "namespace")
	q := job.Request{UserID: user, Type: typ, Namespace: namespace}
	j := &modelJob{user: user, typ: typ, status: job.StatusQueued, queue: user, key: fmt.Sprintf("%s %s %s", user, typ, namespace)}
	switch {
	case typ == job.Workflow:
		q.IdempotencyKey = rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key")
		j.key += " " + q.IdempotencyKey
		j.queue = j.key
	case user == job.SystemUser:
		j.queue = user + " " + namespace
	}
	if m.divided {
		name := user
		if typ != job.Workflow && user == job.SystemUser {
			name += "/" + namespace
		}
		j.shard = job.ShardFor(name)
	}
	if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
		j.wait = 7 * time.Second
		j.notBefore = m.clock.Now().Add(j.wait)
		q.NotBefore = j.notBefore
	}
	made, err := m.Enqueue(m.board.t.Context(), &q)
	same := slices.IndexFunc(m.jobs, func(o *modelJob) bool { return o.key == j.key && (typ == job.Workflow || !o.ended()) })
	waits := func(o *modelJob) bool { return o.status == job.StatusQueued }
	full := !m.divided && m.count(waits) >= 9
	if typ == job.Workflow {
		full = full || m.count(func(o *modelJob) bool { return waits(o) && o.typ == typ && o.user == user }) >= 2
	} else {
		full = full || m.count(func(o *modelJob) bool { return waits(o) && o.queue == j.queue }) >= 3
	}
	switch {
	case same >= 0:
		if err != nil || made.Made || made.ID != m.jobs[same].id {
			t.Fatalf("there is %s: %+v, %v", m.jobs[same].id, made, err)
		}
	case full:
		wantReason(m.board.t, err, job.QueueFull)
	case err != nil || !made.Made:
		t.Fatalf("no job is made: %+v, %v", made, err)
	default:
		j.id = made.ID
		m.jobs = append(m.jobs, j)
	}
}

// due ends the wait of the first jobs of the model's queues whose time has come, or is
// further away than they were postponed, because the clock went back.
func (m *model) due() {
	seen := map[string]bool{}
	for _, j := range m.jobs {
		if j.ended() || seen[j.queue] {
			continue
		}
		seen[j.queue] = true
		if left := j.notBefore.Sub(m.clock.Now()); left <= 0 || left > j.wait+time.Second {
			j.notBefore = time.Time{}
		}
	}
}

// mayRun are the jobs of which one may be started: of each queue that nothing of runs the
// first, unless that waits.
func (m *model) mayRun(workflows bool) (list []*modelJob) {
	seen := map[string]bool{}
	for _, j := range m.jobs {
		if running(j) {
			seen[j.queue] = true
		}
	}
	for _, j := range m.jobs {
		flow := j.typ == job.Workflow // each user's is in turn, whatever was queued before
		if j.status != job.StatusQueued || seen[j.queue] && !flow {
			continue
		}
		seen[j.queue] = seen[j.queue] || !flow
		if j.notBefore.IsZero() && (j.typ == job.Workflow) == workflows {
			list = append(list, j)
		}
	}
	return list
}

func (m *model) claimNext(t *rapid.T) {
	m.due()
	holder := rapid.SampledFrom(modelHolders).Draw(t, "holder")
	others := m.mayRun(false)
	may := slices.Clone(others)
	for _, flow := range m.mayRun(true) { // in turn by user, after the others of the shard
		if !slices.ContainsFunc(others, func(j *modelJob) bool { return j.shard == flow.shard }) {
			may = append(may, flow)
		}
	}
	c, err := m.Claim(m.board.t.Context(), holder, job.Types())
	must(m.board.t, err)
	if c == nil {
		if len(may) > 0 {
			t.Fatalf("job %s may run, and none is started", may[0].id)
		}
		return
	}
	at := slices.IndexFunc(may, func(j *modelJob) bool { return j.id == c.ID })
	if at < 0 {
		t.Fatalf("job %s is started, which may not run", c.ID)
	}
	j := may[at]
	if j.typ != job.Workflow {
		m.fair(t, j, may)
		m.starts = append(m.starts, j.queue)
	}
	j.status, j.holder, j.progress = job.StatusRunning, holder, 0
	j.epoch++
	j.attempts++
	if c.Held != j.lease() {
		t.Fatalf("the lease is %+v, want %+v", c.Held, j.lease())
	}
}

// fair checks that between two starts for one queue every other queue that may run starts
// one.
func (m *model) fair(t *rapid.T, started *modelJob, may []*modelJob) {
	last, queue := -1, started.queue
	for i, served := range m.starts {
		if served == queue {
			last = i
		}
	}
	if last < 0 {
		return
	}
	for _, other := range may {
		if other.queue != queue && other.shard == started.shard && other.typ != job.Workflow && !slices.Contains(m.starts[last+1:], other.queue) {
			t.Fatalf("%s starts again, before %s", queue, other.queue)
		}
	}
}

func (m *model) progressed(t *rapid.T) {
	j := m.which(t, running)
	if j == nil {
		return
	}
	must(m.board.t, m.Progress(m.board.t.Context(), j.lease(), rapid.Float64Range(0, 1).Draw(t, "progress")))
	now := m.get(j.id).Progress
	if now < j.progress {
		t.Fatalf("progress fell from %v to %v", j.progress, now)
	}
	j.progress = now
}

// stop takes a running job of the model out of that.
func (j *modelJob) stop(status job.Status) {
	if j.status, j.holder = status, ""; status == job.StatusQueued {
		j.progress = 0
	}
}

// putOff postpones a job of the model.
func (m *model) putOff(j *modelJob, wait time.Duration) {
	j.stop(job.StatusQueued)
	j.wait, j.notBefore = wait, m.clock.Now().Add(wait)
}

func (m *model) finish(t *rapid.T, status job.Status) {
	j := m.which(t, running)
	if j == nil {
		return
	}
	end := m.Complete
	if status == job.StatusFailed {
		end = m.Fail
	}
	must(m.board.t, end(m.board.t.Context(), j.lease(), &job.Outcome{}))
	j.stop(status)
}

func (m *model) retry(t *rapid.T) {
	j := m.which(t, running)
	if j == nil {
		return
	}
	again, err := m.Retry(m.board.t.Context(), j.lease(), &job.Outcome{Reason: "r"})
	must(m.board.t, err)
	m.after(t, j, again, !j.asked && j.attempts < 3, 5*time.Second<<(2*(j.attempts-1)))
}

func (m *model) snooze(t *rapid.T) {
	j := m.which(t, running)
	if j == nil {
		return
	}
	again, err := m.Snooze(m.board.t.Context(), j.lease(), time.Minute, &job.Outcome{Reason: "s"})
	must(m.board.t, err)
	wait, want := time.Minute, !j.asked
	if j.snoozes >= 10 {
		wait, want = max(wait, 5*time.Second<<(2*(j.attempts-1))), want && j.attempts < 3
	} else if want {
		j.snoozes++
		j.attempts--
	}
	m.after(t, j, again, want, wait)
}

// after is the state of a job whose attempt failed.
func (m *model) after(t *rapid.T, j *modelJob, again, want bool, wait time.Duration) {
	switch {
	case again != want:
		t.Fatalf("job %s is tried again: %t, want %t", j.id, again, want)
	case again:
		m.putOff(j, wait)
	case j.asked:
		j.stop(job.StatusCancelled)
	default:
		j.stop(job.StatusFailed)
	}
}

func (m *model) release(t *rapid.T) {
	j := m.which(t, running)
	if j == nil {
		return
	}
	must(m.board.t, m.Release(m.board.t.Context(), j.lease()))
	if j.asked {
		j.stop(job.StatusCancelled)
		return
	}
	j.attempts--
	j.stop(job.StatusQueued)
}

func (m *model) cancel(t *rapid.T) {
	j := m.which(t, func(*modelJob) bool { return true })
	if j == nil {
		return
	}
	done, err := m.Cancel(m.board.t.Context(), j.id, "")
	must(m.board.t, err)
	want := !j.ended() && !j.asked
	switch {
	case done.Changed != want:
		t.Fatalf("cancelling a job that is %s changed something: %t", j.status, done.Changed)
	case j.status == job.StatusQueued:
		j.stop(job.StatusCancelled)
	case running(j):
		j.asked = true
	}
}

// stale writes as a worker whose lease is over.
func (m *model) stale(t *rapid.T) {
	j := m.which(t, func(j *modelJob) bool { return j.epoch > 1 || j.epoch == 1 && !running(j) })
	if j == nil {
		return
	}
	old := job.Lease{JobID: j.id, Holder: rapid.SampledFrom(modelHolders).Draw(t, "holder"), Epoch: j.epoch}
	if running(j) {
		old.Epoch--
	}
	wantReason(m.board.t, m.Complete(m.board.t.Context(), old, &job.Outcome{}), job.LeaseLost)
	wantReason(m.board.t, m.Progress(m.board.t.Context(), old, 1), job.LeaseLost)
}

// crash ends a process, and another takes its jobs over.
func (m *model) crash(t *rapid.T) {
	holder := rapid.SampledFrom(modelHolders).Draw(t, "holder")
	m.restart(modelOptions)
	n, err := m.TakeOver(m.board.t.Context(), holder)
	must(m.board.t, err)
	lost := 0
	for _, j := range m.jobs {
		if !running(j) || j.holder != holder {
			continue
		}
		lost++
		if j.crashes++; j.typ.Queued() && j.progress > 0 {
			j.crashes = 0
		}
		switch {
		case j.asked:
			j.stop(job.StatusCancelled)
		case j.crashes >= 3:
			j.stop(job.StatusFailed)
		default:
			j.attempts--
			j.stop(job.StatusQueued)
		}
	}
	if n != lost {
		t.Fatalf("%d jobs were taken over, want %d", n, lost)
	}
}

func (m *model) advance(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
}

// jumpBack sets the clock back. A job that then waits for longer than it was postponed may
// run as soon as somebody looks.
func (m *model) jumpBack(t *rapid.T) {
	_, err := m.Claim(m.board.t.Context(), "h1", nil) // which sees the time before
	must(m.board.t, err)
	m.due()
	m.clock.Advance(-time.Duration(rapid.IntRange(10, 10_000).Draw(t, "seconds")) * time.Second)
	_, err = m.Claim(m.board.t.Context(), "h1", nil)
	must(m.board.t, err)
}

// compare holds each job to the model, and the rules that need no model.
func (m *model) compare(t *rapid.T) {
	m.due()
	active, runs := map[string]string{}, map[string]string{}
	for _, j := range m.jobs {
		got := m.get(j.id)
		want := fmt.Sprintf("%s attempt %d, snooze %d", j.status, j.attempts, j.snoozes)
		if has := fmt.Sprintf("%s attempt %d, snooze %d", got.Status, got.Attempts, got.Snoozes); has != want {
			t.Fatalf("job %s is %s, want %s", j.id, has, want)
		}
		if j.ended() {
			if got.Reason == "" || got.CompletedAt == nil {
				t.Fatalf("job %s ended without a reason: %+v", j.id, got)
			}
			continue
		}
		if j.typ == job.Workflow {
			continue
		}
		if active[j.key] != "" || running(j) && runs[j.queue] != "" {
			t.Fatalf("jobs %s and %s are active at once", active[j.key]+runs[j.queue], j.id)
		}
		if active[j.key] = j.id; running(j) {
			runs[j.queue] = j.id
		}
	}
}
