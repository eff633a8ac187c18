package job

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Options are the limits of the queue, and the parts that it uses. A zero field means its
// default.
type Options struct {
	// QueuePerUser is how many jobs of a user may wait: more than a user's namespaces and
	// types normally queue at once. Default 20; at most 200, since they are in one record.
	QueuePerUser int
	// QueueTotal is how many jobs wait at most. Default 10,000: what two workers do in a day
	// if each job takes 15 s. If hosts share the store, jobs that other hosts queue within the
	// same 2 s may exceed this limit.
	QueueTotal int
	// WorkflowsPerUser is how many workflow jobs of a user may wait, so that one user
	// doesn't fill the queue. Default 1,000.
	WorkflowsPerUser int
	// Forced is how many forced jobs a user may queue in any ForcedWindow. Defaults 3 and 1 h.
	Forced       int
	ForcedWindow time.Duration
	// Attempts is how often a job is tried. Default 3.
	Attempts int
	// Backoff is how long a job waits before its second attempt; each further wait is four
	// times as long. Default 5 s. Each wait is longer or shorter by up to a fifth, so that
	// jobs that failed together aren't retried together.
	Backoff time.Duration
	// Snoozes is how often a job may be postponed without an attempt. Default 10.
	Snoozes int
	// MaxWait is the longest time by which a job is postponed in one step. Default 24 h.
	MaxWait time.Duration
	// Crashes is how often in a row a job's process may end, each time before the job committed
	// anything, until the job fails as poisoned. Before its last start it runs without another
	// such job. Default 3.
	Crashes int
	// Mark returns what a job's work has committed outside the job, as a text that changes with each
	// such commit; "" if there is nothing. Nil is for jobs that commit only through themselves.
	Mark func(r core.Reader, payload json.RawMessage) (string, error)
	// Keep is how long ended jobs are kept, KeepPerUser how many are kept of each user, and
	// KeepAtLeast how long each job is kept even if there are more. Defaults 30 days, 1,000,
	// and 24 h.
	Keep        time.Duration
	KeepPerUser int
	KeepAtLeast time.Duration
	// Timeouts are how long a job of a type may run; 0 is no limit. Default 15 min for
	// reflection and revalidate, 6 h for dream, reembed and compact, and no limit for
	// workflow, whose run has its own.
	Timeouts map[Type]time.Duration

	// Exclusive is whether only one process at a time can have the store open, because of its
	// lock. Then the jobs that another process held are free, and no beats are written.
	Exclusive bool
	// Time is the time by which forced jobs are counted if hosts share the store, since their
	// clocks may differ. If it returns the zero time, or is nil, the clock's time is used.
	Time func(core.Reader) (time.Time, error)
	// Random is the source of jitter: it returns numbers in [0,1). It must be safe for
	// concurrent use. Default the system's randomness.
	Random func() float64
	// Notify writes the notification about a job's end to the job's namespace, in the
	// transaction of the end. An error is recorded in the job, which ends without a
	// notification. Nil writes no notification.
	Notify func(tx *journal.Tx, n Notification) error
	// Progressed is called after each commit of a job's progress. It must be safe for
	// concurrent use and return soon. It may be nil.
	Progressed func(jobID string, progress float64)
	// Purged reports whether a memory was purged, so that no job stores its content. Nil is
	// for a store without memories.
	Purged core.Purged
}

// maxQueuePerUser bounds a queue's record: 200 ids are 8 kB.
const maxQueuePerUser = 200

// withDefaults sets what is zero.
func (o Options) withDefaults() Options {
	setInt := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	setTime := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	setInt(&o.QueuePerUser, 20)
	setInt(&o.QueueTotal, 10_000)
	setInt(&o.WorkflowsPerUser, 1000)
	setInt(&o.Forced, 3)
	setInt(&o.Attempts, 3)
	setInt(&o.Snoozes, 10)
	setInt(&o.Crashes, 3)
	setInt(&o.KeepPerUser, 1000)
	setTime(&o.ForcedWindow, time.Hour)
	setTime(&o.Backoff, 5*time.Second)
	setTime(&o.MaxWait, 24*time.Hour)
	setTime(&o.Keep, 30*24*time.Hour)
	setTime(&o.KeepAtLeast, 24*time.Hour)
	timeouts := map[Type]time.Duration{
		Reflection: 15 * time.Minute, Revalidate: 15 * time.Minute, Dream: 6 * time.Hour, Reembed: 6 * time.Hour, Compact: 6 * time.Hour,
	}
	for t, limit := range o.Timeouts {
		timeouts[t] = limit
	}
	o.Timeouts = timeouts
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// Validate reports every problem of the options in one error: sdk.Invalid, reason
// "job_options_invalid".
func (o Options) Validate() error {
	var problems []string
	for _, n := range []struct {
		name  string
		value int
		most  int
	}{
		{"queue per user", o.QueuePerUser, maxQueuePerUser}, {"queue in total", o.QueueTotal, 1_000_000},
		{"workflows per user", o.WorkflowsPerUser, 1_000_000}, {"forced jobs", o.Forced, 100}, {"attempts", o.Attempts, 100},
		{"snoozes", o.Snoozes, 1000}, {"crashes", o.Crashes, 100}, {"jobs kept per user", o.KeepPerUser, 1_000_000},
	} {
		if n.value < 0 || n.value > n.most {
			problems = append(problems, fmt.Sprintf("%s is %d, not from 1 to %d", n.name, n.value, n.most))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"forced window", o.ForcedWindow}, {"backoff", o.Backoff}, {"longest wait", o.MaxWait}, {"time to keep", o.Keep},
		{"least time to keep", o.KeepAtLeast},
	} {
		if d.value < 0 {
			problems = append(problems, fmt.Sprintf("%s is %s, below 0", d.name, d.value))
		}
	}
	for t, limit := range o.Timeouts {
		if !validType(t) || limit < 0 {
			problems = append(problems, fmt.Sprintf("timeout of %q is %s", core.Cut(string(t)), limit))
		}
	}
	return optionProblems(problems)
}

// optionProblems is one error with all problems; nil if there are none.
func optionProblems(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = sdk.Errorf(sdk.Invalid, "job_options_invalid", "job options: %s", p)
	}
	return core.JoinErrors(errs...)
}

// Notification is about a job's end.
type Notification struct {
	Job
	// Title is the notification's text: "reflection completed", or "reflection failed:" with
	// the reason.
	Title string
}

// notification is the notification about a job that ended.
func notification(j *Job) Notification {
	n := Notification{Job: *j, Title: fmt.Sprintf("%s %s", j.Type, j.Status)}
	if j.Status == StatusFailed {
		n.Title += ": " + j.Reason
	}
	return n
}

// backoff is how long a job waits after a number of attempts.
func (o *Options) backoff(attempts int) time.Duration {
	wait := float64(o.Backoff)
	for range min(attempts-1, 20) {
		wait *= 4
	}
	wait *= 0.8 + 0.4*o.Random()
	return time.Duration(min(wait, float64(o.MaxWait)))
}
