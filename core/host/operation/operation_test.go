package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// What these tests call often, by a shorter name.
const (
	here      = operationtest.Here
	elsewhere = operationtest.Elsewhere
)

type world = operationtest.World

func newWorld(t testing.TB) *world {
	t.Helper()
	return operationtest.New(t)
}

func try[Out any](w *world, name string, in any) *Out {
	w.T.Helper()
	return operationtest.Try[Out](w, name, in)
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

// answer is all that a caller gets to see of a call, in bytes.
func answer(out any, err error) string {
	return string(jsontext.MustEncode(struct {
		Out   any
		Error *core.ErrorInfo
	}{out, core.NewErrorInfo(err)}))
}
