// Package core is the root of Reflectory's domain: its types, and the small
// interfaces that its parts need of one another.
//
// The parts live in the folders below (loop, workflow, store, plugin, …). They
// import this package and sdk, not each other, but for journal, by which they
// write events, and document, by which they read files; the program in cmd/host
// wires them together. Everything here is the standard library and sdk.
package core
