// Package process runs plugins as subprocesses over hashicorp/go-plugin's
// handshake and package wire's protocol. It is a [plugin.Driver].
//
//	Driver.Start ─► launch (own process group, empty environment, pipes)
//	             ─► go-plugin's handshake on stdout, checked before go-plugin sees it
//	             ─► gRPC over a unix socket in a private folder, mutual TLS
//	             ─► Instance: calls, logs, one cause of its end
//
// Only go-plugin's handshake is used. The connection is made here, because
// go-plugin's own client leaves connections and goroutines behind when a plugin
// dies under it, and its log reader panics on hostile lines.
//
// Nothing outlives an instance: its process group is killed on every path, the
// kernel kills the plugin when the host dies (Linux), and a plugin that is built
// with sdk/process ends when its standard input does. What can't be had: a
// process that leaves the group, or the plugin's own children when the host is
// killed, aren't reached; off Linux only the standard input is left when the
// host is killed, and on Windows there is no group at all.
package process
