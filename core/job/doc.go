// Package job keeps background work: what waits, what runs, who runs it, and how it ended.
//
// [Repository] is the queue. A job, its indices and its event are one transaction of a
// [core.Store], so that a process that is killed leaves no job lost or half-ended. Who
// runs a job holds a [Lease]: each start raises the job's epoch, and each write of a worker
// checks it in its transaction, so that a worker that was taken for dead can write nothing
// when it goes on. [Pool] runs jobs by the handlers that it is given.
//
// # Order
//
// A user's jobs are a queue: they run one at a time, in the order in which they were
// queued. Of the users whose first job may run, the one goes next that was served longest
// ago. Jobs of [SystemUser] have a queue for each namespace, and a job of type workflow is
// a queue by itself. The first job of a queue that nothing of runs is in one of two ordered
// sets: ready, by when its queue was served, or waiting, by when it may run. So the next job
// is found by looking at the first of each type, however many wait. Where hosts share a
// store, jobs are divided by their users into shards ([Repository.Divide]), each of which
// keeps that order.
//
// [Checker] proves that records, indices and events agree, and [Memories] takes a purged
// memory out of what jobs hold. The layout of the keys is in core/store/FORMAT.md.
package job
