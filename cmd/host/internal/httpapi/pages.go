package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Pages are for browsers. Their requests are checked like all others, for host and origin,
// and have a line in the log. But an unknown caller gets a login form instead of a problem,
// so the pages authenticate callers themselves.

// Visit is what this package gives the pages in addition to a browser's request.
type Visit struct {
	// Failed counts a wrong credential. If there were too many, it returns how long the
	// address has to wait before the next one; otherwise 0.
	Failed func() time.Duration
	// Admit refuses a request above the rate of its subject; read is whether it changes
	// nothing.
	Admit func(ctx context.Context, c core.Caller, read bool) error
}

// PagePaths are the paths of pages, as patterns of [http.ServeMux].
func PagePaths() []string {
	paths := []string{"/{$}", "/login", "/login/", "/logout", "/theme", "/search", "/assets/", "/favicon.ico"}
	for _, section := range []string{"/runs", "/memory", "/approvals", "/knowledge", "/sessions", "/decisions", "/policies", "/jobs", "/dream", "/snapshots", "/plugins", "/audit", "/settings"} {
		paths = append(paths, section, section+"/")
	}
	return paths
}

// mountPages lets the pages answer their paths.
func (a *API) mountPages(mux *http.ServeMux) {
	if a.config.Pages == nil {
		return
	}
	h := a.enter(request{}, a.page)
	for _, path := range PagePaths() {
		mux.Handle(path, h)
	}
}

// page lets the pages answer a request.
func (a *API) page(w http.ResponseWriter, r *request) {
	r.op = "page"
	if err := checkHeaders(r, a.limits.Headers, "headers"); err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	said := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	a.config.Pages(said, r.http, Visit{
		Failed: func() time.Duration {
			r.code = "unauthenticated"
			return sdk.RetryAfter(a.rates.failedLogin(r.http.Context(), r.address))
		},
		Admit: func(ctx context.Context, c core.Caller, read bool) error {
			slotOf(r.http.Context()).known(c.Tenant())
			return a.rates.admit(ctx, c, read)
		},
	})
	r.status = said.status
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
