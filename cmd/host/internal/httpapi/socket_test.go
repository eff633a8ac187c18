package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// socketFolder is a folder with a short path, and newRemote a client of a site that is
// served on the socket in it.
func (s *site) newRemote(version string) *client.Remote {
	s.T.Helper()
	dir := s.T.TempDir()
	l, err := ListenSocket(dir)
	s.Must(err)
	server := NewServer(context.Background(), s.api)
	server.ServeSocket(l)
	remote := client.NewRemote(dir, version)
	s.T.Cleanup(func() {
		s.Must(remote.Close())
		s.Must(server.Stop())
	})
	return remote
}

// TestSocket_CommandsGetWhatTheyWouldGetInTheProgram calls each operation in process and
// over the socket, each in a world of its own, and compares the results and errors whole.
func TestSocket_CommandsGetWhatTheyWouldGetInTheProgram(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(operationtest.Fixtures())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			make := operationtest.Fixtures()[name]
			direct, served := newSite(t), newSite(t)
			var sinks [2]bytes.Buffer
			call := func(s *site, i int, c client.Client) (any, error) {
				ctx := core.WithCaller(t.Context(), core.Operator(operationtest.Agent))
				return c.Call(ctx, operation.Call{Body: strings.NewReader(""), Sink: &sinks[i]}, name, make(s.World))
			}
			want, refusal := call(direct, 0, inProcess{direct})
			got, err := call(served, 1, served.newRemote("1.2.3"))
			if name == "status" || name == "store_prune" { // they name the world's folder
				if err != nil || reflect.TypeOf(got) != reflect.TypeOf(want) {
					t.Errorf("%T, %v", got, err)
				}
				return
			}
			compare(t, "the error", core.NewErrorInfo(err), core.NewErrorInfo(refusal))
			compare(t, "the result", got, want)
			if sdk.CodeOf(err) != sdk.CodeOf(refusal) || reflect.TypeOf(got) != reflect.TypeOf(want) {
				t.Errorf("%T, %s; want %T, %s", got, sdk.CodeOf(err), want, sdk.CodeOf(refusal))
			}
			if one, two := undigested(sinks[0].String()), undigested(sinks[1].String()); len(one) != len(two) {
				t.Errorf("%d bytes were streamed, want %d", len(two), len(one))
			}
		})
	}
}

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	one, err := jsontext.Print(got)
	two, wantErr := jsontext.Print(want)
	if err != nil || wantErr != nil || undigested(string(one)) != undigested(string(two)) {
		t.Errorf("%s is\n%swant\n%s(%v, %v)", what, one, two, err, wantErr)
	}
}

// inProcess calls operations without a server.
type inProcess struct{ *site }

// Call implements [client.Client].
func (p inProcess) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	c.Host = p.Host
	return operation.Do(ctx, c, name, in)
}

