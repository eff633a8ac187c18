// Package loop is the reflection loop: generate → evaluate → correct until an
// attempt passes or a limit stops it.
//
// [Run] drives a loop over the three interfaces of sdk. One step function (engine.next)
// decides the next step from what has happened so far; the driver calls plugins, records
// each attempt before the next step, and reports events. [Replay] judges recorded
// attempts again. [Composite] and [Parsed] build evaluators from evaluators. [Call] and
// [StandaloneState] give a plugin that is called outside a loop the same input as inside
// one.
package loop
