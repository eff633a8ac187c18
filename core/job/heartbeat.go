package job

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// This file has what a pool does in addition to running jobs: it shows that it is alive,
// notices which pools aren't, finds requests to cancel that other processes wrote, and
// writes progress. One goroutine does all of it at intervals, with one write for all jobs.
// On a store whose lock shows which process is alive, it writes nothing while no job is
// running.

// maxSilence is how long a pool may fail to write its beat before it takes no more jobs:
// soon after that, another pool takes over its jobs.
func (o *PoolOptions) maxSilence() time.Duration { return o.LostAfter * 6 / 10 }

// keep maintains the leases until its context ends.
func (p *Pool) keep(ctx context.Context) {
	tick := time.NewTicker(min(p.options.Poll, p.options.BeatEvery/2)) // no beat comes much too late
	defer tick.Stop()
	changed, unlisten := p.jobs.listeners.listen()
	defer unlisten()
	for {
		now := time.Now()
		if !p.jobs.options.Exclusive {
			p.beat(ctx, now)
			p.watch(ctx, now)
		}
		p.heartbeat(ctx, now)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
		}
	}
}

// retain removes jobs that aren't kept, at intervals, until its context ends. It has its
// own goroutine because it may take longer than the leases can wait.
func (p *Pool) retain(ctx context.Context) {
	tick := time.NewTicker(p.options.RetainEvery)
	defer tick.Stop()
	for {
		if _, err := p.jobs.Retain(ctx); err != nil {
			p.report(ctx, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// report reports an error, unless the pool is stopping.
func (p *Pool) report(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.options.Report(err)
	}
}

// beat raises the pool's beat, if it is time.
func (p *Pool) beat(ctx context.Context, now time.Time) {
	p.mu.Lock()
	due := now.Sub(p.beaten) >= p.options.BeatEvery
	p.mu.Unlock()
	if !due {
		return
	}
	if err := p.jobs.Beat(ctx, p.options.Holder); err != nil {
		p.report(ctx, err)
		return
	}
	p.setBeaten(now)
}

func (p *Pool) setBeaten(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beaten = at
}

// silent reports whether other pools may believe that this pool is dead; then it starts
// nothing.
func (p *Pool) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.jobs.options.Exclusive && time.Since(p.beaten) > p.options.maxSilence()
}

// watch takes over the jobs of holders whose beat hasn't changed for too long, by this
// pool's own monotonic clock: clocks of other machines don't matter.
func (p *Pool) watch(ctx context.Context, now time.Time) {
	beats, err := p.jobs.Holders(ctx)
	if err != nil {
		p.report(ctx, err)
		return
	}
	// After a late look, the measuring of time begins again: this process or the store was
	// suspended, and other pools may have had no chance to write their beats.
	if now.Sub(p.watched) > p.options.LostAfter/2 {
		clear(p.seen)
	}
	p.watched = now
	for name := range p.seen {
		if _, there := beats[name]; !there {
			delete(p.seen, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(beats)) {
		last, known := p.seen[name]
		switch {
		case p.jobs.lives(name):
		case !known || last.beat != beats[name]:
			p.seen[name] = sighting{beats[name], now}
		case now.Sub(last.at) >= p.options.LostAfter:
			if _, err := p.jobs.TakeOver(ctx, name); err != nil {
				p.report(ctx, err)
			}
		}
	}
}

// heartbeat writes the progress of each running job, and stops jobs that were asked to stop or
// that another pool took over.
func (p *Pool) heartbeat(ctx context.Context, now time.Time) {
	p.mu.Lock()
	jobs := slices.Collect(maps.Keys(p.running))
	p.mu.Unlock()
	for _, j := range jobs {
		if at, is := j.stopped(); is {
			if now.Sub(at) >= p.options.Grace {
				p.abandon(ctx, j, context.Cause(j.ctx))
			}
			continue
		}
		err := j.writeProgress(ctx, now)
		cancel := false
		if err == nil {
			cancel, err = p.jobs.Renew(ctx, j.lease)
		}
		switch {
		case sdk.ReasonOf(err) == LeaseLost:
			if !j.settled.Load() {
				j.stop(errLost, now)
			}
		case err != nil:
			p.report(ctx, err)
		case cancel:
			j.stop(errCancelled, now)
		}
	}
}
