// Package check proves that the records of memories agree with each other and with the
// journal, and rebuilds what is derived from them. It reads records as their packages do,
// and looks for states that those packages can't have written: damage, edits, losses.
//
// Each pass goes through the records of one kind, keeps nothing from the pass before, and
// reports everything it finds, except what another pass reports.
//
// It is internal to Reflectory: its API may change in any release.
package check
