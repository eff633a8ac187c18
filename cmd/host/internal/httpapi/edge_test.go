package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestRoute_EveryRequestMeetsTheChecks: a request that net/http would answer in its own
// words is authenticated, counted and logged like all others.
func TestRoute_EveryRequestMeetsTheChecks(t *testing.T) {
	s := newSite(t)
	server := NewServer(context.Background(), s.api)
	tcp, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	s.Must(err)
	server.ServeTCP(tcp)
	defer func() { s.Must(server.Stop()) }()
	ask := func(line, token string) *answer {
		c, err := net.Dial("tcp", tcp.Addr().String())
		s.Must(err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", line, token)
		s.Must(err)
		a, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: strings.Fields(line)[0]})
		s.Must(err)
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		s.Must(err)
		return &answer{a, string(body)}
	}
	for _, line := range []string{
		"OPTIONS *", "GET //v1/..", "GET /v1//memories", "GET /v1/../v1/memories", "POST /v1/./memories", "GET /healthz/..", "GET //healthz",
		"GET /v1/memories/..", "CONNECT /v1/../memories",
	} {
		if a := ask(line, "wrong"); a.StatusCode != http.StatusUnauthorized || a.problem(t).Code != "unauthenticated" {
			t.Errorf("%s from somebody unknown: %d %s", line, a.StatusCode, a.body)
		}
		a := ask(line, "operator")
		if a.StatusCode != http.StatusNotFound || a.problem(t).Code != "route_not_found" || a.Header.Get("X-Content-Type-Options") == "" {
			t.Errorf("%s: %d %s", line, a.StatusCode, a.body)
		}
		if l := s.line(); l.Code != "route_not_found" || l.Subject != core.OperatorSubject {
			t.Errorf("%s: the log has %v", line, l)
		}
	}
}

// TestConditions_AReplayHasTheSameBytes but for the trace's id, of results and of refusals.
func TestConditions_AReplayHasTheSameBytes(t *testing.T) {
	replayed := 0
	for _, c := range operationtest.Cases() {
		o, err := operation.Find(c.Operation)
		if err != nil {
			t.Fatal(err)
		}
		if o.ReadOnly || o.Secret || o.Body || c.Needs != operationtest.Nothing || c.Name == "denied by a policy" {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			s := newSite(t)
			in := c.Make(s.World)
			ask := func() *answer {
				r, err := client.NewRequest(t.Context(), "http://localhost", &o, in, nil)
				if err != nil {
					return nil
				}
				r.Header.Set("Authorization", "Bearer operator")
				r.Header.Set("Idempotency-Key", "k")
				return serve(s.api.Remote(), r)
			}
			first := ask()
			if first == nil {
				return // no client sends it
			}
			second := ask()
			if second.Header.Get(replayedHeader) != "true" {
				return // it wasn't begun, and so isn't kept
			}
			replayed++
			one, two := first.body, second.body
			if first.StatusCode >= 400 {
				one, two = strings.Replace(one, first.problem(t).TraceID, "", 1), strings.Replace(two, second.problem(t).TraceID, "", 1)
			}
			if first.StatusCode != second.StatusCode || one != two {
				t.Errorf("first %d %s\nthen %d %s", first.StatusCode, one, second.StatusCode, two)
			}
		})
	}
	if replayed < 20 {
		t.Errorf("only %d were replayed", replayed)
	}
}

