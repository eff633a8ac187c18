package wire

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func samples() map[string]struct{ sdk, encoded, decoded any } {
	call := sdk.Call{RunID: "run-1", Node: "extract", Iteration: 3, Role: sdk.RoleCorrect, IdempotencyKey: "k"}
	state, output := json.RawMessage(`{"a":1}`), json.RawMessage(`"text"`)
	findings := []sdk.Finding{{
		Message: "m", Path: "/a", SchemaPath: "/b", Code: "required", Type: "t", Severity: "error", Source: "s",
	}}
	usage := sdk.Usage{TokensIn: 1, TokensOut: 2, CostUSD: 0.5}
	metadata := map[string]string{"model": "m"}

	manifest := &sdk.Manifest{
		Name: "probe", Version: "1.0.0", Contract: 1, Kinds: []sdk.Kind{sdk.KindEvaluator}, Description: "d",
		ConfigSchema: state, Capabilities: []string{"network"}, Parallel: 2,
	}
	evaluate := &sdk.EvaluateRequest{Call: call, State: state, Output: output}
	generate := &sdk.GenerateRequest{Call: call, State: state}
	correct := &sdk.CorrectRequest{Call: call, State: state, Output: output, Errors: findings, Feedback: "f"}
	evaluated := sdk.EvaluateResult{Response: &sdk.EvaluateResponse{
		Verdict: sdk.Verdict{Valid: true, Score: 0.5, Errors: findings, Feedback: "f", Output: output,
			Children: map[string]sdk.Verdict{"child": {Valid: true, Score: 1}}},
		Usage: usage, Metadata: metadata,
	}}
	generated := sdk.GenerateResult{Response: &sdk.GenerateResponse{Output: output, Usage: usage, Metadata: metadata}}
	corrected := sdk.CorrectResult{Response: &sdk.CorrectResponse{Output: output, Usage: usage, Metadata: metadata}}
	failed := &sdk.Error{
		Code: sdk.Denied, Reason: "r", Op: "o", Message: "m", Hint: "h", Details: map[string]any{"n": 1.0},
	}
	ask := &sdk.LLMRequest{Prompt: "p", System: "s", Temperature: new(float64), MaxTokens: 9, Parse: "json"}
	answer := &sdk.LLMResponse{Output: output, Usage: usage, Metadata: metadata}
	return map[string]struct{ sdk, encoded, decoded any }{
		"host_call":         {ask, hostCallFrame(ask), decodedAs(hostCallFrame(ask).GetHostCall().GetBody(), new(sdk.LLMRequest))},
		"host_reply":        {answer, hostReplyFrame(answer), decodedAs(hostReplyFrame(answer).GetHostReply().GetBody(), new(sdk.LLMResponse))},
		"manifest":          {manifest, encodeManifest(manifest), decodeManifest(encodeManifest(manifest))},
		"evaluate_request":  {evaluate, encodeEvaluateRequest(evaluate), decodeEvaluateRequest(encodeEvaluateRequest(evaluate))},
		"generate_request":  {generate, encodeGenerateRequest(generate), decodeGenerateRequest(encodeGenerateRequest(generate))},
		"correct_request":   {correct, encodeCorrectRequest(correct), decodeCorrectRequest(encodeCorrectRequest(correct))},
		"evaluate_response": {evaluated, encodeEvaluateResult(evaluated).GetResponse(), decodeEvaluateResult(encodeEvaluateResult(evaluated))},
		"generate_response": {generated, encodeGenerateResult(generated).GetResponse(), decodeGenerateResult(encodeGenerateResult(generated))},
		"correct_response":  {corrected, encodeCorrectResult(corrected).GetResponse(), decodeCorrectResult(encodeCorrectResult(corrected))},
		"error":             {failed, encodeError(failed), decodeHostError(encodeError(failed))},
	}
}

func hostCallFrame(v any) *wirepb.Reply {
	return &wirepb.Reply{Id: 5, Body: &wirepb.Reply_HostCall{HostCall: encodeHostCall(7, sdk.ServiceLLM, marshalled(v))}}
}

func hostReplyFrame(v any) *wirepb.Request {
	return &wirepb.Request{Id: 5, Body: &wirepb.Request_HostReply{HostReply: encodeHostReply(7, marshalled(v), nil)}}
}

