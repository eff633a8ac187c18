// Package rate limits how often each of many names does something, such as how often a
// subject makes requests.
//
// A host that has its store alone counts by itself, and writes nothing. Hosts that share a
// store borrow from a record in it, one for each name: at the first request a host borrows a
// part of what is left, which it may use by itself for 10 s, and then another. What it hasn't
// used by then is lost. So over all hosts a name never gets more than it would get from one,
// at the price of a small transaction every 10 s, or more often near the limit.
//
// The hosts' clocks may differ, so comparing them doesn't show how much time has passed. Instead,
// the record has numbered windows. A host that has seen the last window for at least a quarter of
// a second, by its own monotonic clock, begins the next one, and adds to the record what the rate
// gives in the time since it first saw the last one. The transaction validates that the record
// still has that window, so no time counts twice. A part ends by the clock of the host that
// borrowed it, counted from before the transaction that lent it. For the record, it counts as
// unused until so many windows have passed that it must have ended. All that this needs is that a
// second is equally long on each host.
//
// A [Spending] counts what names use of a daily budget instead, such as tokens of models: that must
// outlive the host, so it is always in the store.
//
// It is internal to Reflectory: its API may change in any release.
package rate
