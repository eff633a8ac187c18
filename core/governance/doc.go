// Package governance stores the settings of namespaces and resolves which apply in a
// namespace.
//
// Settings have levels: "*" for all namespaces, "a", "a/b" and so on. Each field is
// resolved separately: the most specific level of a namespace's chain that sets it wins,
// then the built-in default. So a level that sets other fields doesn't affect the depth
// limit of the level above. A field that a level locks can't be set below it, and values
// that were set there before are ignored.
//
// If settings can't be read, the safe choice is made: in the namespaces below them no
// memory may be reflected on, and none changes its state.
//
// # Keys
//
//	governance/<level>   a [Record], as JSON in exactly the form that Set writes
//
// It is internal to Reflectory: its API may change in any release.
package governance