func marshalled(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func decodedAs(b []byte, v any) any {
	if err := json.Unmarshal(b, v); err != nil {
		panic(err)
	}
	return v
}

// The golden files hold both forms: the JSON of package sdk, and the fields on
// the wire by number. A change of either is a change of the contract.
func TestGoldenMessages(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(s.sdk, s.decoded); diff != "" {
				t.Errorf("lost on the way:\n%s", diff)
			}
			got := goldenText(t, s.sdk, s.encoded.(proto.Message))
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func goldenText(t *testing.T, v any, m proto.Message) string {
	t.Helper()
	switch r := v.(type) {
	case sdk.EvaluateResult:
		v = r.Response
	case sdk.GenerateResult:
		v = r.Response
	case sdk.CorrectResult:
		v = r.Response
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"json:", string(b), "wire:"}
	fields(m.ProtoReflect(), "", func(line string) { lines = append(lines, line) })
	return strings.Join(lines, "\n") + "\n"
}

// fields lists a message's set fields in the order of their numbers.
func fields(m protoreflect.Message, indent string, line func(string)) {
	fds := m.Descriptor().Fields()
	var numbers []protoreflect.FieldNumber
	for i := range fds.Len() {
		numbers = append(numbers, fds.Get(i).Number())
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		fd := fds.ByNumber(n)
		if !m.Has(fd) {
			continue
		}
		value := m.Get(fd)
		head := indent + label(fd)
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range value.List().Len() {
				line(head)
				fields(value.List().Get(i).Message(), indent+"  ", line)
			}
		case fd.IsMap() && fd.MapValue().Message() != nil:
			value.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				line(head + " " + k.String()) // the goldens have one key at most
				fields(v.Message(), indent+"  ", line)
				return true
			})
		case fd.Message() != nil && !fd.IsMap():
			line(head)
			fields(value.Message(), indent+"  ", line)
		default:
			line(head + " = " + show(fd, value))
		}
	}
}

func label(fd protoreflect.FieldDescriptor) string {
	return string(fd.Name()) + " #" + strconv.Itoa(int(fd.Number()))
}

func show(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch {
	case fd.IsMap():
		var pairs []string
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			pairs = append(pairs, k.String()+":"+v.String())
			return true
		})
		slices.Sort(pairs)
		return strings.Join(pairs, ", ")
	case fd.IsList():
		var items []string
		for i := range v.List().Len() {
			items = append(items, v.List().Get(i).String())
		}
		return strings.Join(items, ", ")
	case fd.Kind() == protoreflect.BytesKind:
		return string(v.Bytes())
	}
	return v.String()
}

// Every field of the contract has the same name in JSON and in protobuf, so the WASM
// form needs no second table.
func TestWireNamesAreJSONNames(t *testing.T) {
	wireOnly := map[string]bool{"GenerateRequest.emit": true} // a function in the sdk
	for _, pair := range []struct {
		sdk any
		pb  proto.Message
	}{
		{sdk.Manifest{}, &wirepb.Manifest{}},
		{sdk.EvaluateRequest{}, &wirepb.EvaluateRequest{}},
		{sdk.GenerateRequest{}, &wirepb.GenerateRequest{}},
		{sdk.CorrectRequest{}, &wirepb.CorrectRequest{}},
		{sdk.EvaluateResponse{}, &wirepb.EvaluateResponse{}},
		{sdk.GenerateResponse{}, &wirepb.GenerateResponse{}},
		{sdk.CorrectResponse{}, &wirepb.CorrectResponse{}},
		{sdk.Verdict{}, &wirepb.Verdict{}},
		{sdk.Finding{}, &wirepb.Finding{}},
		{sdk.Usage{}, &wirepb.Usage{}},
	} {
		md := pair.pb.ProtoReflect().Descriptor()
		var onWire []string
		for i := range md.Fields().Len() {
			name := string(md.Fields().Get(i).Name())
			if !wireOnly[string(md.Name())+"."+name] {
				onWire = append(onWire, name)
			}
		}
		inJSON := jsonNames(reflect.TypeOf(pair.sdk))
		slices.Sort(onWire)
		slices.Sort(inJSON)
		if diff := cmp.Diff(inJSON, onWire); diff != "" {
			t.Errorf("%s: JSON (-) and wire (+) differ:\n%s", md.Name(), diff)
		}
	}
}

func jsonNames(typ reflect.Type) []string {
	var names []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			names = append(names, jsonNames(f.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func TestUnknownCodesAndBadDetailsStillMakeAnError(t *testing.T) {
	e := decodeError(&wirepb.Error{Code: "flummoxed", Reason: "a\x1b[2J b", Details: []byte(`{"a":`)})
	if e.Code != sdk.Internal || e.Reason != "" || e.Message == "" || e.Details != nil {
		t.Errorf("%+v", e)
	}
	if e := decodeError(nil); e.Code != sdk.Internal {
		t.Errorf("%+v", e)
	}
}

func TestAFailedCallsUsageIsKeptUnlessItIsAbsurd(t *testing.T) {
	for details, want := range map[string]sdk.Usage{
		`{"usage":{"tokens_in":3,"tokens_out":4,"cost_usd":0.5},"n":1}`: {TokensIn: 3, TokensOut: 4, CostUSD: 0.5},
		`{"usage":{"tokens_in":-3},"n":1}`:                              {},
		`{"usage":{"tokens_in":2e12},"n":1}`:                            {},
		`{"usage":{"tokens_in":1e300},"n":1}`:                           {},
		`{"usage":{"cost_usd":1e7},"n":1}`:                              {},
		`{"usage":"much","n":1}`:                                        {},
	} {
		e := decodeError(&wirepb.Error{Code: "invalid", Message: "m", Details: []byte(details)})
		if got := sdk.UsageOf(e); got != want || e.Details["n"] != 1.0 {
			t.Errorf("%s: %+v, details %v", details, got, e.Details)
		}
	}
}
