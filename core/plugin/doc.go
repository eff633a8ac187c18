// Package plugin is what runs of the installed plugins: pools of instances, and
// their supervision. A program has one [Supervisor]; what a call may reach comes
// with its [Scope]. What is installed, and how an instance runs, are the business of
// the folders below; a [Driver] is what starts one.
package plugin