// TestSocket_TooManyConnectionsAreRefusedAsSuch: the command reports why, and not that the
// server should be started again.
func TestSocket_TooManyConnectionsAreRefusedAsSuch(t *testing.T) {
	s := newLimitedSite(t, Limits{Connections: 1})
	dir := t.TempDir()
	l, err := ListenSocket(dir)
	s.Must(err)
	server := NewServer(context.Background(), s.api)
	server.ServeSocket(l)
	remote, holds := client.NewRemote(dir, "1.2.3"), client.NewRemote(dir, "1.2.3")
	defer func() {
		s.Must(remote.Close())
		s.Must(holds.Close())
		s.Must(server.Stop())
	}()
	call := func(r *client.Remote) error {
		_, err := r.Call(core.WithCaller(t.Context(), core.Operator(operationtest.Agent)), operation.Call{}, "token_list", &operation.TokenList{})
		return err
	}
	s.Must(call(holds)) // its connection is kept
	err = call(remote)
	if e := sdk.AsError(err); e.Reason != "connections_full" || e.Code != sdk.Unavailable || e.Hint == "" || strings.Contains(e.Hint, "start") {
		t.Errorf("%v, %+v", err, e)
	}
}

// TestDrain_WaitsForWhatDoesNotHear: a request that its context's end doesn't stop still
// has the store until it is done.
func TestDrain_WaitsForWhatDoesNotHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		done := false
		server, answers := asked(t, s.api, func(context.Context) {
			time.Sleep(time.Hour)
			done = true
		})
		s.Must(server.Stop())
		if !done {
			t.Error("it is still being done")
		}
		<-answers
		s.Must(s.Host.Close())
	})
}

// TestFrames_TellTheEndWhateverHappens: an event that has no JSON is left out, and logged.
func TestFrames_TellTheEndWhateverHappens(t *testing.T) {
	s := newSite(t)
	w := httptest.NewRecorder()
	f := &frames{w: w, r: &request{http: s.request("", "GET", "/", "")}, control: http.NewResponseController(w)}
	payload, err := client.EncodeEvent(core.FeedbackFailed{Err: sdk.Errorf(sdk.Invalid, "x", "y").WithDetail("z", math.NaN())})
	if err == nil {
		t.Fatalf("it has JSON: %s", payload)
	}
	f.send(client.FrameEvent, payload, err)
	f.write(client.FrameEnd, endOf(&client.End{Error: client.NewErrorData(sdk.Errorf(sdk.Invalid, "x", "y").WithDetail("z", math.NaN()))}))
	if body := w.Body.String(); !strings.HasPrefix(body, "z") || !strings.Contains(body, `"reason":"x"`) {
		t.Errorf("%q", body)
	}
	if err := f.lost(); sdk.ReasonOf(err) != "event_invalid" {
		t.Errorf("what was lost is %v", err)
	}
	if end := string(endOf(&client.End{Result: []byte("{")})); !strings.Contains(end, `"error"`) {
		t.Errorf("a result that is no JSON ends as %s", end)
	}
}

// TestCall_AStreamIsSentToItsEnd, also where its last piece was written long ago.
func TestCall_AStreamIsSentToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		server := NewServer(context.Background(), s.api)
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server.serve(l, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			k := &sink{w: w, r: &request{http: hr}, control: http.NewResponseController(w)}
			if _, err := io.WriteString(k, "line\n"); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * writeTime)
			if err := k.end(); err != nil {
				t.Error(err)
			}
			w.Header().Set(resultTrailer, "{}")
		}), nil, noOrigin)
		own, other := net.Pipe()
		l.conns <- other
		go func() { _, _ = io.WriteString(own, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
		a, err := http.ReadResponse(bufio.NewReader(own), nil)
		s.Must(err)
		body, err := io.ReadAll(a.Body)
		if err != nil || string(body) != "line\n" || a.Trailer.Get(resultTrailer) != "{}" {
			t.Errorf("%q, %v, %v", body, err, a.Trailer)
		}
		_ = own.Close()
		s.Must(server.Stop())
		s.Must(s.Host.Close())
	})
}

