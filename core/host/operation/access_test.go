package operation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestEachOperationIsDoneForWhoMay is the matrix of operations and callers: the answer that
// each caller gets, in testdata/access.golden.
func TestEachOperationIsDoneForWhoMay(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	var golden strings.Builder
	for _, o := range operationtest.Table(t) {
		fmt.Fprintf(&golden, "%s: %s %s, %s\n", o.Name, o.Method, o.Path, scopes(o))
		t.Run(o.Name, func(t *testing.T) { golden.WriteString(outcomes(newWorld(t), o.Name)) })
	}
	coretest.Golden(t, "access.golden", golden.String())
}

// outcomes are the answers of an operation, each with the callers that get it.
func outcomes(w *world, name string) string {
	whose := map[string][]string{}
	for _, c := range callers() {
		w.Body, w.Asker = nil, c.Caller
		_, err := w.Do(c.Caller, name, w.ValidRequest(name))
		outcome := "ok"
		if err != nil {
			outcome = fmt.Sprint(sdk.CodeOf(err), " ", sdk.ReasonOf(err))
		}
		whose[outcome] = append(whose[outcome], c.name)
	}
	var list strings.Builder
	for _, outcome := range slices.Sorted(maps.Keys(whose)) {
		fmt.Fprintf(&list, "    %s: %s\n", outcome, strings.Join(whose[outcome], ", "))
	}
	return list.String()
}

// scopes are the scopes of which a caller needs one.
func scopes(o operation.Operation) string {
	var names []string
	for _, s := range o.Scopes() {
		names = append(names, string(s))
	}
	return strings.Join(names, " or ")
}

// TestNothingIsLearntElsewhere lets callers who don't reach what a request is about ask for
// it on a host that has it, and on one that has nothing: the answers are the same bytes.
func TestNothingIsLearntElsewhere(t *testing.T) {
	w := newWorld(t)
	callers := map[string]core.Caller{"none": {}, "stranger": stranger()}
	for _, o := range operationtest.Table(t) {
		if o.Name == "status" {
			continue // it is about the host, not about what is in a namespace
		}
		t.Run(o.Name, func(t *testing.T) {
			w.T, w.Body = t, nil
			in := w.ValidRequest(o.Name)
			for name, c := range callers {
				empty := newWorld(t)
				empty.Body = w.Body
				there, absent := answer(w.Do(c, o.Name, in)), answer(empty.Do(c, o.Name, in))
				if there != absent {
					t.Errorf("%s is answered\n%s\nand where it isn't\n%s", name, there, absent)
				}
			}
		})
	}
}
