package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
	author "github.com/reflectory/reflectory/sdk/process"
	"github.com/reflectory/reflectory/sdk/wire"
)

// The test binary is also every plugin: "plugin BEHAVIOUR" as its arguments.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		runPlugin(os.Args[2])
		os.Exit(0)
	}
	dir, err := makeProgram()
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(coretest.WithPlainAt(m, program), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// program is this test binary, without the race detector, in a folder that other
// users may enter; they may not enter the folder of go test.
var program string

func makeProgram() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "rt"); err != nil {
		return "", err
	}
	built, err := coretest.PlainBinary(dir)
	if err != nil {
		return dir, err
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		return dir, err
	}
	program = filepath.Join(dir, "program")
	return dir, errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, binary, 0o755))
}

// runPlugin is a plugin's main, good or bad.
func runPlugin(behaviour string) {
	switch behaviour {
	case "serve":
		os.Args = os.Args[:1]
		author.Main(testPlugin())
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "crash":
		panic("broken at start")
	case "silent":
		_ = os.Stdout.Close()
		select {}
	case "hang":
		fmt.Fprintln(os.Stderr, "still loading")
		<-time.After(time.Hour)
	case "garbage":
		fmt.Println("hello, I am a plugin")
		<-time.After(time.Hour)
	case "endless":
		b := []byte(strings.Repeat("x", 4096))
		for {
			_, _ = os.Stdout.Write(b)
		}
	case "newer":
		fmt.Println("1|2|unix|/nowhere|grpc|")
		<-time.After(time.Hour)
	case "elsewhere":
		fmt.Println("1|1|unix|/var/run/other.sock|grpc|")
		<-time.After(time.Hour)
	case "cert":
		fmt.Println("1|1|unix|/nowhere|grpc|" + strings.Repeat("A", 60))
		<-time.After(time.Hour)
	case "borrowed":
		// It names a socket in its own folder that leads to another program's.
		path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "borrowed")
		if err := os.Symlink(os.Args[3], path); err != nil {
			panic(err)
		}
		fmt.Printf("1|1|unix|%s|grpc|\n", path)
		<-time.After(time.Hour)
	case "deaf":
		// A handshake without anybody behind it.
		fmt.Printf("1|1|unix|%s/none|grpc|\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
		<-time.After(time.Hour)
	case "stubborn":
		// It serves, and stays when it is asked to end.
		os.Args = os.Args[:1]
		_ = author.Serve(context.Background(), testPlugin(), author.Options{})
		fmt.Fprintln(os.Stderr, "staying")
		<-time.After(time.Hour)
	case "foreign":
		// A go-plugin program that doesn't know of sdk/process: it makes its own
		// certificate, prints it, and never reads its standard input.
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig: wire.Handshake(),
			Plugins: goplugin.PluginSet{wire.PluginName: &wire.Plugin{
				Serve: wire.NewServer(testPlugin(), wire.ServerConfig{}),
			}},
			GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
				return grpc.NewServer(append(opts, wire.ServerOptions(0)...)...)
			},
		})
	case "host", "host of children":
		runHost(os.Args[2] != "host")
	case "socket":
		serveSocket(os.Args[3])
	}
}

func self(t testing.TB, behaviour string, args ...string) plugin.Installed {
	t.Helper()
	return plugin.Installed{Name: "probe", Path: program, Args: append([]string{"plugin", behaviour}, args...)}
}

func start(t testing.TB, o process.Options, p plugin.Installed) plugin.Instance {
	t.Helper()
	i, err := process.New(o).Start(t.Context(), p)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return i
}

// do returns a config that makes the test plugin do one thing.
func do(what string, arg ...any) plugin.Config {
	b, _ := json.Marshal(map[string]any{"do": what, "arg": fmt.Sprint(arg...)})
	return plugin.Config{JSON: b, Digest: string(b)}
}

func evaluate(t testing.TB, i plugin.Instance, c plugin.Config) (*sdk.EvaluateResponse, error) {
	t.Helper()
	results, err := i.Evaluate(t.Context(), c, []*sdk.EvaluateRequest{{Output: json.RawMessage(`"text"`)}})
	if err != nil {
		return nil, err
	}
	return results[0].Response, results[0].Err
}

type behaviour struct {
	Do  string `json:"do"`
	Arg string `json:"arg"`
}

// poisoned makes the plugin fail its own health check.
var poisoned atomic.Bool

