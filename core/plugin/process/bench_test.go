package process_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// A call of the benchmarks takes 1 KB and answers with 200 bytes.
const (
	requestBytes  = 1 << 10
	responseBytes = 200
)

func BenchmarkCall(b *testing.B) {
	for _, plain := range []bool{true, false} {
		for _, callers := range []int{1, 8} {
			b.Run(fmt.Sprintf("tls=%t/callers=%d", !plain, callers), func(b *testing.B) {
				p := self(b, "serve")
				p.Limits.Parallel = callers
				i := start(b, process.Options{PlainText: plain}, p)
				config := do("pad")
				req := []*sdk.EvaluateRequest{{Output: json.RawMessage(`"` + strings.Repeat("x", requestBytes) + `"`)}}
				run(b, callers, func(ctx context.Context) error {
					_, err := i.Evaluate(ctx, config, req)
					return err
				})
			})
		}
	}
}

// run makes b.N calls by some callers, and reports their rate.
func run(b *testing.B, callers int, call func(context.Context) error) {
	b.Helper()
	ctx := b.Context()
	if err := call(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	times := make([]time.Duration, b.N)
	for c := range callers {
		all.Go(func() {
			for n := c; n < b.N; n += callers {
				began := time.Now()
				if err := call(ctx); err != nil {
					b.Error(err)
					return
				}
				times[n] = time.Since(began)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[b.N/10].Nanoseconds()), "p10-ns")
	b.ReportMetric(float64(times[b.N/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkRawSocket is the floor: length-prefixed messages over a unix socket.
func BenchmarkRawSocket(b *testing.B) { run(b, 1, rawCall(b)) }

func rawCall(tb testing.TB) func(context.Context) error {
	conn := dialChild(tb, "raw")
	request, response := make([]byte, 4+requestBytes), make([]byte, responseBytes)
	binary.BigEndian.PutUint32(request, requestBytes)
	return func(context.Context) error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, response[:4]); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, response[:binary.BigEndian.Uint32(response)])
		return err
	}
}

// BenchmarkUnary is the same step as a unary gRPC call, as go-plugin's users make
// it, without TLS and without anything around it.
func BenchmarkUnary(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { run(b, callers, unaryCall(b)) })
	}
}

func unaryCall(tb testing.TB) func(context.Context) error {
	tb.Helper()
	path := childSocket(tb, "unary")
	cc, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cc.Close() })
	output := []byte(`"` + strings.Repeat("x", requestBytes) + `"`)
	return func(ctx context.Context) error {
		request := &wirepb.Evaluate{
			Config: &wirepb.Config{Digest: "digest"},
			Items:  []*wirepb.EvaluateRequest{{Output: output}},
		}
		return cc.Invoke(ctx, "/test.Unary/Call", request, new(wirepb.Evaluated))
	}
}

func BenchmarkColdStart(b *testing.B) {
	ctx := context.Background()
	for _, plain := range []bool{true, false} {
		b.Run(fmt.Sprintf("tls=%t", !plain), func(b *testing.B) {
			d, p, config := process.New(process.Options{PlainText: plain}), self(b, "serve"), do("pad")
			for b.Loop() {
				coldStart(ctx, b, d, p, config)
			}
		})
	}
	b.Run("exec", func(b *testing.B) {
		path, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := exec.Command(path, "plugin", "none").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// coldStart measures up to the first answer; the end is not part of it.
func coldStart(ctx context.Context, b *testing.B, d *process.Driver, p plugin.Installed, c plugin.Config) {
	i, err := d.Start(ctx, p)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := i.Evaluate(ctx, c, []*sdk.EvaluateRequest{{Output: json.RawMessage(`1`)}}); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	i.Kill(context.Canceled)
	b.StartTimer()
}

// childSocket starts another process that serves a socket, and waits for it.
func childSocket(tb testing.TB, kind string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "reflectory-")
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, kind)
	p := self(tb, "socket", path)
	cmd := exec.Command(p.Path, p.Args...)
	ready, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		tb.Fatal(err)
	}
	return path
}

func dialChild(tb testing.TB, kind string) net.Conn {
	tb.Helper()
	conn, err := net.Dial("unix", childSocket(tb, kind))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serveSocket is the other process: its socket's name says what it serves.
func serveSocket(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Println()
	if filepath.Base(path) == "unary" {
		serveUnary(l)
		return
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	request, response := make([]byte, requestBytes), make([]byte, 4+responseBytes)
	binary.BigEndian.PutUint32(response, responseBytes)
	for {
		if _, err := io.ReadFull(conn, request[:4]); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, request[:binary.BigEndian.Uint32(request)]); err != nil {
			return
		}
		if _, err := conn.Write(response); err != nil {
			return
		}
	}
}

func serveUnary(l net.Listener) {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Unary",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Call",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				if err := decode(new(wirepb.Evaluate)); err != nil {
					return nil, err
				}
				return &wirepb.Evaluated{Results: []*wirepb.EvaluateResult{{
					Outcome: &wirepb.EvaluateResult_Response{Response: &wirepb.EvaluateResponse{
						Verdict: &wirepb.Verdict{Valid: proto.Bool(true), Score: 1, Feedback: strings.Repeat("x", 150)},
					}},
				}}}, nil
			},
		}},
	}, struct{}{})
	_ = s.Serve(l)
}
