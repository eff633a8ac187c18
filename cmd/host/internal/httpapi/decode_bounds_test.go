package httpapi

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// many repeats a piece of JSON, with its number, until it has about a MiB.
func many(start, piece, end string) string {
	var b strings.Builder
	b.WriteString(start)
	for i := 0; b.Len() < coretest.Cases(1<<17, 1<<20)-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, piece, i)
	}
	return b.String() + end
}

// TestDecode_OfManyFaultsIsBounded: whatever a MiB of wrong fields looks like, the answer names at
// most 64 of them, none at length, and reading it takes memory in proportion to the body.
func TestDecode_OfManyFaultsIsBounded(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	long := strings.Repeat("n", 900<<10)
	for _, c := range []struct {
		name string
		in   any
		body string
	}{
		{"unknown fields", new(core.ObserveRequest), many("{", `"f%d":0`, "}")},
		{"unknown fields of objects", new(core.ObserveRequest), many("{", `"f%d":{}`, "}")},
		{"names like a field's", new(core.ObserveRequest), many("{", `"content%d":0`, "}")},
		{"long unknown names", new(core.ObserveRequest), many("{", `"`+strings.Repeat("n", 9000)+`%d":0`, "}")},
		{"one unknown name", new(core.ObserveRequest), `{"` + long + `":0}`},
		{"names to escape", new(core.ObserveRequest), many("{", `"~/~/%d":0`, "}")},
		{"names of control characters", new(core.ObserveRequest), many("{", `"\u0001\u0002%d":0`, "}")},
		{"unknown fields within a list", new(inject.BuildRequest), many(`{"blocks":[{`, `"f%d":0`, "}]}")},
		{"a list of unknown fields", new(inject.BuildRequest), many(`{"blocks":[`, `{"f%d":0}`, "]}")},
		{"a list of the wrong type", new(core.ObserveRequest), many(`{"tags":[`, `%d`, "]}")},
		{"a list of lists", new(core.ObserveRequest), many(`{"tags":[`, `[%d]`, "]}")},
		{"long names of a map", new(operation.PolicyPush), many(`{"files":{`, `"`+strings.Repeat("n", 9000)+`%d":[]`, "}}")},
		{"one long name of a map", new(operation.PolicyPush), `{"files":{"` + long + `":[]}}`},
		{"one name again and again", new(core.RecallRequest), many("{", `"limit":%d`, "}")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := decodeBody([]byte(c.body), c.in, nil)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("it is taken")
			}
			problems, _ := sdk.AsError(err).Details["problems"].([]*core.ErrorInfo)
			if text := jsontext.MustEncode(core.NewErrorInfo(err)); len(problems) > 64 || len(text) > 64<<10 {
				t.Errorf("%d faults are named in %d bytes", len(problems), len(text))
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 { // it was up to 1,400
				t.Errorf("it takes %d MiB", took)
			}
		})
	}
	query := strings.Repeat("&f", 100)
	for i := range 100 {
		query = strings.Replace(query, "&f", fmt.Sprintf("&g%d=x", i), 1)
	}
	problems, _ := sdk.AsError(decodeQuery(query[1:], new(operation.SessionList), nil)).Details["problems"].([]*core.ErrorInfo)
	if len(problems) != 64 {
		t.Errorf("%d faults of a query are named", len(problems))
	}
}

// TestRequests_HaveTheServersDepth: a tool's arguments may be nested as deep as a request's JSON.
func TestRequests_HaveTheServersDepth(t *testing.T) {
	observe, err := operation.Find("memory_observe")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ limit, depth int }{{0, MaxJSONDepth}, {8, 8}, {100, 100}} {
		for depth, want := range map[int]string{c.depth: "", c.depth + 1: "json_too_deep"} {
			nested := strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2)
			body := `{"namespace":"n","content":"a","metadata":{"a":` + nested + `}}`
			if err := (Requests{JSONDepth: c.limit}).Decode(&observe, []byte(body), new(core.ObserveRequest)); sdk.ReasonOf(err) != want {
				t.Errorf("limit %d, depth %d: %v", c.limit, depth, err)
			}
		}
	}
}
