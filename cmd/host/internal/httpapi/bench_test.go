package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
)

// BenchmarkGetMemory compares GET of a memory, with a token and the access policy, with what net/http takes to send the same bytes, and
// with what it takes to do no more than what they promise. The client only reads them.
func BenchmarkGetMemory(b *testing.B) {
	api, floor, bare, request := getMemory(b)
	b.Run("bare", func(b *testing.B) { benchServer(b, bare, request) })
	b.Run("floor", func(b *testing.B) { benchServer(b, floor, request) })
	b.Run("api", func(b *testing.B) { benchServer(b, api, request) })
}

// getMemory is a GET of a memory on the disk with an issued token, as agents have one, as the text of a
// request; the server that answers it; one of net/http that only checks the token, asks the policy, reads the
// memory with its links and encodes it; and one of bare net/http that sends the same bytes.
func getMemory(tb testing.TB) (api, floor, bare http.Handler, request string) {
	tb.Helper()
	s := &site{World: operationtest.NewOn(tb, nil)} // on the disk
	s.Must(s.Host.Ready(s.Ctx))
	token, path := s.issued(), "/v1/memories/"+s.Memory()
	answered := serve(s.api.Remote(), local(s.request(token, "GET", path, "")))
	if answered.StatusCode != http.StatusOK {
		tb.Fatalf("%d %s", answered.StatusCode, answered.body)
	}
	bare = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answered.body)
	})
	floor = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := s.Host.Access.Authenticate(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		s.Must(err)
		ctx := core.WithCaller(r.Context(), caller)
		m, links, err := s.Host.Memories.ChosenLinked(ctx, strings.TrimPrefix(r.URL.Path, "/v1/memories/"))
		s.Must(err)
		allowed := s.Host.Policies.Access(ctx, &policypoint.AccessInput{
			Subject: caller.Subject, Operation: "memory_get", Scope: string(core.ScopeMemoryRead), Namespace: m.Namespace,
			Scopes: []string{string(core.ScopeMemoryRead), string(core.ScopeMemoryWrite)}, Namespaces: caller.Namespaces,
		})
		text, err := jsontext.Line(&operation.Memory{Memory: m, LinksFrom: links.From, LinksTo: links.To})
		if s.Must(err); allowed.Allow {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}
	})
	request = fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
	return s.api.Remote(), floor, bare, request
}

// benchServer sends a request over as many connections as there are processors, times 8.
func benchServer(b *testing.B, h http.Handler, request string) {
	l, err := Listen(b.Context(), &access.Listen{Address: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	plain := &http.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- plain.Serve(l) }()
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		in := bufio.NewReaderSize(c, 16<<10)
		for pb.Next() {
			if _, err := io.WriteString(c, request); err != nil {
				b.Error(err)
				return
			}
			a, err := http.ReadResponse(in, nil)
			if err != nil {
				b.Error(err)
				return
			}
			body, err := io.ReadAll(a.Body)
			if err != nil || a.StatusCode != http.StatusOK {
				b.Errorf("%d %s: %v", a.StatusCode, body, err)
				return
			}
		}
	})
	b.StopTimer()
	_ = plain.Close()
	<-done
}
