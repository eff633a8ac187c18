// Package job stores and runs background work: which jobs wait, which are running and where, and
// how jobs ended.
//
// [Repository] is the queue. A job, its indices and its event are written in one transaction of a
// [core.Store], so that no job is lost or half-ended when a process is killed. A worker that runs a
// job has a [Lease]: each start raises the job's epoch, and each write of a worker checks the epoch
// in its transaction, so a worker that was believed dead can write nothing when it continues.
// [Pool] runs jobs with the handlers that it is given.
//
// # Order
//
// A user's jobs are a queue: they run one at a time, in the order in which they were
// queued. Jobs of [SystemUser] have a queue for each namespace, and each job of type workflow is
// its own queue. Among the jobs that may run, the next one is of the tenant that was served longest
// ago, and of the tenant's user who was served longest ago. A tenant with half of a pool's workers
// gets no more of them while another tenant waits.
//
// If no job of a queue is running, its first job is in one of two ordered sets: ready, ordered by
// when its queue was last served, or waiting, ordered by when it may run. A process groups the ready
// jobs by tenant in memory, and checks what it chooses against the set, so a claim looks at each
// waiting tenant, and at no job but the next. If hosts share a store, jobs are divided by their
// users into shards ([Repository.Divide]). The order of users holds within a shard, and each process
// takes tenants in turn, and the users of workflow jobs, by its own starts.
//
// [Checker] proves that records, indices and events agree, and [Memories] removes a purged
// memory from jobs. The layout of the keys is in core/store/FORMAT.md.
//
// It is internal to Reflectory: its API may change in any release.
package job
