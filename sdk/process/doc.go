// Package process runs a plugin as a subprocess of the host. A plugin's main
// is one line:
//
//	func main() { process.Main(lua.Plugin()) }
//
// The host starts the program, gives it a start message on standard input and talks to
// it over a private unix socket; see package wire for the protocol. Standard output is
// used for the handshake, so a plugin must print nothing there before Main. Later
// output on standard output or standard error goes to the host's log. So does
// everything written with log/slog, which Main sets up so that levels and attributes
// are kept.
//
// The Go runtime uses as many processors as calls may run at a time, by default one;
// the environment variable GOMAXPROCS overrides this.
//
// If a person starts the program, it prints what it is; with --describe it prints its
// manifest.
package process
