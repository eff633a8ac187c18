// Package wire carries the contract of package sdk between processes: protobuf
// over one gRPC stream per instance, on which many calls run at a time.
//
//	host                                   plugin
//	Client ── Describe ──────────────────► Server
//	       ── Calls: request{id, …} ─────►  prepared configs (LRU)
//	       ◄─ reply{id, chunk | result} ──  at most Parallel calls
//
// [Client] is the host's half and [Server] the plugin's. Both work over any
// gRPC connection; [Plugin] is the glue for hashicorp/go-plugin, and [Start]
// the message that a host hands to a plugin's process first. The messages
// themselves are in wirepb/plugin.proto.
//
// The host trusts nothing that comes back: see package check for what is
// refused. A refusal fails the one call, with sdk.Invalid and the reason
// "response_invalid".
package wire
