// Package gateway stands between an agent and its model: it finds the session and the turn that a
// request belongs to, adds what the namespace remembers, checks the reply, lets the model correct it,
// and learns how the turn went.
//
// It knows nothing of bytes on a wire. A surface reads a client's request into a [Request], and asks
// the upstream what an [Attempt] says, as often as the gateway calls its [Upstream]. Each request is a
// run whose attempts are the replies.
//
// It is internal to Reflectory: its API may change in any release.
package gateway
