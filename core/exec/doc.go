// Package exec runs programs of the machine for plugins: the host service exec. A program runs in a
// sandbox of its own, in a fresh copy of a folder, and the host hands back how it ended, what it
// printed and its report.
//
//	Grants.find     is the program granted, and where is it?
//	sandbox.Cell    a room: namespaces, a file system in memory, a user, control groups; with
//	                sandbox: off on a system without rooms, only a folder
//	workspace.Make  the copy of the original, with the attempt, in the room
//	Runner.cache    folders that a command filled before, copied into the program's home
//	place.start     the program runs, until it ends, reaches a bound, or its time is over
//	Workspace.Report, once none of its processes is left
//
// It is internal to Reflectory: its API may change in any release.
package exec
