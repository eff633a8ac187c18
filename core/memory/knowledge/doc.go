// Package knowledge is what memories become that are promoted: entries that never change,
// except for the pointer to the entry that superseded them, and the record of how each was made.
//
// That something is promoted or purged is decided by the gate, whose decision core/memory
// carries out with the functions here that take a transaction.
package knowledge
