package metrics

import (
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
)

// Entry counts the changes of jobs that commits record in the journal. It is a
// [journal.Subscriber], so changes by another process are counted there, not here.
func (m *Metrics) Entry(_ string, e journal.Entry) {
	if queued, ok := journal.As[journal.JobQueued](&e); ok {
		m.job(queued.JobRef, job.StatusQueued)
	} else if started, ok := journal.As[journal.JobStarted](&e); ok {
		m.job(started.JobRef, job.StatusRunning)
		m.jobWait.WithLabelValues(jobType(started.Type)).Observe(started.LatencyMillis / 1000)
	} else if retried, ok := journal.As[journal.JobRetried](&e); ok {
		m.job(retried.JobRef, "retried")
	} else if completed, ok := journal.As[journal.JobCompleted](&e); ok {
		m.jobEnded(completed.JobRef, job.StatusCompleted)
	} else if failed, ok := journal.As[journal.JobFailed](&e); ok {
		m.jobEnded(failed.JobRef, job.StatusFailed)
	} else if cancelled, ok := journal.As[journal.JobCancelled](&e); ok {
		m.jobEnded(cancelled.JobRef, job.StatusCancelled)
	}
}

// job counts a job that came into a status.
func (m *Metrics) job(ref journal.JobRef, status job.Status) {
	m.jobs.WithLabelValues(jobType(ref.Type), string(status)).Inc()
}

// jobEnded counts a job that ended, whether a worker had started it or not.
func (m *Metrics) jobEnded(ref journal.JobRef, status job.Status) {
	m.job(ref, status)
	if ref.Attempt > 0 {
		m.jobSeconds.WithLabelValues(jobType(ref.Type)).Observe(ref.LatencyMillis / 1000)
	}
}

func jobType(name string) string {
	for _, t := range job.Types() {
		if name == string(t) {
			return name
		}
	}
	return other
}
