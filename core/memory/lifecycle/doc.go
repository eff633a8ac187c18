// Package lifecycle is the arithmetic of a memory's life: which state may follow
// which and by whom, and how a turn moves the signals that the retention policy
// looks at. It is pure: it stores nothing, reads no clock, and gives the same
// answer to the same question on every machine.
package lifecycle
