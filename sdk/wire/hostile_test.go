package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// scripted is a dishonest plugin: it answers with the scripted bytes.
type scripted struct {
	wirepb.UnimplementedPluginServer
	manifest *wirepb.Manifest
	answer   func(*wirepb.Request) []byte
	stray    []byte // sent before every answer
}

func (s *scripted) Describe(context.Context, *wirepb.DescribeRequest) (*wirepb.Manifest, error) {
	return s.manifest, nil
}

func (s *scripted) Calls(stream grpc.BidiStreamingServer[wirepb.Request, wirepb.Reply]) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		for _, b := range [][]byte{s.stray, s.answer(req)} {
			if b == nil {
				continue
			}
			if err := stream.SendMsg(raw(b)); err != nil {
				return err
			}
		}
	}
}

// raw is a frame that rawCodec sends unchanged.
type raw []byte

type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

var describes = &wirepb.Manifest{Name: "probe", Version: "1", Contract: sdk.ContractVersion, Kinds: []string{"evaluator"}}

func connectScripted(t *testing.T, limit int, answer func(*wirepb.Request) []byte) *wire.Client {
	t.Helper()
	c, err := connectTo(t, &scripted{manifest: describes, answer: answer}, wire.ClientOptions{Plugin: "probe", MessageBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func frame(t *testing.T, id uint64, r *wirepb.Reply) []byte {
	t.Helper()
	r.Id = id
	b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(r)
	if err != nil {
		t.Error(err)
	}
	return b
}

func evaluated(results ...*wirepb.EvaluateResult) *wirepb.Reply {
	return &wirepb.Reply{Body: &wirepb.Reply_Evaluated{Evaluated: &wirepb.Evaluated{Results: results}}}
}

func responded(v *wirepb.Verdict) *wirepb.EvaluateResult {
	return &wirepb.EvaluateResult{Outcome: &wirepb.EvaluateResult_Response{Response: &wirepb.EvaluateResponse{Verdict: v}}}
}

// A verdict that says whether it is valid, which a zero value doesn't.
var yes, no = proto.Bool(true), proto.Bool(false)

func TestBadResponsesFailTheirCallOnly(t *testing.T) {
	ok := responded(&wirepb.Verdict{Valid: yes})
	usage := func(u *wirepb.Usage) *wirepb.Reply {
		r := responded(&wirepb.Verdict{Valid: no})
		r.GetResponse().Usage = u
		return evaluated(r)
	}
	verdict := func(v *wirepb.Verdict) *wirepb.Reply { return evaluated(responded(v)) }
	many := make(map[string]string)
	for i := range check.MaxMetadata + 1 {
		many[string(rune('a'+i))] = ""
	}
	crowded := responded(&wirepb.Verdict{Valid: no})
	crowded.GetResponse().Metadata = many
	findings := make([]*wirepb.Finding, check.MaxFindings+1)
	for i := range findings {
		findings[i] = &wirepb.Finding{}
	}
	nested := &wirepb.Verdict{Valid: no}
	for range check.MaxChildren + 1 {
		nested = &wirepb.Verdict{Valid: no, Children: map[string]*wirepb.Verdict{"child": nested}}
	}
	tests := map[string]struct {
		reply  *wirepb.Reply
		reason string
	}{
		"nested children":    {verdict(nested), "response_invalid"},
		"child not a number": {verdict(&wirepb.Verdict{Valid: no, Children: map[string]*wirepb.Verdict{"c": {Valid: no, Score: math.NaN()}}}), "score_not_finite"},
		"no result":          {evaluated(), "response_invalid"},
		"two results":        {evaluated(ok, ok), "response_invalid"},
		"another kind":       {&wirepb.Reply{Body: &wirepb.Reply_Corrected{Corrected: &wirepb.Corrected{}}}, "response_invalid"},
		"nothing":            {&wirepb.Reply{}, "response_invalid"},
		"score not a number": {verdict(&wirepb.Verdict{Valid: no, Score: math.NaN()}), "score_not_finite"},
		"output not JSON":    {verdict(&wirepb.Verdict{Valid: no, Output: []byte(`{"a":`)}), "response_invalid"},
		"output not UTF-8":   {verdict(&wirepb.Verdict{Valid: no, Output: []byte("\"\xff\"")}), "response_invalid"},
		"output too deep": {verdict(&wirepb.Verdict{
			Valid: no, Output: []byte(strings.Repeat("[", check.MaxDepth+1) + strings.Repeat("]", check.MaxDepth+1)),
		}), "response_invalid"},
		"too many findings": {verdict(&wirepb.Verdict{Valid: no, Errors: findings}), "response_invalid"},
		"too much metadata": {evaluated(crowded), "response_invalid"},
		"negative tokens":   {usage(&wirepb.Usage{TokensIn: -1}), "response_invalid"},
		"endless tokens":    {usage(&wirepb.Usage{TokensOut: math.MaxInt64}), "response_invalid"},
		"a cost beyond all": {usage(&wirepb.Usage{CostUsd: math.MaxFloat64}), "response_invalid"},
		"endless cost":      {usage(&wirepb.Usage{CostUsd: math.Inf(1)}), "response_invalid"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := connectScripted(t, 0, func(req *wirepb.Request) []byte { return frame(t, req.GetId(), test.reply) })
			results, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
			if err == nil {
				err = results[0].Err
			}
			wantError(t, err, sdk.Invalid, test.reason)
			wantAlive(t, c)
		})
	}
}

// A plugin that leaves out whether an attempt is valid hasn't said "no".
func TestAVerdictSaysWhetherItIsValid(t *testing.T) {
	for came, v := range map[string]*wirepb.Verdict{
		"nothing":                         nil,
		"{}":                              {},
		`{"score":0.5,"feedback":"fine"}`: {Score: 0.5, Feedback: "fine"},
		`{"score":1}`:                     {Valid: yes, Children: map[string]*wirepb.Verdict{"a": {Valid: yes}, "b": {Score: 1}}},
	} {
		c := connectScripted(t, 0, func(req *wirepb.Request) []byte { return frame(t, req.GetId(), evaluated(responded(v))) })
		results, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, results[0].Err, sdk.Invalid, "response_invalid")
		if !strings.HasSuffix(results[0].Err.Error(), "this came instead: "+came) || !strings.Contains(sdk.AsError(results[0].Err).Hint, `"valid"`) {
			t.Errorf("%s: %v", came, results[0].Err)
		}
	}
}

func TestScoresOutOfRangeAreClamped(t *testing.T) {
	for score, want := range map[float64]float64{math.Inf(1): 1, math.Inf(-1): 0, 7: 1, -0.5: 0} {
		c := connectScripted(t, 0, func(req *wirepb.Request) []byte {
			return frame(t, req.GetId(), evaluated(responded(&wirepb.Verdict{Valid: no, Score: score})))
		})
		results, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		if got := results[0].Response.Verdict.Score; got != want {
			t.Errorf("score %v became %v, want %v", score, got, want)
		}
	}
}

func TestFramesThatAreNoMessagesFailTheirCallOnly(t *testing.T) {
	id := func(req *wirepb.Request) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), req.GetId())
	}
	tests := map[string]func(*wirepb.Request) []byte{
		"a string that is not UTF-8": func(req *wirepb.Request) []byte {
			e, _ := proto.Marshal(&wirepb.Error{Code: "invalid", Message: "x?"})
			e[len(e)-1] = 0xff
			return protowire.AppendBytes(protowire.AppendTag(id(req), 7, protowire.BytesType), e)
		},
		"truncated": func(req *wirepb.Request) []byte {
			return append(protowire.AppendTag(id(req), 3, protowire.BytesType), 200, 1)
		},
		"millions of empty findings": func(req *wirepb.Request) []byte {
			wrap := func(num protowire.Number, b []byte) []byte {
				return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
			}
			empty := []byte(strings.Repeat("\x1a\x00", 3<<20))
			return append(id(req), wrap(3, wrap(1, wrap(1, wrap(1, empty))))...)
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			c := connectScripted(t, 0, answer)
			_, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
			wantError(t, err, sdk.Invalid, "response_invalid")
			wantAlive(t, c)
		})
	}
}

