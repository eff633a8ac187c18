package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	core "github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

var (
	badCall  = gatewaytest.Reply{Thinking: "Hm, files.", Text: "I'll look.", Calls: []gatewaytest.Call{{ID: "bad-1", Name: "read", Arguments: `{"pth":"bad"}`}}}
	goodCall = gatewaytest.Reply{Thinking: "Now right.", Text: "Sorry, again.", Calls: []gatewaytest.Call{{ID: "c2", Name: "read", Arguments: `{"path":"ä.go"}`}, {ID: "c3", Name: "list", Arguments: `{}`}}}
)

func TestReply_PassesAsItIs(t *testing.T) {
	for name, s := range shapes {
		for _, stream := range []string{"", `,"stream":true`} {
			t.Run(name+stream, func(t *testing.T) {
				w := newWorld(t, goodCall)
				resp, got := w.post(s.path, fmt.Sprintf(s.body, stream))
				if resp.StatusCode != 200 {
					t.Fatalf("%d %s", resp.StatusCode, got)
				}
				sent := w.up.Requests()[0]
				want := strings.Replace(fmt.Sprintf(s.body, stream), `"coder"`, `"upstream-model"`, 1)
				if name == "chat" && stream != "" {
					want = strings.Replace(want, `{`, `{"stream_options":{"include_usage":true},`, 1)
				}
				if sent.Path != s.up || sent.Body != want {
					t.Errorf("sent %s %s\nwant %s", sent.Path, sent.Body, want)
				}
				if strings.Contains(got, `"usage":{"completion_tokens"`) && name == "chat" && stream != "" {
					t.Errorf("the client didn't ask for the usage: %s", got)
				}
				reply := w.replies[0]
				finish, usage := core.Complete, sdk.Usage{TokensIn: 11, TokensOut: 7}
				text := goodCall.Text
				if name == "chat" && stream == "" {
					text = "" // of a message with calls the script has none
				}
				want2 := &core.Reply{IDs: reply.IDs, Text: text, Finish: finish, Usage: usage, Calls: []core.Call{
					{ID: "c2", Name: "read", Arguments: `{"path":"ä.go"}`}, {ID: "c3", Name: "list", Arguments: `{}`},
				}}
				if diff := cmp.Diff(want2, reply); diff != "" || (len(reply.IDs) == 5) != (name == "responses") {
					t.Errorf("reply (-want +got):\n%s", diff)
				}
				for header, want := range map[string]string{"Reflectory-Run": "run-1", "Reflectory-Session": "s-1", "Reflectory-Turn": "2", "Reflectory-Snapshot": "snap-1"} {
					if resp.Header.Get(header) != want {
						t.Errorf("%s: %q", header, resp.Header.Get(header))
					}
				}
				if stream == "" && (resp.Header.Get("Reflectory-Attempts") != "1" || resp.Header.Get("Reflectory-Verdict") != "passed") {
					t.Errorf("headers: %v", resp.Header)
				}
			})
		}
	}
}

func TestReply_RejectedIsAskedForAgain(t *testing.T) {
	accept := func(r *core.Reply) bool { return r.Calls[0].ID == "c2" }
	for name, s := range shapes {
		for _, stream := range []string{"", `,"stream":true`} {
			for _, hold := range []core.Hold{core.HoldAll, core.HoldCalls} {
				t.Run(fmt.Sprint(name, stream, hold), func(t *testing.T) {
					w := newWorld(t, badCall, goodCall)
					w.serve(hold, accept)
					resp, got := w.post(s.path, fmt.Sprintf(s.body, stream))
					if resp.StatusCode != 200 || strings.Contains(got, "pth") || strings.Contains(got, "bad-1") {
						t.Fatalf("%d %s", resp.StatusCode, got)
					}
					sent := w.up.Requests()
					if len(sent) != 2 || !strings.Contains(sent[1].Body, `That reply is wrong: <\"quoted\">.`) {
						t.Fatalf("sent %+v", sent)
					}
					if hold == core.HoldAll || stream == "" {
						if strings.Contains(got, "look") || resp.Header.Get("Reflectory-Attempts") != "2" {
							t.Errorf("%s %v", got, resp.Header)
						}
						return
					}
					want := message{text: badCall.Text, calls: []string{`c2 read {"path":"ä.go"}`, `c3 list {}`}}
					if diff := cmp.Diff(want, reassemble(t, name, got), cmp.AllowUnexported(message{})); diff != "" {
						t.Errorf("(-want +got):\n%s\n%s", diff, got)
					}
				})
			}
		}
	}
}
