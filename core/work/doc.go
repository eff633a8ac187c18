// Package work has what an operator wants to see of a host at work: how often something is
// done, how long it takes, with what outcome, and which work is part of which other work.
// Events don't show that: they come after something was done, and don't nest. So the parts
// that do such work call an observer when the work begins, and when it ends. At the beginning
// the observer may put a value into the context, by which it later recognises work that is
// part of this work. The parts know nothing of traces or metrics, and without an observer
// this costs only a comparison.
//
// It is internal to Reflectory: its API may change in any release.
package work
