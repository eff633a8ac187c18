// Package conversation keeps what a gateway knows of conversations between clients and models: which
// session and turn a request belongs to, what a turn still waits to be learned from, and the messages
// that runs name.
//
// A [Log] writes behind: what it is given is seen by its readers at once, and is committed with
// everything else that waits, the steps of the requests' runs too.
//
// It is internal to Reflectory: its API may change in any release.
package conversation
