// Package plugin runs the installed plugins: it has the pools of their instances, and
// supervises them. A program has one [Supervisor]; each call has a [Scope], which determines
// what the call may reach. The packages below install plugins and implement the [Driver]s that
// start instances.
//
// It is internal to Reflectory: its API may change in any release.
package plugin
