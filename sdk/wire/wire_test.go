package wire_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/test/bufconn"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect serves a plugin in this process and returns a client of it.
func connect(t *testing.T, p sdk.Plugin, s wire.ServerConfig, c wire.ClientOptions) *wire.Client {
	t.Helper()
	s.Stderr = t.Output()
	client, err := connectTo(t, wire.NewServer(p, s), c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// connectTo is connect for any implementation of the service.
func connectTo(t *testing.T, s wirepb.PluginServer, c wire.ClientOptions) (*wire.Client, error) {
	t.Helper()
	client, err := wire.NewClient(t.Context(), dial(t, s, c.MessageBytes), c)
	if err == nil {
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return client, err
}

func dial(t *testing.T, s wirepb.PluginServer, messageBytes int) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(serverOptions(s, messageBytes)...)
	wirepb.RegisterPluginServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///plugin", append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// serverOptions are the protocol's options, except for a server that sends raw frames.
func serverOptions(s wirepb.PluginServer, messageBytes int) []grpc.ServerOption {
	opts := append(wire.ServerOptions(messageBytes), grpc.WaitForHandlers(true))
	if _, ok := s.(*scripted); ok {
		opts = append(opts, grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}))
	}
	return opts
}

// evaluator is a plugin with one evaluator that needs no config.
func evaluator(parallel int, f sdk.EvaluatorFunc) sdk.Plugin {
	return sdk.Plugin{
		Manifest:  sdk.Manifest{Name: "probe", Version: "1.0.0", Parallel: parallel},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) { return f, nil },
	}
}

func passed() *sdk.EvaluateResponse {
	return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}
}

func one(output string) []*sdk.EvaluateRequest {
	return []*sdk.EvaluateRequest{{Output: json.RawMessage(output)}}
}

func wantError(t *testing.T, err error, code sdk.Code, reason string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Fatalf("got %s/%s (%v), want %s/%s", sdk.CodeOf(err), sdk.ReasonOf(err), err, code, reason)
	}
}

// wantAlive fails if the stream didn't survive the messages before.
func wantAlive(t *testing.T, c *wire.Client) {
	t.Helper()
	select {
	case <-c.Done():
		t.Fatalf("the stream ended: %v", c.Err())
	default:
	}
}