func TestReplyOverTheCapEndsTheStream(t *testing.T) {
	const limit = 64 << 10
	c := connectScripted(t, limit, func(req *wirepb.Request) []byte {
		return frame(t, req.GetId(), evaluated(responded(&wirepb.Verdict{Valid: no, Feedback: strings.Repeat("x", limit)})))
	})
	_, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
	wantError(t, err, sdk.Exhausted, "message_too_large")
	if !errors.Is(err, wire.ErrLost) {
		t.Errorf("no ErrLost in %v", err)
	}
	<-c.Done()
	wantError(t, c.Err(), sdk.Exhausted, "message_too_large")
}

func TestRepliesToUnknownCallsAreIgnored(t *testing.T) {
	s := &scripted{manifest: describes, stray: frame(t, 999, evaluated())}
	s.answer = func(req *wirepb.Request) []byte {
		return frame(t, req.GetId(), evaluated(responded(&wirepb.Verdict{Valid: yes})))
	}
	c, err := connectTo(t, s, wire.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
	if err != nil || !results[0].Response.Verdict.Valid {
		t.Fatal(err, results)
	}
	wantAlive(t, c)
}

func TestForgottenConfigIsSentAgainOnce(t *testing.T) {
	var seen []bool // whether the JSON came along
	forget := 1
	c := connectScripted(t, 0, func(req *wirepb.Request) []byte {
		whole := req.GetEvaluate().GetConfig().Json != nil
		seen = append(seen, whole)
		if len(seen) > 1 && forget > 0 {
			forget--
			return frame(t, req.GetId(), &wirepb.Reply{Body: &wirepb.Reply_Error{
				Error: &wirepb.Error{Code: "not_found", Reason: "config_unknown"},
			}})
		}
		return frame(t, req.GetId(), evaluated(responded(&wirepb.Verdict{Valid: no})))
	})
	for range 3 {
		if _, err := c.Evaluate(t.Context(), config(1), one(`1`)); err != nil {
			t.Fatal(err)
		}
	}
	want := []bool{true, false, true, false}
	if got, _ := json.Marshal(seen); string(got) != `[true,false,true,false]` {
		t.Errorf("configs sent whole: %v, want %v", seen, want)
	}
	forget = 2
	_, err := c.Evaluate(t.Context(), config(1), one(`1`))
	wantError(t, err, sdk.NotFound, "config_unknown")
}

func TestChunksBeyondTheCapFailTheCall(t *testing.T) {
	const limit = 64 << 10
	chunk := strings.Repeat("x", limit/4)
	p := sdk.Plugin{
		Manifest: sdk.Manifest{Name: "probe", Version: "1"},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(_ context.Context, r *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				for range 5 {
					r.Emit(chunk)
				}
				return &sdk.GenerateResponse{Output: json.RawMessage(`1`)}, nil
			}), nil
		},
	}
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{MessageBytes: limit})
	_, err := c.Generate(t.Context(), wire.Config{}, []*sdk.GenerateRequest{{Emit: func(string) {}}})
	wantError(t, err, sdk.Invalid, "response_invalid")
	wantAlive(t, c)
}

