// Package process runs a plugin as a subprocess of the host. A plugin's main
// is one line:
//
//	func main() { process.Main(lua.Plugin()) }
//
// The host starts the program, hands it a start message on standard input and
// talks to it over a private unix socket; see package wire for the protocol.
// Standard output belongs to the handshake, so a plugin prints nothing there
// before Main. Afterwards what it prints on standard output or standard error
// goes to the host's log, as does everything written with log/slog, which Main
// sets up so that levels and attributes are kept.
//
// The Go runtime gets as many processors as calls may run at a time, by default
// one; the environment variable GOMAXPROCS overrides that.
//
// Run by hand the program says what it is; with --describe it prints its
// manifest.
package process
