// Package turn is the turns of sessions: what a session's recalls returned, the feedback on
// it, and what that makes of the memories. It is the only part that changes signals, and
// with the retention policy it decides which state a memory is in, until it comes before the
// gate.
//
// A feedback is one transaction, feedbackTx. A feedback of a better source takes the place
// of an earlier one of its turn: what the memory's journal makes of it with the other credit
// is computed again, see [Replay]. A sweep evaluates memories without a turn.
// Package lifecycle has the arithmetic and the table of transitions.
package turn
