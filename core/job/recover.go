package job

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// holders are the holders that run jobs or have a beat, with their beats.
func holders(r core.Reader) (map[string]uint64, error) {
	found := map[string]uint64{}
	for from := []byte(runningPrefix); ; {
		var name string
		err := r.Scan(from, core.PrefixEnd([]byte(runningPrefix)), func(key, _ []byte) (bool, error) {
			name, _, _ = strings.Cut(string(key[len(runningPrefix):]), "/")
			return false, nil
		})
		if err != nil {
			return nil, err
		}
		if name == "" {
			break
		}
		found[name] = 0
		from = core.PrefixEnd(runningKey(name, "")) // over its other jobs
	}
	err := core.ScanPrefix(r, []byte(holderPrefix), func(key, _ []byte) (bool, error) {
		var h holder
		if _, err := get(r, bytes.Clone(key), &h); err != nil {
			return false, err
		}
		found[string(key[len(holderPrefix):])] = h.Beat
		return true, nil
	})
	return found, err
}

// RunningOf returns the ids of the jobs that a holder runs, sorted.
func (r *Repository) RunningOf(ctx context.Context, holder string) (ids []string, err error) {
	err = r.view(ctx, func(reader core.Reader) (err error) {
		ids, err = core.Suffixes(reader, runningKey(holder, ""), math.MaxInt)
		return err
	})
	return ids, sdk.Wrap("list the jobs of "+core.Cut(holder), err)
}

// Holders returns the holders that run jobs or have a beat, each with its newest beat.
func (r *Repository) Holders(ctx context.Context) (found map[string]uint64, err error) {
	err = r.view(ctx, func(reader core.Reader) (err error) {
		found, err = holders(reader)
		return err
	})
	return found, err
}

// Recover takes over the jobs of holders that are known to be gone. On a store that only
// one process can have open, these are all holders that aren't registered here. It returns
// the number of jobs. On other stores it does nothing, since there a pool watches the
// beats.
func (r *Repository) Recover(ctx context.Context) (jobs int, err error) {
	if !r.options.Exclusive {
		return 0, nil
	}
	all, err := r.Holders(ctx)
	if err != nil {
		return 0, sdk.Wrap("look for jobs of ended processes", err)
	}
	for name := range all {
		if r.lives(name) {
			continue
		}
		n, err := r.TakeOver(ctx, name)
		if jobs += n; err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

// TakeOver frees the jobs of a holder that is gone, and removes its beat. Each job goes
// back to the head of its queue and may run at once. A job that was asked to stop is
// cancelled. A job fails if its process ended too often without a commit of the job between two ends.
// The holder can't write to any of them again.
func (r *Repository) TakeOver(ctx context.Context, name string) (jobs int, err error) {
	what := "take over the jobs of " + core.Cut(name)
	var ids []string
	err = r.view(ctx, func(reader core.Reader) (err error) {
		ids, err = core.Suffixes(reader, runningKey(name, ""), math.MaxInt)
		return err
	})
	if err != nil {
		return 0, sdk.Wrap(what, err)
	}
	var errs []error // a damaged record doesn't delay the others
	for _, id := range ids {
		if err := r.lost(ctx, name, id); err != nil {
			errs = append(errs, err)
			continue
		}
		jobs++
	}
	if len(errs) == 0 {
		errs = append(errs, r.forgetHolder(ctx, name))
	}
	return jobs, sdk.Wrap(what, core.JoinErrors(errs...))
}

// lost puts back or ends a job whose holder is gone.
func (r *Repository) lost(ctx context.Context, name, id string) error {
	return r.ending(ctx, func(c *change, _ *journal.Tx) error {
		rec, err := find(c, id)
		if err != nil || rec == nil || rec.Status != StatusRunning || rec.Holder != name {
			return err // it ended meanwhile
		}
		if rec.CancelRequested {
			return c.end(rec, StatusCancelled, &Outcome{})
		}
		moved, err := c.progressed(rec)
		if err != nil {
			return err
		}
		if rec.Crashes++; moved {
			rec.Crashes = 0
		}
		if rec.Crashes >= c.options.Crashes {
			return c.end(rec, StatusFailed, &Outcome{Reason: Poisoned})
		}
		return c.giveBack(rec, ProcessEnded, 0)
	})
}

// progressed reports whether a job's work committed something since its last start. If it did, the
// process wasn't ended by that work.
func (c *change) progressed(rec *record) (bool, error) {
	start, err := readContent(c, rec.ID)
	if table.Corrupt(err) {
		return false, nil // the next claim reports it
	}
	if err != nil {
		return false, err
	}
	mark, err := c.mark(rec, start.Payload)
	return mark != rec.Mark || rec.Type.Queued() && rec.Progress > 0, err // a run reports progress before it commits any
}

// mark is what a job's work has committed.
func (c *change) mark(rec *record, payload json.RawMessage) (string, error) {
	mark := strconv.Itoa(rec.Steps)
	if c.options.Mark == nil {
		return mark, nil
	}
	more, err := c.options.Mark(c, payload)
	return mark + "/" + more, err
}

// suspectPause is after how long a suspect looks again whether it may run.
const suspectPause = 2 * time.Second

// suspect reports whether a job is one of those whose next start may end its process: it runs without
// another suspect, so that it's known which of them did.
func (rec *record) suspect(o *Options) bool { return rec.Crashes > 0 && rec.Crashes >= o.Crashes-1 }

// forgetHolder removes the beat of a holder that has no jobs.
func (r *Repository) forgetHolder(ctx context.Context, name string) error {
	return r.update(ctx, func(c *change, _ *journal.Tx) error {
		left, err := core.Suffixes(c, runningKey(name, ""), 1)
		if err != nil || len(left) > 0 {
			return err
		}
		if _, found, err := c.Get(holderKey(name)); err != nil || !found {
			return err
		}
		return c.Delete(holderKey(name))
	})
}
