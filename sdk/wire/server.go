package wire

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// ServerConfig sets up a [Server].
type ServerConfig struct {
	// MessageBytes limits one message in each direction. Default [DefaultMessageBytes].
	MessageBytes int
	// Parallel is how many calls run at a time; others wait. The default is the
	// manifest's value, or else 1.
	Parallel int
	// Stderr gets the stacks of panics. Default: the process's own.
	Stderr io.Writer
}

// Server is the plugin's half: it serves one host.
//
// A panic in the author's code fails only the call in which it happened, with
// sdk.Internal and the reason "plugin_panic". Its stack goes to stderr.
type Server struct {
	wirepb.UnimplementedPluginServer
	plugin   sdk.Plugin
	manifest sdk.Manifest
	config   ServerConfig
	prepared *preparedConfigs
	busy     atomic.Bool
}

// NewServer returns the server of a plugin. Register it with [ServerOptions]
// among the gRPC server's options.
func NewServer(p sdk.Plugin, cfg ServerConfig) *Server {
	s := &Server{plugin: p, manifest: p.Describe(), config: cfg}
	s.config.MessageBytes = orDefault(cfg.MessageBytes, DefaultMessageBytes)
	s.prepared = newPreparedConfigs(MaxPrepared, s.config.MessageBytes)
	s.config.Parallel = max(1, orDefault(cfg.Parallel, s.manifest.Parallel))
	if cfg.Stderr == nil {
		s.config.Stderr = os.Stderr
	}
	return s
}

// Parallel is how many calls run at a time.
func (s *Server) Parallel() int { return s.config.Parallel }

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { wirepb.RegisterPluginServer(r, s) }

// Describe implements the service. The host decides which versions are compatible,
// since it can tell its user.
func (s *Server) Describe(context.Context, *wirepb.DescribeRequest) (*wirepb.Manifest, error) {
	return encodeManifest(&s.manifest), nil
}

// Calls implements the service: one stream at a time.
func (s *Server) Calls(stream grpc.BidiStreamingServer[wirepb.Request, wirepb.Reply]) error {
	if !s.busy.CompareAndSwap(false, true) {
		return status.Error(codes.FailedPrecondition, "the plugin serves one stream at a time")
	}
	defer s.busy.Store(false)
	return newSession(s, stream).serve()
}
