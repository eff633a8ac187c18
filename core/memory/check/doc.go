// Package check proves that the records of memories agree with each other and with the
// journal, and writes the derived ones again. It reads records as their packages do, and
// looks for what those couldn't have written: a damage, an edit, a loss.
//
// Each pass goes through the records of one kind, holds nothing of the one before, and
// reports all that it finds; what another pass reports is left to that.
package check
