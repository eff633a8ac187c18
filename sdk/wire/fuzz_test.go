package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// FuzzReply gives the host's code anything that a plugin might send.
func FuzzReply(f *testing.F) {
	for _, s := range samples() {
		if r, ok := s.sdk.(sdk.EvaluateResult); ok {
			b, _ := proto.Marshal(&wirepb.Reply{Id: 7, Body: &wirepb.Reply_Evaluated{
				Evaluated: &wirepb.Evaluated{Results: []*wirepb.EvaluateResult{encodeEvaluateResult(r)}},
			}})
			f.Add(b)
		}
	}
	b, _ := proto.Marshal(&wirepb.Reply{Id: 1, Body: &wirepb.Reply_Error{Error: encodeError(sdk.Errorf(sdk.Denied, "r", "m"))}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &inbound{msg: new(wirepb.Reply)}
		in.decode(b)
		if in.err != nil {
			return
		}
		reply := in.msg.(*wirepb.Reply)
		for _, pb := range reply.GetEvaluated().GetResults() {
			if r := decodeEvaluateResult(pb); r.Err == nil {
				wantUsable(t, r.Response)
			}
		}
		for _, pb := range reply.GetGenerated().GetResults() {
			if r := decodeGenerateResult(pb); r.Err == nil && !json.Valid(r.Response.Output) {
				t.Errorf("output %q", r.Response.Output)
			}
		}
		for _, pb := range reply.GetCorrected().GetResults() {
			if r := decodeCorrectResult(pb); r.Err == nil && !json.Valid(r.Response.Output) {
				t.Errorf("output %q", r.Response.Output)
			}
		}
		if e := reply.GetError(); e != nil && decodeError(e).Message == "" {
			t.Error("an error without a message")
		}
	})
}

// FuzzVerdictJSON does the same for the JSON form.
func FuzzVerdictJSON(f *testing.F) {
	f.Add([]byte(`{"verdict":{"valid":true,"score":0.5,"errors":[{"message":"m","path":"/a"}],"output":[1]},"usage":{"tokens_in":1}}`))
	f.Add([]byte(`{"verdict":{"score":1e999}}`))
	f.Add([]byte(strings.Repeat("[", 300)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if check.JSON(b) != nil {
			return
		}
		if !json.Valid(b) || !utf8.Valid(b) {
			t.Fatal("passed as JSON")
		}
		var r sdk.EvaluateResponse
		if json.Unmarshal(b, &r) == nil && check.EvaluateResponse(&r) == nil {
			wantUsable(t, &r)
		}
	})
}

// FuzzStart reads start messages.
func FuzzStart(f *testing.F) {
	f.Add([]byte("{\"log_level\":\"info\",\"tls\":{\"certificate\":\"c\"}}\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadStart(bufio.NewReader(bytes.NewReader(b)))
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

func wantUsable(t *testing.T, r *sdk.EvaluateResponse) {
	t.Helper()
	if s := r.Verdict.Score; math.IsNaN(s) || s < 0 || s > 1 {
		t.Errorf("score %v", s)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("the verdict can't be stored: %v", err)
	}
}
