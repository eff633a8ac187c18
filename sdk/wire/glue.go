package wire

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// windowBytes is the flow-control window of a stream and of its connection.
// Setting it turns gRPC's bandwidth probing off, whose pings cost more than they
// bring on a socket within one machine.
const windowBytes = 1 << 20

// Handshake is what both sides of hashicorp/go-plugin agree on.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue,
	}
}

// Plugin is the plugin set's one entry, for programs that drive go-plugin's own
// client or server. A plugin sets Serve, a host Call.
type Plugin struct {
	goplugin.NetRPCUnsupportedPlugin
	Serve *Server
	Call  ClientOptions
}

// GRPCServer registers the plugin's half.
func (p *Plugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	p.Serve.Register(s)
	return nil
}

// GRPCClient returns the host's half, a [*Client].
func (p *Plugin) GRPCClient(ctx context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(ctx, conn, p.Call)
}

// ServerOptions are the gRPC options that a [Server] needs. Zero messageBytes
// is [DefaultMessageBytes].
func ServerOptions(messageBytes int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(orDefault(messageBytes, DefaultMessageBytes)),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	}
}

// DialOptions are the gRPC options that suit a [Client]'s connection. The
// transport's credentials aren't among them.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	}
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
