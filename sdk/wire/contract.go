package wire

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
	// DefaultMessageBytes caps one message either way.
	DefaultMessageBytes = 8 << 20
	// MaxPrepared is how many prepared configs an instance keeps, the least
	// recently used ones going first: more than a workflow has evaluators, and
	// small beside a process.
	MaxPrepared = 64
)
