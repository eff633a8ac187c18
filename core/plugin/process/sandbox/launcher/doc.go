// Package launcher is what runs between the host's fork and a plugin's program:
// it confines its own process and becomes the program.
//
// A Go program can't run code of its own between fork and exec, so the host
// starts itself again (/proc/self/exe) with [Variable] set, and the init of this
// package takes over. It never returns: the process becomes the plugin or exits.
//
// Why an init, of which the project has no other: packages are initialized in
// the order of their imports, so one that imports package syscall alone is done
// before os, fmt and all that rests on them. The launcher therefore begins
// within about 1 ms, where a call in main would first wait 8 to 15 ms for the
// host's libraries, and there is no call that a program which embeds the driver
// could forget. For the same reason nothing else may be imported here; a test
// holds that.
//
//	host                                  launcher
//	fork, exec itself, fd 3 = a socket ─►  init of this package
//	a Spec over the socket             ─►  read it, confine, exec the program
//	end of the socket                  ◄─  the program runs
//	step and errno                     ◄─  or a step failed, and nothing runs
//
// Everything that needs a decision is decided by the host: the launcher gets
// finished limits, a finished Landlock ruleset and a finished seccomp filter.
package launcher
