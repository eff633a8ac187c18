package wire_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// rude sends the scripted questions in any form, then waits for a number of answers,
// and answers its call.
type rude struct {
	wirepb.UnimplementedPluginServer
	questions func(callID uint64) []*wirepb.Reply
	answers   int

	reasons []string // of the answers
}

func (r *rude) Describe(context.Context, *wirepb.DescribeRequest) (*wirepb.Manifest, error) {
	return describes, nil
}

func (r *rude) Calls(stream grpc.BidiStreamingServer[wirepb.Request, wirepb.Reply]) error {
	req, err := stream.Recv()
	if err != nil {
		return nil
	}
	callID := req.GetId()
	for _, q := range r.questions(callID) {
		if err := stream.SendMsg(q); err != nil {
			return err
		}
	}
	for range r.answers {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		r.reasons = append(r.reasons, req.GetHostReply().GetError().GetReason())
	}
	final := proto.Clone(evaluated(responded(&wirepb.Verdict{Valid: yes}))).(*wirepb.Reply)
	final.Id = callID
	if err := stream.SendMsg(final); err != nil {
		return err
	}
	for { // until the host closes
		if _, err := stream.Recv(); err != nil {
			return nil
		}
	}
}

func question(callID, id uint64, service, body string) *wirepb.Reply {
	return &wirepb.Reply{Id: callID, Body: &wirepb.Reply_HostCall{HostCall: &wirepb.HostCall{Id: id, Service: service, Body: []byte(body)}}}
}

// fill asks as many questions as may be open at a time.
func fill(callID uint64) (frames []*wirepb.Reply) {
	for i := range uint64(check.MaxHostOpen) {
		frames = append(frames, question(callID, i, "log", `{}`))
	}
	return frames
}

// rudeness is a list of questions, and the reasons with which they are refused.
type rudeness struct {
	questions func(callID uint64) []*wirepb.Reply
	want      []string
}

func rudenesses() map[string]rudeness {
	return map[string]rudeness{
		"without a call": {
			func(callID uint64) []*wirepb.Reply { return []*wirepb.Reply{question(callID+7, 1, "log", `{}`)} },
			[]string{"call_ended"},
		},
		"twice under one id": {
			func(callID uint64) []*wirepb.Reply {
				return []*wirepb.Reply{question(callID, 1, "log", `{}`), question(callID, 1, "log", `{}`)}
			}, []string{"request_invalid"},
		},
		"too many at a time": {
			func(callID uint64) []*wirepb.Reply { return append(fill(callID), question(callID, 99, "log", `{}`)) },
			[]string{"host_calls_exceeded"},
		},
		"no JSON": {
			func(callID uint64) []*wirepb.Reply {
				return []*wirepb.Reply{question(callID, 1, "log", `{"a":`), question(callID, 2, "log", ``)}
			}, []string{"request_invalid", "request_invalid"},
		},
		"too large": {
			func(callID uint64) []*wirepb.Reply {
				return []*wirepb.Reply{question(callID, 1, "log", `"`+strings.Repeat("x", check.MaxHostBytes)+`"`)}
			}, []string{"message_too_large"},
		},
		"gives up what it never asked": {
			func(callID uint64) []*wirepb.Reply {
				return []*wirepb.Reply{
					{Id: callID, Body: &wirepb.Reply_HostCancel{HostCancel: &wirepb.HostCancel{Id: 3}}},
					{Id: callID + 1, Body: &wirepb.Reply_HostCancel{HostCancel: &wirepb.HostCancel{Id: 3}}},
				}
			}, nil,
		},
	}
}

func TestRudeQuestionsAreRefused(t *testing.T) {
	waits := func(ctx context.Context, _ wire.HostCall) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, tt := range rudenesses() {
		t.Run(name, func(t *testing.T) {
			r := &rude{questions: tt.questions, answers: len(tt.want)}
			c, err := connectTo(t, r, wire.ClientOptions{Plugin: "probe", Host: waits})
			if err != nil {
				t.Fatal(err)
			}
			if err := evaluateOnce(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.reasons, tt.want) {
				t.Errorf("refused for %v, want %v", r.reasons, tt.want)
			}
			wantAlive(t, c)
		})
	}
}

// A flood without a pause is served up to its limits, and delays neither the call nor
// the host.
func TestAFloodOfQuestionsEnds(t *testing.T) {
	const flood = check.MaxHostCalls + 5000
	var served atomic.Int32
	r := &rude{questions: func(callID uint64) []*wirepb.Reply {
		frames := make([]*wirepb.Reply, flood)
		for i := range frames {
			frames[i] = question(callID, uint64(i), "log", `{}`)
		}
		return frames
	}}
	c, err := connectTo(t, r, wire.ClientOptions{Plugin: "probe", Host: func(context.Context, wire.HostCall) (json.RawMessage, error) {
		served.Add(1)
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := evaluateOnce(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := served.Load(); n == 0 || n > check.MaxHostCalls {
		t.Errorf("%d of %d questions were served", n, flood)
	}
	wantAlive(t, c)
}
