// Package wire carries the contract of package sdk between processes: protobuf
// over one gRPC stream per instance, on which many calls run at a time.
//
//	host                                   plugin
//	Client ── Describe ──────────────────► Server
//	       ── Calls: request{id, …} ─────►  prepared configs (LRU)
//	       ◄─ reply{id, chunk | result} ──  at most Parallel calls
//	       ◄─ reply{id, host_call} ───────  a call's question to the host
//	       ── request{id, host_reply} ───►
//
// [Client] is the host's half and [Server] the plugin's. Both work over any gRPC
// connection. [Plugin] connects them to hashicorp/go-plugin, and [Start] is the first
// message that a host gives to a plugin's process. The messages are in
// wirepb/plugin.proto.
//
// The host trusts nothing that a plugin sends: see package check for what is refused. A
// refusal fails only the one call, with sdk.Invalid and the reason "response_invalid".
//
// It is internal to Reflectory: its API may change in any release.
package wire
