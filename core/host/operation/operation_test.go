package operation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// The namespaces of these tests: what fixtures make is here, and a caller that only
// reaches elsewhere may not learn of it.
const (
	here      = "team/here"
	elsewhere = "team/elsewhere"
)

// world is a host on a store in memory, and what fixtures make in it.
type world struct {
	t    testing.TB
	host *host.Host
	// config is what the host is made of.
	config host.Config
	// ctx is the operator's.
	ctx context.Context
	// asker is who asks what a fixture makes a request for: turns are of who recalls.
	asker core.Caller
	// knowledge is the entry that fixtures share, since it takes long to come to.
	knowledge *core.Knowledge
	// body is what the next call brings besides its request.
	body []byte
}

// newWorld opens a host on an empty store, whose time stands and whose ids count. What
// comes before the gate waits there.
func newWorld(t testing.TB) *world {
	t.Helper()
	settings, err := config.Load(config.Sources{Folder: t.TempDir(), Flags: map[string]string{"data-dir": t.TempDir()}})
	w := &world{t: t, asker: core.Operator("tester"), ctx: core.WithCaller(t.Context(), core.Operator("tester"))}
	w.must(err)
	w.config = host.Config{Settings: settings, Store: mem.Open(), Clock: &coretest.Clock{}, IDs: &coretest.IDs{}, DeferGate: true}
	w.open()
	t.Cleanup(func() { w.must(w.host.Close()) })
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	w.host, err = host.Open(w.t.Context(), w.config)
	w.must(err)
}

// reopen opens the host again, which has the decisions that waited in the store.
func (w *world) reopen() {
	w.t.Helper()
	w.must(w.host.Close())
	w.open()
}

// must ends the test if a fixture fails.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// caller is somebody who asks, by the name that the golden file has.
type caller struct {
	name string
	core.Caller
}

// callers are nobody, each scope alone and all scopes in here, all scopes elsewhere, and
// the operator.
func callers() []caller {
	list := []caller{{name: "none"}}
	for _, s := range core.Scopes() {
		list = append(list, caller{string(s), core.Caller{Subject: "one", Scopes: []core.Scope{s}, Namespaces: []string{here + "/**"}}})
	}
	return append(list,
		caller{"here", core.Caller{Subject: "here", Scopes: core.Scopes(), Namespaces: []string{here + "/**"}}},
		caller{"elsewhere", stranger()},
		caller{"operator", core.Operator("tester")})
}

// stranger has every scope, and doesn't reach here.
func stranger() core.Caller {
	return core.Caller{Subject: "stranger", Scopes: core.Scopes(), Namespaces: []string{elsewhere + "/**"}}
}

// do calls an operation for a caller, with a copy of the request: an operation makes whole
// ids of short ones in it.
func (w *world) do(c core.Caller, name string, in any) (any, error) {
	w.t.Helper()
	request := reflect.New(reflect.TypeOf(in).Elem()).Interface()
	w.must(json.Unmarshal(core.MustJSON(in), request))
	call := operation.Call{Host: w.host, Body: bytes.NewReader(w.body), Sink: io.Discard}
	return operation.Do(core.WithCaller(w.t.Context(), c), call, name, request)
}

// try is do as the operator, which must succeed.
func try[Out any](w *world, name string, in any) *Out {
	w.t.Helper()
	out, err := w.do(core.Operator("tester"), name, in)
	w.must(err)
	return out.(*Out)
}

// refused checks the code and reason of a refusal.
func (w *world) refused(err error, code sdk.Code, reason string) {
	w.t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		w.t.Errorf("%v (%s, %s); want %s, %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
}

// answer is all that a caller gets to see of a call, in bytes.
func answer(out any, err error) string {
	return string(core.MustJSON(struct {
		Out   any
		Error *core.ErrorInfo
	}{out, core.NewErrorInfo(err)}))
}
