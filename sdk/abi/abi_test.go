package abi_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// Guests in other languages depend on these numbers and names.
func TestNumbersAndNamesStay(t *testing.T) {
	want := map[abi.Op]string{0: "", 1: "describe", 2: "prepare", 3: "evaluate", 4: "generate", 5: "correct", 6: "", math.MaxUint32: ""}
	for op, name := range want {
		if op.String() != name {
			t.Errorf("%d is %q", op, op.String())
		}
		if name != "" && abi.ParseOp(name) != op {
			t.Errorf("%q is %d", name, abi.ParseOp(name))
		}
	}
	if abi.ParseOp("gone") != 0 || abi.Version != 1 {
		t.Error("an unknown name, or another version")
	}
	if ptr, size := abi.Unpack(abi.Pack(0xfffffffe, 7)); ptr != 0xfffffffe || size != 7 || abi.Pack(1, 2) != 1<<32|2 {
		t.Errorf("%x %x", ptr, size)
	}
}

func TestMessagesKeepTheirForm(t *testing.T) {
	for want, message := range map[string]any{
		`{"kind":"evaluator","config":{"digest":"d","json":{}}}`: abi.Request{Kind: sdk.KindEvaluator, Config: &abi.Config{Digest: "d", JSON: json.RawMessage(`{}`)}},
		`{"op":"evaluate","config":{"digest":"d"},"items":[1]}`:  abi.Request{Op: "evaluate", Config: &abi.Config{Digest: "d"}, Items: json.RawMessage(`[1]`)},
		`{"run_id":"r","emit":true}`:                             abi.Generate{GenerateRequest: sdk.GenerateRequest{Call: sdk.Call{RunID: "r"}}, Emit: true},
		`{"results":[{"error":{"code":"invalid","reason":"r","message":"m","hint":"h","details":{"n":1}}}]}`: abi.Reply[struct{}]{Results: []abi.Result[struct{}]{
			{Error: abi.NewError(sdk.Errorf(sdk.Invalid, "r", "m").WithHint("h").WithDetail("n", 1))},
		}},
		`{"url":"u","body":"aGk="}`:         abi.HTTPRequest{URL: "u", Body: []byte("hi")},
		`{"service":"cache","body":[true]}`: abi.ServiceRequest{Service: "cache", Body: json.RawMessage(`[true]`)},
	} {
		b, err := json.Marshal(message)
		if err != nil || string(b) != want {
			t.Errorf("%s, want %s: %v", b, want, err)
		}
	}
}

// A few bytes of JSON for each would become a hundred times as many.
func TestAVerdictOfTooManyPartsIsNotDecoded(t *testing.T) {
	const many = 60_000
	findings := strings.Repeat(`,{"message":"[m, \"n\""}`, many)[1:]
	for name, tt := range map[string]struct {
		verdict string
		refused bool
	}{
		"many findings":              {`{"valid":false,"errors":[` + findings + `]}`, false},
		"too many findings":          {`{"valid":false,"errors":[` + findings + `,` + findings + `]}`, true},
		"too many children":          {`{"valid":true,"children":{"a":{"valid":true}` + strings.Repeat(`,"a":{"valid":true}`, 2*many) + `}}`, true},
		"too many findings together": {`{"valid":true,"children":{"a":{"valid":true,"errors":[` + findings + `]},"b":{"valid":true,"errors":[` + findings + `]}}}`, true},
	} {
		var e abi.Evaluated
		err := json.Unmarshal([]byte(`{"verdict":`+tt.verdict+`}`), &e)
		if (err != nil) != tt.refused || e.Instead != "" || tt.refused && len(e.Verdict.Errors)+len(e.Verdict.Children) > 0 {
			t.Errorf("%s: %v %.100s", name, err, e.Instead)
		}
	}
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	e := &sdk.Error{Code: sdk.Denied, Reason: "r", Op: "o", Message: "m", Hint: "h", Details: map[string]any{"n": "v"}}
	if diff := cmp.Diff(e, abi.NewError(e).SDK()); diff != "" {
		t.Error(diff)
	}
	if abi.NewError(nil) != nil || (*abi.Error)(nil).SDK() != nil {
		t.Error("nil isn't nil")
	}
	lost := abi.NewError(&sdk.Error{Code: sdk.Internal, Details: map[string]any{"f": math.NaN()}})
	if len(lost.Details) > 0 || (&abi.Error{Details: json.RawMessage(`[1]`)}).SDK().Details != nil {
		t.Error("details that are no object")
	}
}
