package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// FuzzQuery: whatever is sent as a query of any operation is refused as invalid, or is a
// request whose own query means the same again.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "limit=5&page_token=x", "states=open&states=active", "subtree=true", "limit=1&limit=2", "limit=1e1", "now=true&upstream_status=0.5",
		"notes=a&notes=%00", "notes=\xff", "%zz", "a=1;b=2", "lines=-1", "namespace=", "upstream_status=NaN", "limit=0x10",
	} {
		for i := range uint8(4) {
			f.Add(query, i)
		}
	}
	var routes []*route
	for _, o := range operation.Table() {
		if rt := newRoute(o); rt.inQuery() {
			routes = append(routes, rt)
		}
	}
	f.Fuzz(func(t *testing.T, query string, which uint8) {
		rt := routes[int(which)%len(routes)]
		in := reflect.New(rt.In()).Interface()
		if err := decodeQuery(query, in, rt.taken); err != nil {
			if sdk.CodeOf(err) != sdk.Invalid {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		for _, name := range rt.taken {
			fieldAt(reflect.ValueOf(in).Elem(), fieldsOf(rt.In())[name].index).SetString("x")
		}
		r, err := client.NewRequest(t.Context(), "http://localhost", &rt.Operation, in, nil)
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		again := reflect.New(rt.In()).Interface()
		if err := decodeQuery(r.URL.RawQuery, again, rt.taken); err != nil {
			t.Fatalf("%q, then %q: %v", query, r.URL.RawQuery, err)
		}
		for _, name := range rt.taken {
			fieldAt(reflect.ValueOf(again).Elem(), fieldsOf(rt.In())[name].index).SetString("x")
		}
		if one, two := jsontext.MustEncode(in), jsontext.MustEncode(again); string(one) != string(two) {
			t.Errorf("%q is %s, and then %s", query, one, two)
		}
	})
}

// FuzzBody: whatever is sent as a body is refused as invalid, or decoded as encoding/json
// does, with nothing left over, but for integers that are written as 5.0.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"content":"a","namespace":"b","tags":["x"]}`, `{"content":null}`, `{"metadata":{"a":[1,{"b":2}]}}`, `{"priority":1e2}`,
		`{"items":[null]}`, `{"items":[{"content":7}]}`, `{"a":1,"a":2}`, `[]`, `{"":1}`, `{"since":"x"}`, `{"outcomes":{"tool":1}}`, "\xff", `{"content":"\ud800"}`,
	} {
		for i := range uint8(6) {
			f.Add([]byte(body), i)
		}
	}
	var routes []*route
	for _, o := range operation.Table() {
		if rt := newRoute(o); !rt.inQuery() && (rt.Method == http.MethodPost || rt.Method == http.MethodPut) {
			routes = append(routes, rt)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		rt := routes[int(which)%len(routes)]
		in, plain := reflect.New(rt.In()).Interface(), reflect.New(rt.In()).Interface()
		if err := decodeBody(body, in, rt.taken); err != nil {
			if code := sdk.CodeOf(err); code != sdk.Invalid && code != sdk.Exhausted {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if err := json.Unmarshal(PlainIntegers(bytes.TrimSpace(body), rt.In()), plain); err != nil || !reflect.DeepEqual(in, plain) {
			t.Errorf("%q is %+v, and by encoding/json %+v, %v", body, in, plain, err)
		}
	})
}

// TestQuery_GoesThereAndBack: what a request holds is what arrives, whatever is in its
// texts.
func TestQuery_GoesThereAndBack(t *testing.T) {
	half := 0.5
	for name, in := range map[string]any{
		"memory_list":  &operation.MemoryList{Namespace: "a/b c&d=é", Subtree: true, Tags: []string{"x,y", "", "+ %"}, Paging: operation.Paging{Limit: 7}},
		"gate_explain": &operation.GateExplain{ID: "a/b", OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: &half}, Notes: []string{"true", "1"}, Now: true},
	} {
		o, err := operation.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.NewRequest(t.Context(), "http://localhost", &o, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		again := reflect.New(o.In()).Interface()
		if err := decodeQuery(r.URL.RawQuery, again, newRoute(o).taken); err != nil {
			t.Fatal(err)
		}
		if e, ok := again.(*operation.GateExplain); ok {
			if got := r.URL.EscapedPath(); got != "/v1/gate/"+url.PathEscape("a/b")+"/explain" {
				t.Errorf("the path is %s", got)
			}
			e.ID = "a/b"
		}
		if !reflect.DeepEqual(in, again) {
			t.Errorf("%+v came as %+v", in, again)
		}
	}
}
