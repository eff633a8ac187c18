// Package plugin is what runs of the installed plugins: pools of instances, and
// their supervision. What is installed, and how an instance runs, are the
// business of the folders below; a [Driver] is what starts one.
package plugin
