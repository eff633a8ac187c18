// Package lifecycle is the arithmetic of a memory's life: which state may follow which
// and by whom, and how a turn changes the signals that the retention policy uses. It is
// pure: it stores nothing, reads no clock, and gives the same result for the same input
// on every machine.
//
// It is internal to Reflectory: its API may change in any release.
package lifecycle
