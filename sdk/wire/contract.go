package wire

// The handshake of hashicorp/go-plugin.
const (
	// ProtocolVersion is the version of the transport: the service, its stream and the
	// start message. It is raised by a change that an older side can't follow.
	ProtocolVersion = 1
	// CookieKey and CookieValue are go-plugin's magic cookie. It isn't a secret: it
	// only shows a program that a host started it.
	CookieKey   = "REFLECTORY_PLUGIN"
	CookieValue = "a0c0c2e7-3d3f-4f0e-9a51-6b8f4f0f7d1e"
	// PluginName is the one entry of the plugin set.
	PluginName = "reflectory"
)

// Limits of the transport.
const (
	// DefaultMessageBytes limits one message in each direction.
	DefaultMessageBytes = 8 << 20
	// MaxPrepared is how many prepared configs an instance keeps, of as many bytes
	// together as one message may have; the least recently used are dropped first. This is
	// more than a workflow has evaluators, and small compared with a process.
	MaxPrepared = 64
)
