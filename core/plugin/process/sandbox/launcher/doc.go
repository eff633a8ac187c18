// Package launcher is what runs between the host's fork and a plugin's program:
// it confines its own process and becomes the program.
//
// A Go program can't run code of its own between fork and exec, so the host
// starts itself again (/proc/self/exe) with [Variable] set, and the init of this
// package takes over. It never returns: the process becomes the plugin or exits.
//
// This is one of the project's two uses of init. Packages are initialized in the order of
// their imports, so a package that imports only package syscall is initialized before os,
// fmt and everything that depends on them. The launcher therefore begins within about 1
// ms. A call in main would wait 8 to 15 ms for the host's libraries, and a program that
// embeds the driver could forget it. For the same reason nothing else may be imported
// here, which a test checks.
//
//	host                                  launcher
//	fork, exec itself, fd 3 = a socket ─►  init of this package
//	a Spec over the socket             ─►  read it, confine, exec the program
//	end of the socket                  ◄─  the program runs
//	step and errno                     ◄─  or a step failed, and nothing runs
//
// The host makes all decisions: the launcher gets finished limits, a finished Landlock
// ruleset and a finished seccomp filter.
//
// It is internal to Reflectory: its API may change in any release.
package launcher