func TestManifestsThatLieAreRefused(t *testing.T) {
	with := func(change func(*wirepb.Manifest)) *wirepb.Manifest {
		m := proto.Clone(describes).(*wirepb.Manifest)
		change(m)
		return m
	}
	tests := map[string]struct {
		manifest *wirepb.Manifest
		code     sdk.Code
		reason   string
		says     []string
	}{
		"newer contract": {
			with(func(m *wirepb.Manifest) { m.Contract = 2 }), sdk.Incompatible, "contract_mismatch",
			[]string{"version 2", "version 1", "upgrade the host"},
		},
		"older contract": {
			with(func(m *wirepb.Manifest) { m.Contract = 0 }), sdk.Incompatible, "contract_mismatch",
			[]string{"version 0", "version 1", "rebuild plugin probe"},
		},
		"name with a path": {
			with(func(m *wirepb.Manifest) { m.Name = "../etc" }), sdk.Invalid, "manifest_invalid", []string{"../etc"},
		},
		"schema not JSON": {
			with(func(m *wirepb.Manifest) { m.ConfigSchema = []byte("{") }), sdk.Invalid, "manifest_invalid", []string{"config_schema"},
		},
		"parallel without bound": {
			with(func(m *wirepb.Manifest) { m.Parallel = math.MaxInt32 }), sdk.Invalid, "manifest_invalid", []string{"parallel"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := connectTo(t, &scripted{manifest: test.manifest}, wire.ClientOptions{Plugin: "probe"})
			wantError(t, err, test.code, test.reason)
			e := sdk.AsError(err)
			for _, want := range test.says {
				if !strings.Contains(e.Message+" "+e.Hint, want) {
					t.Errorf("%q %q doesn't say %q", e.Message, e.Hint, want)
				}
			}
		})
	}
}

func TestProgramWithoutTheServiceIsIncompatible(t *testing.T) {
	_, err := connectTo(t, wirepb.UnimplementedPluginServer{}, wire.ClientOptions{Plugin: "probe"})
	wantError(t, err, sdk.Incompatible, "contract_mismatch")
}

// deaf opens the stream and never reads.
type deaf struct{ scripted }

func (s *deaf) Calls(stream grpc.BidiStreamingServer[wirepb.Request, wirepb.Reply]) error {
	<-stream.Context().Done()
	return nil
}

func TestPluginThatStopsReadingHoldsUpNoDeadline(t *testing.T) {
	c, err := connectTo(t, &deaf{scripted{manifest: describes}}, wire.ClientOptions{Plugin: "probe"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 20 { // far more than gRPC and the connection buffer
		all.Go(func() {
			for _, size := range []int{100, 1 << 20} {
				_, err := c.Evaluate(ctx, wire.Config{}, one(`"`+strings.Repeat("x", size)+`"`))
				if sdk.ReasonOf(err) != "call_timeout" {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	all.Wait()
	wantAlive(t, c)
}

func TestGeneratorsSlowWatcherHoldsUpNoOtherCall(t *testing.T) {
	c := connect(t, mirror(), wire.ServerConfig{}, wire.ClientOptions{})
	watching, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	var slow sync.WaitGroup
	slow.Go(func() {
		_, err := c.Generate(t.Context(), wire.Config{}, []*sdk.GenerateRequest{{
			State: json.RawMessage(`{}`),
			Emit:  func(string) { first.Do(func() { close(watching) }); <-release },
		}})
		if err != nil {
			t.Error(err)
		}
	})
	<-watching
	if _, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`)); err != nil {
		t.Error(err)
	}
	close(release)
	slow.Wait()
}
