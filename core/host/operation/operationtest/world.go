// Package operationtest has what tests of operations, and of the surfaces that offer
// them, need: a host on a store in memory with a fixed time and counted ids, and for each
// operation a valid request and its refusals.
//
// Two worlds that are made in the same way hold the same bytes, so that a test can do one
// request in each, through two surfaces, and compare the answers. Only tests import it.
//
// It is internal to Reflectory: its API may change in any release.
package operationtest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// The namespaces of these tests: fixtures create everything in Here, and a caller that
// only reaches Elsewhere may not learn about it.
const (
	Here      = "team/here"
	Elsewhere = "team/elsewhere"
)

// Agent is the name of the operators in these tests.
const Agent = "tester"

// World is a host on a store in memory, and what fixtures create in it.
type World struct {
	T    testing.TB
	Host *host.Host
	// Config is the host's config, and Folder has reflectory.yaml, the lock, the plugins
	// and, in data, everything but the store.
	Config host.Config
	Folder string
	// Ctx is the operator's.
	Ctx context.Context
	// Asker is the caller for whom a fixture makes a request: a turn belongs to its
	// caller.
	Asker core.Caller
	// Body is the body of the next call.
	Body []byte

	// knowledge is the entry that fixtures share, since it takes long to create.
	knowledge *core.Knowledge
}

// New opens a host on an empty store. Memories that come before the gate wait there.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, mem.Open())
}

// NewOn is New on a store.
func NewOn(t testing.TB, s core.Store) *World {
	t.Helper()
	w := newWorld(t)
	w.Config.DeferGate = true
	return w.started(s)
}

// NewWithJudge is New with the plugin test/judge, which the test's program must be able
// to serve: see [ServeJudge]. The gate decides at once. The caller closes the store; nil
// is the store of the data folder.
func NewWithJudge(t testing.TB, s core.Store) *World {
	t.Helper()
	w := newWorld(t)
	w.installJudge()
	return w.started(s)
}

func newWorld(t testing.TB) *World {
	operator := core.Operator(Agent)
	return &World{
		T: t, Folder: t.TempDir(), Asker: operator, Ctx: core.WithCaller(t.Context(), operator),
		Config: host.Config{
			Clock: &coretest.Clock{}, IDs: &coretest.IDs{}, Random: &coretest.Random{}, Version: "1.2.3",
			Server: &host.Server{URL: "https://example.com", Listen: "127.0.0.1:7842", Encryption: access.EncryptionProxy, Auth: "token"},
		},
	}
}

// started loads the settings and opens the host.
func (w *World) started(s core.Store) *World {
	w.T.Helper()
	settings, err := config.Load(config.Sources{Folder: w.Folder, Flags: w.Flags(), Getenv: func(name string) string {
		return map[string]string{"REFLECTORY_BACKUP_DIR": w.Folder}[name]
	}})
	w.Must(err)
	w.Config.Settings, w.Config.Store = settings, s
	w.Open()
	w.T.Cleanup(func() { w.Must(w.Host.Close()) })
	return w
}

// Flags are the settings that make a host of this world, by their flags' names.
func (w *World) Flags() map[string]string {
	return map[string]string{
		"data-dir": filepath.Join(w.Folder, "data"), "lock": filepath.Join(w.Folder, install.LockFile),
		"plugin-dir": filepath.Join(w.Folder, "plugins"), "sandbox": "off", "agent": Agent,
	}
}

// Open opens the host.
func (w *World) Open() {
	w.T.Helper()
	var err error
	w.Host, err = host.Open(w.T.Context(), w.Config)
	w.Must(err)
}

// Reopen opens the host again, so that queued decisions are in the store.
func (w *World) Reopen() {
	w.T.Helper()
	w.Must(w.Host.Close())
	w.Open()
}

// Must ends the test if a fixture fails.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// File writes a file of the world's folder, and returns its path.
func (w *World) File(name, text string) string {
	w.T.Helper()
	path := filepath.Join(w.Folder, filepath.FromSlash(name))
	w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.Must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Do calls an operation for a caller, with a copy of the request: an operation completes
// short ids in it.
func (w *World) Do(c core.Caller, name string, in any) (any, error) {
	w.T.Helper()
	call := operation.Call{Host: w.Host, Body: bytes.NewReader(w.Body), Sink: io.Discard}
	return operation.Do(core.WithCaller(w.T.Context(), c), call, name, w.Again(in))
}

// Try is Do as the operator, which must succeed.
func Try[Out any](w *World, name string, in any) *Out {
	w.T.Helper()
	out, err := w.Do(core.Operator(Agent), name, in)
	w.Must(err)
	return out.(*Out)
}

// Refused checks the code and reason of a refusal.
func (w *World) Refused(err error, code sdk.Code, reason string) {
	w.T.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		w.T.Errorf("%v (%s, %s); want %s, %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
}
