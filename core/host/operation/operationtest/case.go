package operationtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
)

// Case is a request to which every surface must give the same answer.
type Case struct {
	Operation string
	// Name describes what is special about the request; "" is a valid one.
	Name string
	// Make makes the request in a world, and the things that it needs there.
	Make func(*World) any
	// Needs is what the world needs besides a store in memory.
	Needs Needs
}

// Needs is what a case needs from its world.
type Needs int

const (
	// Nothing is a world of [New].
	Nothing Needs = iota
	// Judge is one with the plugin test/judge.
	Judge
	// Folder is one whose store is in its folder.
	Folder
)

// String is the case's name as a test.
func (c Case) String() string {
	if c.Name == "" {
		return c.Operation
	}
	return c.Operation + "/" + c.Name
}

// Cases are a valid request of each operation, its refusals, and a denial by the access
// policy, sorted by operation.
func Cases() []Case {
	var cases []Case
	for name, fixture := range Fixtures() {
		cases = append(cases,
			Case{Operation: name, Make: fixture},
			Case{Operation: name, Name: "denied by a policy", Make: func(w *World) any { w.deny(); return fixture(w) }})
	}
	cases = append(cases, successes()...)
	cases = append(cases, refusals()...)
	slices.SortStableFunc(cases, func(a, b Case) int { return strings.Compare(a.String(), b.String()) })
	return cases
}

// Worlds makes the case's world, and returns a function that copies it for a test or one of
// its subtests, with the request, as often as it is called: each surface begins with the same
// store, files, time and ids. A copy takes the folder of the one before it. The world's host
// is closed: a surface opens its own with [World.Config].
func (c Case) Worlds(t testing.TB) func(testing.TB) (*World, any) {
	t.Helper()
	var made *World
	switch c.Needs {
	case Judge:
		made = NewWithJudge(t, mem.Open())
	case Folder:
		made = NewWithJudge(t, nil)
	default:
		made = New(t)
	}
	in := c.Make(made)
	made.Must(made.Host.Close())
	kept := filepath.Join(t.TempDir(), "kept")
	made.Must(os.CopyFS(kept, os.DirFS(made.Folder)))
	count := counted(made.Config.IDs)
	return func(t testing.TB) (*World, any) {
		w := *made
		w.T, w.Ctx = t, core.WithCaller(t.Context(), core.Operator(Agent))
		w.Must(os.RemoveAll(w.Folder))
		w.Must(os.CopyFS(w.Folder, os.DirFS(kept)))
		w.Must(onlyOwners(w.Folder))
		if w.Config.Store != nil {
			w.Config.Store = w.copied(made.Config.Store)
		}
		ids := &coretest.IDs{}
		for range count {
			ids.NewID()
		}
		w.Config.IDs, w.Config.Random = ids, &coretest.Random{}
		return &w, w.Again(in)
	}
}

// onlyOwners takes the files of a folder from everybody but their owner: a copy has more
// rights than there were, with which a token isn't read.
func onlyOwners(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode()&0o700)
	})
}

// counted is how many ids were made.
func counted(ids core.IDs) int {
	var next int
	_, _ = fmt.Sscanf(ids.NewID(), "00000000-0000-7000-8000-%x", &next)
	return next - 1
}

// copied is a store in memory with the same contents as another.
func (w *World) copied(from core.Store) core.Store {
	w.T.Helper()
	to := mem.Open()
	w.Must(from.View(w.Ctx, func(r core.Reader) error {
		return to.Update(w.Ctx, func(tx core.Tx) error {
			return r.Scan(nil, nil, func(key, value []byte) (bool, error) { return true, tx.Put(key, value) })
		})
	}))
	return to
}

// Again is a copy of a request that the next call may change: an operation completes
// short ids in it.
func (w *World) Again(in any) any {
	copied := reflect.New(reflect.TypeOf(in).Elem())
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, copied.Interface())
	}
	if err != nil { // a Go request may have values that JSON can't
		copied.Elem().Set(reflect.ValueOf(in).Elem())
	}
	return copied.Interface()
}

// deny has the access policy refuse everything, from the next opening of the host on.
func (w *World) deny() {
	w.File("data/policies/access/none.yaml", `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "we are closed"}'}]}`)
}

// AskGo is the surface of Go programs: the answer of a host that is opened for one call
// of the operator's. The other surfaces are compared with it.
func AskGo(w *World, name string, in any) string {
	w.T.Helper()
	return AskAs(w, core.Operator(Agent), name, in)
}

// AskQueued is AskGo with a job for long work.
func AskQueued(w *World, name string, in any) string {
	w.T.Helper()
	return ask(w, core.Operator(Agent), operation.Call{Queue: true}, name, in)
}

// AskAs is AskGo for any caller.
func AskAs(w *World, caller core.Caller, name string, in any) string {
	w.T.Helper()
	return ask(w, caller, operation.Call{}, name, in)
}

func ask(w *World, caller core.Caller, call operation.Call, name string, in any) string {
	w.T.Helper()
	h, err := host.Open(w.T.Context(), w.Config)
	w.Must(err)
	defer func() { w.Must(h.Close()) }()
	var sink bytes.Buffer
	call.Host, call.Sink = h, &sink
	if w.Body != nil {
		call.Body = bytes.NewReader(w.Body)
	}
	out, err := operation.Do(core.WithCaller(context.WithoutCancel(w.T.Context()), caller), call, name, in)
	return w.Answer(out, err)
}

// Answer is everything that a caller gets to see of a call, as JSON.
func (w *World) Answer(out any, err error) string {
	w.T.Helper()
	answer := out
	if err != nil {
		members := map[string]any{}
		if out != nil {
			w.Must(json.Unmarshal(jsontext.MustEncode(out), &members))
		}
		members["error"] = core.NewErrorInfo(err)
		answer = members
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	w.Must(enc.Encode(answer))
	return strings.TrimSpace(text.String())
}

// Export is an export of the world's store.
func (w *World) Export() []byte {
	w.T.Helper()
	var text bytes.Buffer
	_, err := operation.Do(w.Ctx, operation.Call{Host: w.Host, Sink: &text}, "store_export", &operation.StoreExport{})
	w.Must(err)
	return text.Bytes()
}

// emptyStore empties the world's store.
func (w *World) emptyStore() {
	w.T.Helper()
	w.Must(w.Host.Close())
	w.Must(os.RemoveAll(host.StoreDir(w.Config.Settings)))
	w.Open()
}
