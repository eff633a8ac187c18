// Package turn has the turns of sessions: what a session's recalls returned, the feedback
// on it, and how that changes memories. It is the only package that changes signals, and
// with the retention policy it decides which state a memory is in, until the memory comes
// before the gate.
//
// Feedback is one transaction, feedbackTx. Feedback from a better source replaces earlier
// feedback on the turn: the memory's signals are then computed again from its journal,
// with the new credit, see [Replay]. A sweep evaluates memories without a turn. Package
// lifecycle has the arithmetic and the table of transitions.
//
// It is internal to Reflectory: its API may change in any release.
package turn