// TestCall_AStreamNeedsAnEnd: HTTP/1.0 has no other end of an answer than the connection's.
func TestCall_AStreamNeedsAnEnd(t *testing.T) {
	s := newSite(t)
	r := s.request("operator", "GET", "/v1/store/export", "")
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	if a := serve(s.api.Remote(), r); a.problem(t).Code != "http_version_unsupported" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestProblem_APluginChoosesNoStatus: only the host's own reasons mean more than their class.
func TestProblem_APluginChoosesNoStatus(t *testing.T) {
	for reason, code := range map[string]sdk.Code{
		"unauthenticated": sdk.Invalid, "json_invalid": sdk.Unavailable, "precondition_failed": sdk.Invalid, "x_too_large": sdk.Exhausted,
	} {
		err := sdk.Errorf(code, reason, "x")
		if before, called := statusOf(err, false), statusOf(err, true); before == statuses[code] && called == statuses[code] {
			t.Errorf("the host's %s has its class's status %d", reason, before)
		}
		err.FromPlugin = true
		for _, err := range []error{err, sdk.Wrap("evaluate", err), core.JoinErrors(err, err)} {
			if got := statusOf(sdk.AsError(err), true); got != statuses[code] {
				t.Errorf("a plugin's %s: %d, want %d", reason, got, statuses[code])
			}
		}
	}
}

// TestProblem_AFieldChoosesNoStatus: what is wrong with a field called query is none of the
// URL's query.
func TestProblem_AFieldChoosesNoStatus(t *testing.T) {
	s := newSite(t)
	a := s.send("operator", "POST", "/v1/recall", `{"query":"","namespace":"team"}`)
	if p := a.problem(t); a.StatusCode != 422 || p.Code != "query_invalid" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	a = s.send("operator", "POST", "/v1/recall?query=x", `{}`)
	if p := a.problem(t); a.StatusCode != 400 || p.Code != "query_invalid" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestAccess_KnowsItsNames, of which there may be several, with any port.
func TestAccess_KnowsItsNames(t *testing.T) {
	s := newSite(t)
	api, err := New(Config{Host: s.Host, Authenticator: known(), Hosts: []string{"Memory.Example.org:8443", "10.0.0.7", "[2001:db8::1]:80", ":7842", ""}})
	s.Must(err)
	for host, lets := range map[string]bool{
		"memory.example.org": true, "memory.example.org:443": true, "MEMORY.example.org.": true, "10.0.0.7:1": true, "10.0.0.7": true,
		"[2001:db8::1]": true, "[2001:DB8:0::1]:9": true, "[::1]:7842": true, "localhost": true, "127.0.0.1:7842": true,
		"": false, ":7842": false, "example.org": false, "x.memory.example.org": false, "10.0.0.70": false, "memory.example.org.evil.example": false,
		"[memory.example.org": false, "memory.example.org:443:1": false,
	} {
		r := s.request("operator", "GET", "/v1/nothing", "")
		r.Host = host
		if a := serve(api.Remote(), r); (a.problem(t).Code == "route_not_found") != lets {
			t.Errorf("%q: %s", host, a.body)
		}
	}
}

// TestListen_WhereItWasChecked: the name's address may be another one by the time.
func TestListen_WhereItWasChecked(t *testing.T) {
	start := &access.Listen{Address: "moved.invalid:0", Resolved: []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.1")}}
	l, err := Listen(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "127.0.0.1" {
		t.Errorf("it listens on %s", l.Addr())
	}
}

// TestProblem_AnIDIsAbsentHoweverShortItIs: nothing tells the beginning of an id from an id.
func TestProblem_AnIDIsAbsentHoweverShortItIs(t *testing.T) {
	s := newSite(t)
	const absent = "00000000-0000-7000-8000-00000000ffff"
	for _, path := range []string{"/v1/memories/", "/v1/knowledge/", "/v1/runs/", "/v1/decisions/"} {
		for _, who := range []string{"operator", "here"} {
			one, two := s.send(who, "GET", path+"qqq", ""), s.send(who, "GET", path+absent, "")
			same := strings.NewReplacer("qqq", "ID", absent, "ID", one.problem(t).TraceID, "", two.problem(t).TraceID, "")
			if one.StatusCode != 404 || same.Replace(one.body) != same.Replace(two.body) {
				t.Errorf("%s%s: %s\n%s", path, who, one.body, two.body)
			}
		}
	}
}
