// Package loop is the reflection loop: generate → evaluate → correct until an
// attempt passes or a limit stops it.
//
// [Run] drives a loop over the three interfaces of sdk. What comes next is
// decided by one step function (engine.next) from what has happened; the driver
// beside it calls plugins, records each attempt before the next step, and tells
// whoever watches. [Actions] runs the actions of workflow nodes, loops
// among them, and [Replay] judges recorded attempts again.
package loop
