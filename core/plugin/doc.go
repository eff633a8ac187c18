// Package plugin is what is installed and what runs of it: discovery, pools of
// instances, and their supervision. How an instance runs is a [Driver]'s
// business, in the folders below.
package plugin
