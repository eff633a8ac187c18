// Package guard lets plugins reach the endpoints that they were granted, and
// nothing else. The host makes the connections for them.
//
//	host:port ─► is it granted? ─► resolve ─► is each address public? ─► dial that address
//
// An address is checked after the name is resolved, and what is dialled is the
// address that was checked, so a name can't change its address in between.
// Loopback, private, link-local and other addresses that aren't public are
// refused, unless the grant names the very address, or localhost.
//
// It is internal to Reflectory: its API may change in any release.
package guard