func testPlugin() sdk.Plugin {
	return sdk.Plugin{
		Health: func(context.Context) error {
			if poisoned.Load() {
				return errors.New("nothing works")
			}
			return nil
		},
		Manifest: sdk.Manifest{Name: "probe", Version: "1.0.0", Parallel: 8},
		Evaluator: func(ctx context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			var b behaviour
			if err := json.Unmarshal(config, &b); err != nil {
				return nil, err
			}
			if b.Do == "remember at prepare" {
				recalled, err := sdk.Recall(ctx, &sdk.RecallRequest{Query: "q", Limit: 1})
				if err != nil {
					return nil, err
				}
				b.Arg = recalled.Memories[0].Title
			}
			return sdk.EvaluatorFunc(b.evaluate), nil
		},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			var model struct{ LLM string }
			if err := json.Unmarshal(config, &model); err != nil {
				return nil, err
			}
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				if model.LLM != "" {
					return &sdk.GenerateResponse{Output: json.RawMessage(fmt.Sprintf("%q", model.LLM+" by "+os.Getenv("MODEL_KEY")))}, nil
				}
				if req.Emit != nil {
					req.Emit("gen")
					req.Emit("erated")
				}
				return &sdk.GenerateResponse{Output: json.RawMessage(`"generated"`)}, nil
			}), nil
		},
		Corrector: func(context.Context, json.RawMessage) (sdk.Corrector, error) {
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: req.Output}, nil
			}), nil
		},
	}
}

func (b behaviour) evaluate(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	said := func(feedback string) (*sdk.EvaluateResponse, error) {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1, Feedback: feedback}}, nil
	}
	if b.Do == "poison" {
		poisoned.Store(true)
		return said("poisoned")
	}
	if name, ok := strings.CutPrefix(b.Do, "attack "); ok {
		return said(attack(name, b.Arg))
	}
	switch b.Do {
	case "environ":
		return said(strings.Join(os.Environ(), "\n"))
	case "processors":
		return said(fmt.Sprint(runtime.GOMAXPROCS(0)))
	case "spin":
		for ctx.Err() == nil {
		}
		return nil, ctx.Err()
	case "pid":
		return said(fmt.Sprint(os.Getpid()))
	case "child":
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return said(fmt.Sprint(os.Getpid()))
	case "exit":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(4)
	case "crash":
		go func() { panic("cheese crash") }()
		select {}
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "hang":
		<-time.After(time.Hour)
	case "panic":
		panic("no cheese")
	case "huge":
		return said(strings.Repeat("x", 2<<20))
	case "nan":
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: math.NaN()}}, nil
	case "log":
		slog.Warn("cheese is low", "left", 3)
		fmt.Println("printed")
		return said("")
	case "flood":
		n, err := strconv.Atoi(b.Arg)
		if err != nil {
			return nil, err
		}
		for i := range n {
			slog.Info("flood", "n", i)
		}
		return said("")
	case "ask":
		r, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: b.Arg})
		if err != nil {
			return nil, err
		}
		return said(r.Text())
	case "log run":
		slog.InfoContext(ctx, "with a context")
		slog.Info("without", "run_id", b.Arg)
		return said("")
	case "spy":
		report, err := spy(ctx)
		if err != nil {
			return nil, err
		}
		return said(report)
	case "remember at prepare":
		return said(b.Arg)
	case "leak":
		fmt.Fprintln(os.Stderr, "the key is "+os.Getenv("KEY"))
		slog.Info("key "+os.Getenv("KEY"), "key", os.Getenv("KEY"))
		if b.Arg == "exit" {
			fmt.Fprintln(os.Stderr, "panic: "+os.Getenv("KEY"))
			<-time.After(50 * time.Millisecond) // go-plugin carries the line over gRPC
			os.Exit(4)
		}
		return said("")
	case "pad":
		return said(strings.Repeat("x", 150))
	}
	return said("")
}

// runHost is a host that is going to be killed: it prints a line once its plugin,
// and the plugin's child if it may have one, run.
func runHost(children bool) {
	p := plugin.Installed{Name: "probe", Path: os.Args[0], Args: []string{"plugin", "serve"}}
	what := "ok"
	if children {
		what, p.Limits.Processes, p.Granted.FS = "child", 2, []string{"system"}
	}
	i, err := process.New(process.Options{}).Start(context.Background(), p)
	if err != nil {
		panic(err)
	}
	results, err := i.Evaluate(context.Background(), do(what), []*sdk.EvaluateRequest{{}})
	if err != nil || results[0].Err != nil {
		panic(fmt.Sprint(err, results))
	}
	fmt.Println("running")
	select {}
}
