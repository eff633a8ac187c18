// Package reflection makes insights from what was observed, in the background.
//
// [Triggers] counts what is observed in a namespace, in the transaction that stores it, and
// queues a job there when enough has come together. [Run] is the job's work: it chooses
// memories, asks a [Generator] for questions and for what follows from the memories, and
// writes them as reflections like any other ([core.ReflectRequest]), so that the depth cap,
// approvals and the reflect policy apply. What
// it paid for is saved before it is used, and each insight has an idempotency key, so that a
// job that is tried again asks nothing twice and writes nothing twice.
//
// This package knows no jobs, plugins or records of memories: it uses them through small
// interfaces. The layout of the keys is in core/store/FORMAT.md.
//
// It is internal to Reflectory: its API may change in any release.
package reflection
