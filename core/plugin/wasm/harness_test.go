package wasm_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// shared is what all tests of the package use: modules that are built once, and
// their compiled code.
var shared struct {
	dir     string
	mu      sync.Mutex
	modules map[string]string
}

// concurrent matches the tests in which several things happen at once: compilers, calls of
// one instance or of several, deadlines, and what is kept of verdicts.
const concurrent = `^Test((Compile|Scope)_|EveryRunIsTheSame|ADeadlineEnds|KillEnds|AnUnmetered|ASupervisor|TimeInTheHost|Verdicts|TheOldestVerdicts|WhatIsKept)`

func TestOthersWithoutTheRaceDetector(t *testing.T) { coretest.Rest(t, concurrent) }

func TestMain(m *testing.M) {
	if path := os.Getenv(orphanVariable); path != "" {
		compileForever(path)
		return
	}
	dir, err := os.MkdirTemp("", "reflectory-wasm-")
	if err != nil {
		panic(err)
	}
	shared.dir, shared.modules = dir, map[string]string{}
	coretest.Split(concurrent, "TestOthersWithoutTheRaceDetector")
	code := coretest.WithPlain(m).Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// orphanVariable makes this test binary a host that compiles a module, until it is
// killed.
const orphanVariable = "REFLECTORY_TEST_COMPILE"

func compileForever(path string) {
	d, err := wasm.New(wasm.Options{CacheDir: filepath.Dir(path)})
	if err == nil {
		_, err = d.Compile(context.Background(), plugin.Installed{Name: "acme/bomb", Path: path})
	}
	panic(err)
}

// modules is where the modules written in C are.
const modules = "../../../testdata/modules"

// goGuest is the path of the guest in testdata/guest, as a reactor or a command.
func goGuest(t testing.TB, mode string) string {
	t.Helper()
	coretest.Long(t) // it takes seconds to build and to compile
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if path := shared.modules[mode]; path != "" {
		return path
	}
	path := filepath.Join(shared.dir, "guest-"+mode+".wasm")
	cmd := exec.Command("go", "build", "-o", path, "-buildmode="+mode, ".")
	cmd.Dir = filepath.Join("testdata", "guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	shared.modules[mode] = path
	return path
}

// newDriver returns a driver with the code cache that all tests share, and no
// cache of verdicts.
func newDriver(t testing.TB, o wasm.Options) *wasm.Driver {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(shared.dir, "cache")
		o.VerdictCacheBytes = -1
	}
	d, err := wasm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func start(t testing.TB, d *wasm.Driver, p plugin.Installed) plugin.Instance {
	t.Helper()
	p.Runtime = plugin.RuntimeWASM
	if p.Name == "" {
		p.Name = "guest"
	}
	p.Limits.StartTimeout = 1e12 // a cold compilation under the race detector takes minutes
	i, err := d.Start(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func config(text string) plugin.Config {
	return plugin.Config{JSON: json.RawMessage(text), Digest: core.Digest(json.RawMessage(text))}
}

func do(what string) plugin.Config { return config(`{"do":"` + what + `"}`) }

// evaluate judges one output.
func evaluate(i plugin.Instance, c plugin.Config, output string) (*sdk.EvaluateResponse, error) {
	return evaluateWith(context.Background(), i, c, output)
}

func evaluateWith(ctx context.Context, i plugin.Instance, c plugin.Config, output string) (*sdk.EvaluateResponse, error) {
	results, err := i.Evaluate(ctx, c, []*sdk.EvaluateRequest{{Call: sdk.Call{RunID: "r1", IdempotencyKey: "k1", Node: "n"}, Output: json.RawMessage(output)}})
	if err != nil {
		return nil, err
	}
	return results[0].Response, results[0].Err
}

// feedback is the feedback of a verdict that has to come.
func feedback(t testing.TB, i plugin.Instance, c plugin.Config) string {
	t.Helper()
	r, err := evaluate(i, c, `1`)
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict.Feedback
}
