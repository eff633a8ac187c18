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
// Nothing outlives an instance. Its process group, which it can't leave, is killed on
// every path. The kernel kills the plugin when the host dies, with its children if it has
// a PID namespace (Linux). A plugin that is built with sdk/process ends when its standard
// input does. There are three gaps: without a PID namespace, the plugin's own children
// outlive a host that is killed; on systems other than Linux, a process may leave the
// group, and only the end of standard input tells the plugin that the host was killed; on
// Windows there is no group at all.
//
// It is internal to Reflectory: its API may change in any release.
package process
