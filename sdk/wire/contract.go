// Package wire carries the contract of package sdk over gRPC.
package wire

// The magic cookie of hashicorp/go-plugin's handshake. It isn't a secret: it
// only tells a program that a host started it.
const (
	CookieKey   = "REFLECTORY_PLUGIN"
	CookieValue = "a0c0c2e7-3d3f-4f0e-9a51-6b8f4f0f7d1e"
)
