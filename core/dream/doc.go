// Package dream plans housekeeping: what it would change in memories, and why. It writes
// nothing, and the same input gives the same plan at any time.
package dream
