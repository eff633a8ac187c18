// Package core is the root of Reflectory's domain: the types that three or more of its
// parts share, and the small interfaces by which one part calls another.
//
// The parts are in the folders below (loop, workflow, store, plugin, …). They
// import this package and sdk, not each other, except for jsontext, with which they read and
// write JSON, journal, with which they write events, and document, with which they read files;
// cmd/host/imports_test.go lists the other exceptions. core/host wires them together. This
// package imports only the standard library, sdk, jsontext, and Unicode's normal forms, for
// the names of namespaces.
package core
