package wire

import (
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// The handshake of hashicorp/go-plugin.
const (
	// ProtocolVersion is the version of the transport: the service, its stream
	// and the start message. A change that an older side can't follow raises it.
	ProtocolVersion = 1
	// CookieKey and CookieValue are go-plugin's magic cookie. It isn't a secret:
	// it only tells a program that a host started it.
	CookieKey   = "REFLECTORY_PLUGIN"
	CookieValue = "a0c0c2e7-3d3f-4f0e-9a51-6b8f4f0f7d1e"
	// PluginName is the one entry of the plugin set.
	PluginName = "reflectory"
)

// Limits of the transport.
const (
	// DefaultMessageBytes caps one message either way (spec 2.2).
	DefaultMessageBytes = 8 << 20
	// MaxPrepared is how many prepared configs an instance keeps, the least
	// recently used ones going first: more than a workflow has evaluators, and
	// small beside a process.
	MaxPrepared = 64
)

// ContractMismatch is the error of two sides whose contract versions differ.
// what is "contract" or "protocol".
func ContractMismatch(plugin, what string, host, theirs int) *sdk.Error {
	hint := fmt.Sprintf("rebuild plugin %s with this host's sdk", plugin)
	if theirs > host {
		hint = fmt.Sprintf("upgrade the host, or rebuild plugin %s with an older sdk", plugin)
	}
	return sdk.Errorf(sdk.Incompatible, "contract_mismatch",
		"plugin %s speaks %s version %d and the host version %d", plugin, what, theirs, host).
		WithHint("%s", hint).
		WithDetail("plugin_version", theirs).WithDetail("host_version", host)
}

func tooLarge(what string, size, limit int) *sdk.Error {
	return sdk.Errorf(sdk.Exhausted, "message_too_large",
		"%s is %d bytes, over the cap of %d bytes", what, size, limit).
		WithHint("send less in one call: of the state, or of a loop's history (history_limit)").
		WithDetail("size", size).WithDetail("limit", limit)
}
