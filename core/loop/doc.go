// Package loop is the reflection loop: generate → evaluate → correct until an
// attempt passes or a limit stops it.
//
// [Run] drives a loop over the three interfaces of sdk. What comes next is
// decided by one step function (engine.next) from what has happened; the driver
// calls plugins, records each attempt before the next step, and reports events.
// [Replay] judges recorded attempts again. [Composite] and [Parsed] make evaluators
// of evaluators. [Call] and [StandaloneState] give a plugin that is asked outside a
// loop what it would get inside one.
package loop
