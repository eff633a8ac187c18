// Package verdict has what the gate is asked about a memory, and what it decided, as it is
// recorded and shown: plain types, so that the memory, which carries decisions out, doesn't
// import the gate.
//
// It is internal to Reflectory: its API may change in any release.
package verdict
