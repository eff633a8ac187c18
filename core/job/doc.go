// Package job stores and runs background work: which jobs wait, which run, who runs them,
// and how they ended.
//
// [Repository] is the queue. A job, its indices and its event are one transaction of a [core.Store], so that
// a process that is killed leaves no job lost or half-ended. A worker that runs a job has a [Lease]: each
// start raises the job's epoch, and each write of a worker checks the epoch in its transaction, so a worker
// that was believed dead can write nothing when it continues. [Pool] runs jobs with the handlers that it is
// given.
//
// # Order
//
// A user's jobs are a queue: they run one at a time, in the order in which they were
// queued. Of the users whose first job may run, the one goes next that was served longest
// ago. Jobs of [SystemUser] have a queue for each namespace, and a job of type workflow is
// a queue by itself. If no job of a queue runs, its first job is in one of two ordered
// sets: ready, by when its queue was served, or waiting, by when it may run. So the next job
// is found by looking at the first of each type, however many wait. Where hosts share a
// store, jobs are divided by their users into shards ([Repository.Divide]), each of which
// keeps that order.
//
// [Checker] proves that records, indices and events agree, and [Memories] removes a purged
// memory from jobs. The layout of the keys is in core/store/FORMAT.md.
package job
