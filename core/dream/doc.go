// Package dream plans housekeeping: what a pass would change in memories, and why. It
// writes nothing, and the same input gives the same plan at any time.
//
// It is internal to Reflectory: its API may change in any release.
package dream
