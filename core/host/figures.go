package host

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
)

// MemoryStates counts memories by their state, in all databases of this process.
func (d *Databases) MemoryStates(ctx context.Context) (map[core.MemoryState]int64, error) {
	all := map[core.MemoryState]int64{}
	for _, own := range d.All() {
		counts, err := own.Memories.States(ctx)
		if err != nil {
			return nil, err
		}
		for state, n := range counts {
			all[state] += n
		}
	}
	return all, nil
}

// JobCounts is how many jobs wait and run, by type in the order of [job.Types], in all databases
// of this process.
func (d *Databases) JobCounts(ctx context.Context) (all []job.Count, err error) {
	for _, own := range d.All() {
		counts, err := own.Jobs.Counts(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			at := slices.IndexFunc(all, func(sum job.Count) bool { return sum.Type == c.Type })
			if at < 0 {
				at, all = len(all), append(all, job.Count{Type: c.Type})
			}
			all[at].Queued += c.Queued
			all[at].Running += c.Running
		}
	}
	return all, nil
}

// OldestJobs is, by type, how long the oldest job that may begin has waited, in all databases of
// this process: see [job.Repository.OldestWait].
func (d *Databases) OldestJobs(ctx context.Context) (map[job.Type]time.Duration, error) {
	all := map[job.Type]time.Duration{}
	for _, own := range d.All() {
		waits, err := own.Jobs.OldestWait(ctx)
		if err != nil {
			return nil, err
		}
		for kind, wait := range waits {
			all[kind] = max(all[kind], wait)
		}
	}
	return all, nil
}
