// Package dream says what housekeeping would change in memories, and why. It plans and
// writes nothing: the same input gives the same answer, whatever the time is.
package dream
