package wire

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// windowBytes is the flow-control window of a stream and of its connection. Setting it
// turns off gRPC's bandwidth probing, whose pings cost more than they save on a socket
// within one machine.
const windowBytes = 1 << 20

// Handshake is what both sides of hashicorp/go-plugin agree on.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue,
	}
}

// Plugin is the only entry of the plugin set, for programs that use go-plugin's own
// client or server. A plugin sets Serve, a host sets Call.
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

// ServerOptions are the gRPC options that a [Server] needs. If messageBytes is zero, it
// is [DefaultMessageBytes].
func ServerOptions(messageBytes int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(orDefault(messageBytes, DefaultMessageBytes)),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	}
}

// DialOptions are the gRPC options for a [Client]'s connection, without the transport's
// credentials.
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
