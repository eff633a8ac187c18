package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestMount_IsBehindTheChecks: a mounted handler has the caller and the whole body, and isn't
// asked by who isn't known.
func TestMount_IsBehindTheChecks(t *testing.T) {
	var who, body string
	s := newSite(t)
	s.api.config.Mounts = map[string]http.Handler{"/tools": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		s.Must(err)
		who, body = core.CallerOf(r.Context()).Subject, string(text)
		_, _ = w.Write([]byte("done"))
	})}
	if a := s.send("operator", "POST", "/tools", `{"a": 1}`); a.StatusCode != 200 || a.body != "done" || who != core.OperatorSubject || body != `{"a": 1}` {
		t.Errorf("%d %s: %s asks for %s", a.StatusCode, a.body, who, body)
	}
	who = ""
	for name, status := range map[string]int{"": 401, "nobody": 401, "none": 200} {
		if a := s.send(name, "POST", "/tools", `{}`); a.StatusCode != status {
			t.Errorf("%q: %d %s", name, a.StatusCode, a.body)
		}
	}
	if who == core.OperatorSubject {
		t.Error("somebody else is the operator")
	}
	if a := s.send("operator", "POST", "/tools", `"`+strings.Repeat("x", 1<<20)+`"`); a.StatusCode != 413 {
		t.Errorf("a large body: %d", a.StatusCode)
	}
}

// TestMount_RefusalsSayNothingOfTheInside to the caller, and all of it to the log.
func TestMount_RefusalsSayNothingOfTheInside(t *testing.T) {
	s := newSite(t)
	r := &request{trace: traceparent.Trace{ID: "0af7"}}
	ctx := context.WithValue(t.Context(), requestKey{}, r)
	p := &client.Problem{Detail: "the disk is on fire", Code: "internal"}
	s.api.Refused(ctx, errors.New("the disk is on fire"), nil, p)
	if strings.Contains(p.Detail, "fire") || p.Details["trace_id"] != "0af7" || r.failure == nil || r.code != "internal" {
		t.Errorf("%+v, %+v", p, r)
	}
	refused := sdk.Errorf(sdk.Invalid, "content_invalid", "content %q is none", "my secret")
	p = &client.Problem{Detail: refused.Error(), Code: "content_invalid"}
	s.api.Refused(ctx, refused, []byte(`{"content": "my secret"}`), p)
	if strings.Contains(p.Detail, "secret") || r.code != "content_invalid" {
		t.Errorf("%+v", p)
	}
}
