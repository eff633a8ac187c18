package process

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// serve runs go-plugin's server until the host or ctx ends it.
func serve(ctx context.Context, p sdk.Plugin, o Options) error {
	stdin := bufio.NewReader(o.Stdin)
	start, err := wire.ReadStart(stdin)
	if err != nil {
		return err
	}
	tlsConfig, err := serverTLS(start.TLS)
	if err != nil {
		return err
	}
	setUpLogs(o.Stderr, start.LogLevel)
	useProxy(o.Getenv)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go watch(stdin, stop)

	half := wire.NewServer(p, wire.ServerConfig{
		MessageBytes: start.MessageBytes, Parallel: start.Parallel, Stderr: o.Stderr,
	})
	limitProcessors(o.Getenv, half.Parallel())
	limitMemory(o.Getenv)
	srv := &server{ctx: ctx, health: p.Health, messageBytes: start.MessageBytes, restore: keepStdio()}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake(),
		TLSProvider:     func() (*tls.Config, error) { return tlsConfig, nil },
		Plugins:         goplugin.PluginSet{wire.PluginName: &wire.Plugin{Serve: half}},
		GRPCServer:      srv.create,
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: o.Stderr, JSONFormat: true}),
	})
	if !srv.close() {
		return sdk.Errorf(sdk.Unavailable, "serve_failed", "go-plugin could not serve; its log says why")
	}
	return nil
}

// keepStdio remembers the process's own standard output and error, and returns a
// function that restores them after go-plugin has replaced them. On go-plugin's pipes a
// line waits for a goroutine to send it on, so the last words before an os.Exit would
// be lost. What is written to the process's own streams reaches the host at once.
func keepStdio() (restore func()) {
	stdout, stderr := os.Stdout, os.Stderr
	return sync.OnceFunc(func() { os.Stdout, os.Stderr = stdout, stderr })
}

// limitProcessors makes the Go runtime use one processor for each call that may run.
// With more, each step of a call wakes a thread that finds nothing to do, which took a
// fifth of a short call's time when measured. An author who works on one call with many
// goroutines sets GOMAXPROCS.
func limitProcessors(getenv func(string) string, parallel int) {
	if getenv("GOMAXPROCS") == "" && parallel < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(parallel)
	}
}

// watch ends the plugin when standard input ends: the host holds the other end for as
// long as it lives, however it dies. This is the only goroutine that nobody waits for,
// since a read of standard input can't be interrupted; the process ends with it.
func watch(stdin io.Reader, stop context.CancelFunc) {
	// Anything after the start message is reserved for later versions of the host.
	_, _ = io.Copy(io.Discard, stdin)
	stop()
}

// server makes the one gRPC server, and stops it when ctx ends.
type server struct {
	ctx          context.Context
	messageBytes int
	restore      func() // runs before the first call
	health       func(context.Context) error
	stopped      sync.WaitGroup
	release      context.CancelFunc
}

func (s *server) create(opts []grpc.ServerOption) *grpc.Server {
	gs := grpc.NewServer(append(append(opts, wire.ServerOptions(s.messageBytes)...), grpc.ChainUnaryInterceptor(s.checkHealth), grpc.ChainStreamInterceptor(
		func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			s.restore()
			return handle(srv, stream)
		}))...)
	ctx, release := context.WithCancel(s.ctx)
	s.release = release
	s.stopped.Go(func() {
		<-ctx.Done()
		gs.Stop()
	})
	return gs
}

// checkHealth answers gRPC's health check by the plugin's own, before go-plugin's answer, which is
// always the same.
func (s *server) checkHealth(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if s.health != nil && info.FullMethod == grpc_health_v1.Health_Check_FullMethodName {
		if err := s.health(ctx); err != nil {
			return nil, status.Error(codes.Unavailable, err.Error())
		}
	}
	return handle(ctx, req)
}

// close waits for the server's end. It reports whether there was a server.
func (s *server) close() bool {
	if s.release == nil {
		return false
	}
	s.release()
	s.stopped.Wait()
	return true
}
