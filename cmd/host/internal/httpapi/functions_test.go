//go:build functions

package httpapi

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestFunctions counts the functions that a request passes on the disk, with an issued token and the access policy.
func TestFunctions(t *testing.T) {
	s := &site{World: operationtest.NewOn(t, nil)}
	s.Must(s.Host.Ready(s.Ctx))
	token, id, n := s.issued(), s.Memory(), 0
	api := s.api.Remote()
	count := func(path string, most int, request func() *http.Request) {
		coretest.Functions{Path: path, Most: most}.Check(t, func() {
			w := &discarded{header: http.Header{}}
			if api.ServeHTTP(w, request()); w.status >= http.StatusBadRequest {
				t.Fatalf("%s: %d", path, w.status)
			}
		})
	}
	count("GET of a memory", 194, func() *http.Request { return local(s.request(token, "GET", "/v1/memories/"+id, "")) })
	count("observe", 424, func() *http.Request {
		n++
		return local(s.request(token, "POST", "/v1/memories", fmt.Sprintf(`{"namespace":%q,"title":"memory %d","content":"what was observed the time %d"}`, operationtest.Here, n, n)))
	})
}
