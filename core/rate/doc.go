// Package rate limits how often each of many names does something, such as how often a
// subject makes requests.
//
// A host that has its store alone counts by itself, and writes nothing. Hosts that share a
// store borrow from a record in it, one for each name: at the first request a host borrows a
// part of what is left, which it uses by itself within 10 s, and then another. What it didn't
// use by then is lost. So over all hosts a name never gets more than it would get from one,
// at the price of a small transaction every 10 s, or more often near the limit.
//
// How much time has passed isn't known by what any clock shows, since those of hosts may
// differ. So the record has windows. A host that has seen the last one for a quarter of a second or longer,
// by its own monotonic clock, begins the next, and adds what came in since it saw the last. The
// transaction validates that the record still has that window, so no time counts twice. A part
// ends by the clock of the host that has it, counted from before the transaction that lent it,
// and counts as unused until so many windows have passed that it must have ended. All that this
// needs is that a second is as long on each host.
package rate
