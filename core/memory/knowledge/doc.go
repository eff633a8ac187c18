// Package knowledge has the entries that promoted memories become, which never change,
// except for the pointer to the entry that superseded them, and the record of each
// promotion.
//
// The gate decides what is promoted or purged. core/memory carries out its decisions,
// with the functions here that take a transaction.
//
// It is internal to Reflectory: its API may change in any release.
package knowledge
