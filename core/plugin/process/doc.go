// Package process runs plugins as subprocesses over hashicorp/go-plugin's
// handshake and package wire's protocol. It is a [plugin.Driver].
//
//	Driver.Start ─► launch (own process group, empty environment, pipes, sandbox)
//	             ─► go-plugin's handshake on stdout, checked before go-plugin sees it
//	             ─► gRPC over a unix socket in a private folder, mutual TLS
//	             ─► Instance: calls, logs, one cause of its end
//
// Only go-plugin's handshake is used. The connection is made here, because
// go-plugin's own client leaves connections and goroutines behind when a plugin
// dies under it, and its log reader panics on hostile lines.
//
// Each instance is confined by package sandbox, and reaches the endpoints that it
// was granted through a proxy of the host (see wire.ProxyVariable).
//
// Nothing outlives an instance: its process group, which it can't leave, is
// killed on every path; the kernel kills the plugin when the host dies, with its
// children where it has a PID namespace (Linux); and a plugin that is built with
// sdk/process ends when its standard input does. What can't be had: without a PID
// namespace the plugin's own children outlive a host that is killed; off Linux a
// process may leave the group, and only the standard input is left when the host
// is killed; on Windows there is no group at all.
package process