// TestSocket_NothingOfAResultIsLost finds what a result has in the program and not in its
// JSON.
func TestSocket_NothingOfAResultIsLost(t *testing.T) {
	// What a client never reads of a result, and what goes whole.
	known := []string{"Memory.Salt", "Run.Open", "Run.Recalled", "Run.Used", "Limits.Env", "Module.Stateful",
		"Module.Isolated", "Package.Limits", "PrunedPart.Name", "Decision.Unread", "Server.Bound", "Server.ServedModels",
		"TraceVariable.Expression", "RecallResult.Withheld"}
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(at reflect.Type) {
		for at.Kind() == reflect.Pointer || at.Kind() == reflect.Slice || at.Kind() == reflect.Map || at.Kind() == reflect.Array {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct || seen[at] || !strings.Contains(at.PkgPath(), "reflectory") {
			return
		}
		seen[at] = true
		for i := range at.NumField() {
			f := at.Field(i)
			if f.IsExported() && f.Tag.Get("json") == "-" && !slices.Contains(known, at.Name()+"."+f.Name) {
				t.Errorf("%s.%s isn't in the JSON of a result", at.Name(), f.Name)
			}
			look(f.Type)
		}
	}
	for _, o := range operation.Table() {
		look(o.Out())
	}
}

// TestSocket_PassesOnWhatHappens: progress comes as it does in the program, before the
// result.
func TestSocket_PassesOnWhatHappens(t *testing.T) {
	s := newSite(t)
	for range 3 {
		s.Memory()
	}
	var heard [2][]operation.Progress
	for i, c := range []client.Client{inProcess{s}, s.newRemote("1.2.3")} {
		ctx := core.WithCaller(t.Context(), core.Operator("me"))
		call := operation.Call{Progress: func(p operation.Progress) { heard[i] = append(heard[i], p) }}
		if _, err := c.Call(ctx, call, "memory_reembed", &operation.MemoryReembed{Namespace: operationtest.Here}); err != nil {
			t.Fatal(err)
		}
	}
	if len(heard[0]) == 0 || !slices.Equal(heard[0], heard[1]) {
		t.Errorf("heard %v, want %v", heard[1], heard[0])
	}
}

// TestSocket_EventsGoThere sends one event of each type.
func TestSocket_EventsGoThere(t *testing.T) {
	failure := sdk.Errorf(sdk.Unavailable, "away", "it is away").WithHint("wait").WithDetail("at", int64(1)<<60)
	for _, e := range []core.Event{
		core.NodeStarted{Visit: 1, Node: "n", Action: "a"}, core.NodeEnded{Visit: 1, Node: "n", Skipped: true, Took: 5},
		core.IterationStarted{Node: "n", Iteration: 2, Max: 3, Role: sdk.RoleGenerate}, core.OutputChunk{Node: "n", Iteration: 1, Text: "<é>"},
		core.AttemptJudged{Node: "n", Attempt: &core.Attempt{Iteration: 1, Output: []byte(`{"z":1,"a":2}`)}, Max: 2, Took: 7},
		core.LoopEnded{Node: "n", Result: &core.LoopResult{Status: core.StatusPassed, Output: []byte(`1`)}},
		core.CallRetried{Node: "n", Iteration: 1, Role: sdk.RoleEvaluate, Try: 2, Wait: 3, Err: failure},
		core.CorrectorFailed{Node: "n", Iteration: 1, Err: failure}, core.FeedbackFailed{Err: failure}, core.PluginChanged{Node: "n", Plugin: "a/b", Was: "1.0.0", Now: "1.1.0"},
	} {
		sent, err := client.EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.DecodeEvent(sent)
		again, againErr := client.EncodeEvent(got)
		if err != nil || againErr != nil || reflect.TypeOf(got) != reflect.TypeOf(e) || !bytes.Equal(again, sent) {
			t.Errorf("%T came as %#v: %v, %v", e, got, err, againErr)
		}
	}
}

// TestSocket_RefusesAnotherVersion, and names both.
func TestSocket_RefusesAnotherVersion(t *testing.T) {
	s := newSite(t)
	ctx := core.WithCaller(t.Context(), core.Operator("me"))
	_, err := s.newRemote("1.0.0").Call(ctx, operation.Call{}, "status", &operation.StatusGet{})
	if sdk.ReasonOf(err) != "version_differs" || !strings.Contains(err.Error(), "1.0.0") || !strings.Contains(err.Error(), "1.2.3") {
		t.Errorf("%v", err)
	}
}

// TestSocket_AgentIsALabel: the name that a command gives itself is recorded, and gives no
// rights.
func TestSocket_AgentIsALabel(t *testing.T) {
	s := newSite(t)
	ctx := core.WithCaller(t.Context(), core.Caller{Subject: "nobody", Label: "mailer"})
	m, err := client.Do[core.Memory](ctx, s.newRemote("1.2.3"), operation.Call{}, "memory_observe", &core.ObserveRequest{Namespace: "a", Content: "b"})
	if err != nil || m.AgentID != "mailer" {
		t.Errorf("%+v, %v", m, err)
	}
	ctx = core.WithCaller(t.Context(), core.Operator(strings.Repeat("x", core.MaxCallerName+1)))
	if _, err = s.newRemote("1.2.3").Call(ctx, operation.Call{}, "status", &operation.StatusGet{}); sdk.ReasonOf(err) != "agent_id_invalid" {
		t.Errorf("a long label: %v", err)
	}
}

// TestSocket_IsItsOwners: it has its mode, replaces what a killed server left, and nothing
// else; a folder's path may be longer than a socket's.
func TestSocket_IsItsOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if there, err := client.Serves(ctx, dir); there || err != nil {
		t.Errorf("no socket: %v, %v", there, err)
	}
	path := filepath.Join(dir, client.SocketName)
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if there, err := client.Serves(ctx, dir); !there || err != nil {
		t.Errorf("served: %v, %v", there, err)
	}
	// As kill -9 leaves it: the file stays.
	if err := l.(*owners).Listener.Close(); err != nil {
		t.Fatal(err)
	}
	if there, err := client.Serves(ctx, dir); there || err != nil {
		t.Errorf("left behind: %v, %v", there, err)
	}
	if l, err = ListenSocket(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenSocket(dir); sdk.ReasonOf(err) != "socket_taken" {
		t.Errorf("over a file: %v", err)
	}
}

// TestSocket_BrokenAnswersAreErrors: an answer that ends early, or isn't one, is never
// taken for a result.
func TestSocket_BrokenAnswersAreErrors(t *testing.T) {
	for name, reply := range map[string]func(http.ResponseWriter){
		"nothing":   func(w http.ResponseWriter) { w.Header().Set("Content-Type", client.FramesType) },
		"no frames": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello") },
		"half a frame": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", client.FramesType)
			_, _ = io.WriteString(w, "z\x00\x00\x00\x09{}")
		},
		"too large": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", client.FramesType)
			_, _ = io.WriteString(w, "z\xff\xff\xff\xff")
		},
		"no end's JSON": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", client.FramesType)
			_ = client.WriteFrame(w, client.FrameEnd, []byte("{"))
		},
		"foreign problem": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", client.ProblemType)
			_, _ = io.WriteString(w, "{}")
		},
	} {
		dir := t.TempDir()
		l, err := ListenSocket(dir)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(client.VersionHeader, "1")
			reply(w)
		})}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		remote := client.NewRemote(dir, "1")
		out, err := remote.Call(t.Context(), operation.Call{}, "status", &operation.StatusGet{})
		if out != nil || err == nil || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		_ = remote.Close()
		_ = server.Close()
		<-done
	}
}
