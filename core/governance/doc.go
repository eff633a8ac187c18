// Package governance keeps the settings of namespaces and says what holds in one.
//
// Settings stand at levels: "*" for all namespaces, "a", "a/b" and so on. Each
// field holds by itself: the most specific level of a namespace's chain that sets
// it wins, then the built-in default. So a level that sets other fields leaves the
// cap of the one above as it is. A field that a level locks can't be set below it,
// and what was set there before doesn't count.
//
// Settings that can't be read fail closed: nothing may be reflected on, and
// nothing changes its state, in the namespaces below them.
//
// # Keys
//
//	governance/<level>   a [Record], as JSON in exactly the form that Set writes
package governance
