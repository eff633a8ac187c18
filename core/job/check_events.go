package job

import (
	"strings"

	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
)

// A user's stream has every change of the user's jobs. So it shows each job's status, how
// often the job was started and why it ended. Jobs that ended may be gone, since they
// aren't kept for ever; all other jobs must exist. While the stream is read, only jobs that
// haven't ended are kept in memory.

// history is what the entries of a stream have shown about a job so far.
type history struct {
	job    journal.JobRef
	status Status
	epoch  uint64
	reason string
}

// streams checks jobs against their events.
func (c *checking) streams() error {
	shown, records := 0, 0
	err := journal.Streams(c.r, func(s journal.StreamHead) (bool, error) {
		user, is := strings.CutPrefix(s.Stream, streamPrefix)
		if !is {
			return true, c.ctx.Err()
		}
		n, err := c.stream(user)
		shown += n
		return true, err
	})
	if journal.IsBroken(err) {
		return nil // the journal's own check reports it
	}
	if err != nil {
		return err
	}
	err = c.each(jobPrefix, func(_, _ []byte) error { records++; return nil })
	if err == nil && records > shown {
		c.problem([]byte(jobPrefix), false, "there are jobs that no event tells of")
	}
	return err
}

// stream checks the jobs of a user against the user's stream, and returns how many of them
// exist.
func (c *checking) stream(user string) (there int, err error) {
	open := map[string]*history{}
	err = journal.Read(c.r, Stream(user), func(e journal.Entry) error {
		id, shown := apply(open, &e)
		if shown == nil {
			c.problem([]byte(streamPrefix+id), false, "an event of the job doesn't follow from the earlier events")
			return c.ctx.Err()
		}
		if !shown.status.Terminal() {
			return c.ctx.Err()
		}
		delete(open, id)
		found, err := c.matches(user, shown, false)
		if found {
			there++
		}
		return err
	})
	if err != nil {
		return there, err
	}
	for _, shown := range open {
		found, err := c.matches(user, shown, true)
		if err != nil {
			return there, err
		}
		if found {
			there++
		}
	}
	return there, nil
}

// apply applies an event: it returns the job's new state according to the events, or nil if
// the event doesn't follow from the earlier events.
func apply(open map[string]*history, e *journal.Entry) (id string, shown *history) {
	if event, is := journal.As[journal.JobQueued](e); is {
		if open[event.JobID] != nil {
			return event.JobID, nil
		}
		open[event.JobID] = &history{job: event.JobRef, status: StatusQueued}
		return event.JobID, open[event.JobID]
	}
	ended := func(ref journal.JobRef, status Status, reason string) (string, *history) {
		last := open[ref.JobID]
		if last == nil || last.status != StatusRunning && status != StatusCancelled {
			return ref.JobID, nil
		}
		last.job.Attempt, last.status, last.reason = ref.Attempt, status, reason
		return ref.JobID, last
	}
	if event, is := journal.As[journal.JobStarted](e); is {
		last := open[event.JobID]
		if last == nil || last.status != StatusQueued || event.Epoch != last.epoch+1 {
			return event.JobID, nil
		}
		last.job.Attempt, last.status, last.epoch, last.reason = event.Attempt, StatusRunning, event.Epoch, ""
		return event.JobID, last
	}
	if event, is := journal.As[journal.JobRetried](e); is {
		return ended(event.JobRef, StatusQueued, event.Reason)
	}
	if event, is := journal.As[journal.JobCompleted](e); is {
		return ended(event.JobRef, StatusCompleted, event.Reason)
	}
	if event, is := journal.As[journal.JobFailed](e); is {
		return ended(event.JobRef, StatusFailed, event.Reason)
	}
	if event, is := journal.As[journal.JobCancelled](e); is {
		return ended(event.JobRef, StatusCancelled, event.Reason)
	}
	return "", nil
}

// matches checks a job against its events, and reports whether it exists. If it must exist and
// doesn't, that is a problem.
func (c *checking) matches(user string, matches *history, must bool) (there bool, err error) {
	key := jobKey(matches.job.JobID)
	rec, err := find(c.r, matches.job.JobID)
	switch {
	case table.Corrupt(err):
		return true, nil // the check of the record reports it
	case err != nil:
		return false, err
	case rec == nil:
		if must {
			c.problem(key, false, "the job is gone, and no event records its end")
		}
		return false, nil
	}
	if rec.UserID != user || rec.Status != matches.status || rec.Epoch != matches.epoch || string(rec.Type) != matches.job.Type || rec.Reason != matches.reason {
		c.problem(key, false, "the job isn't what its events say")
	}
	return true, nil
}
