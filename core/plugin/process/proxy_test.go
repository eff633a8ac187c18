//go:build linux

package process_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

// throughGuard is how a host wires the network of plugins.
func throughGuard(endpoints []string) (process.Dialer, error) {
	list, err := guard.New(endpoints)
	if err != nil {
		return nil, err
	}
	return &guard.Dialer{List: list}, nil
}

// granted starts a plugin that may reach an endpoint.
func granted(t *testing.T, endpoint string) plugin.Instance {
	t.Helper()
	p := self(t, "serve")
	p.Granted.Network = []string{endpoint}
	return start(t, process.Options{Network: throughGuard}, p)
}

// greeter is a server that speaks first, and again once it got everything.
func greeter(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			b := make([]byte, len("bye\n"))
			if _, err := io.ReadFull(conn, b); err == nil {
				_, _ = conn.Write(b)
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestAGrantedEndpointIsAllThatIsReached(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") })
	one, two := httptest.NewServer(answer), httptest.NewServer(answer)
	defer one.Close()
	defer two.Close()
	i := granted(t, one.Listener.Addr().String())
	if got := try(t, i, "get", one.URL); got != "got: answered" {
		t.Errorf("the granted endpoint: %s", got)
	}
	if got := try(t, i, "get", two.URL); !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, "may not reach") {
		t.Errorf("another endpoint: %s", got)
	}
	if got := try(t, i, "get", strings.Replace(one.URL, "127.0.0.1", "localhost", 1)); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("the same address by another name: %s", got)
	}
	if got := try(t, i, "socket", "2 1"); holds(i).Seccomp && !strings.HasPrefix(got, "refused: ") {
		t.Errorf("past the proxy: %s", got)
	}
}

func TestAPluginWithoutGrantHasNoNetwork(t *testing.T) {
	i := start(t, process.Options{Network: throughGuard}, self(t, "serve"))
	if got := try(t, i, "dial", greeter(t)); holds(i).Seccomp && !strings.HasPrefix(got, "refused: ") {
		t.Errorf("it got %s", got)
	}
}

func TestBytesAreCarriedBothWaysAndToTheEnd(t *testing.T) {
	address := greeter(t)
	i := granted(t, address)
	for range 3 {
		if got := try(t, i, "dial", address); got != "got: hellobye\n" {
			t.Errorf("got %q", got)
		}
	}
}

func TestConnectionsAreBoundedAndGivenBack(t *testing.T) {
	address := greeter(t)
	i := granted(t, address)
	for range 2 { // the first lot is closed by then
		if got := try(t, i, "many", address); !strings.Contains(got, "too many connections") {
			t.Errorf("got %s", got)
		}
		waitUntil(t, func() bool { return try(t, i, "dial", address) == "got: hellobye\n" })
	}
}

func TestTheProxyRefusesWhatIsNoRequest(t *testing.T) {
	address := greeter(t)
	i := granted(t, address)
	for _, text := range []string{
		"GET http://" + address + "/ HTTP/1.1\r\nHost: " + address + "\r\n\r\n",
		"hello\r\n\r\n",
		"CONNECT " + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\n\r\n",
	} {
		if got := try(t, i, "proxy", text); !strings.Contains(got, "400 Bad Request") && !strings.Contains(got, "reset") {
			t.Errorf("%.20q: %s", text, got)
		}
	}
	for _, text := range []string{"CONNECT nowhere HTTP/1.1\r\n\r\n", "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n"} {
		if got := try(t, i, "proxy", text); !strings.Contains(got, "HTTP/1.1 403") && !strings.Contains(got, "HTTP/1.1 502") {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := try(t, i, "dial", address); got != "got: hellobye\n" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestAFloodOfRequestsDoesNotHoldTheEndUp(t *testing.T) {
	i := granted(t, greeter(t))
	_, _ = evaluate(t, i, do("attack proxy", "flood"))
	i.Kill(errors.New("enough"))
}

func TestGrantsThatAreNoEndpointsAreRefused(t *testing.T) {
	p := self(t, "serve")
	p.Granted.Network = []string{"everything"}
	dir := shortTempDir(t)
	_, err := process.New(process.Options{Network: throughGuard, TempDir: dir}).Start(t.Context(), p)
	if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(fmt.Sprint(err), "everything") {
		t.Errorf("got %v", err)
	}
	wantEmpty(t, dir)
}

// A plugin with endpoints trusts what the host was told to trust, though it can't read the
// host's files; a plugin without any isn't told.
func TestAuthorities_AreGivenToPluginsWithEndpoints(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\n"
	for name, c := range map[string]struct {
		pem     string
		folders bool
		network []string
		want    []string
	}{
		"a file":                {pem, false, []string{"127.0.0.1:1"}, []string{"SSL_CERT_FILE"}},
		"folders":               {pem, true, []string{"127.0.0.1:1"}, []string{"SSL_CERT_DIR", "SSL_CERT_FILE"}},
		"nothing":               {"", true, []string{"127.0.0.1:1"}, nil},
		"a plugin without them": {pem, true, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := self(t, "serve")
			p.Granted.Network = c.network
			i := start(t, process.Options{Network: throughGuard, Authorities: func() ([]byte, bool) { return []byte(c.pem), c.folders }}, p)
			res, err := evaluate(t, i, do("environ"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.SplitSeq(res.Verdict.Feedback, "\n") {
				if variable, path, _ := strings.Cut(line, "="); strings.HasPrefix(variable, "SSL_") {
					got = append(got, variable)
					if read := try(t, i, "read", path); variable == "SSL_CERT_FILE" && read != "got: "+c.pem {
						t.Errorf("%s: %s", line, read)
					}
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("it has %q, want %q", got, c.want)
			}
		})
	}
}
