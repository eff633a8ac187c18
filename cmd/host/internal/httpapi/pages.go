package httpapi

import (
	"net/http"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Pages are for browsers: what they ask for is checked as everything else is, for its host
// and its origin, and has a line in the log. But somebody unknown gets a form to log in
// instead of a problem, so that who asks is left to the pages.

// Visit is what is known of a browser's request besides the request.
type Visit struct {
	// Failed counts a wrong credential, and is how long the address has to wait for the
	// next if there were too many; 0 is not at all.
	Failed func() time.Duration
	// Admit refuses what is more than a subject may ask for in a second; read is a request
	// that changes nothing.
	Admit func(subject string, read bool) error
}

// PagePaths are the paths of pages, as [http.ServeMux] has them.
func PagePaths() []string {
	paths := []string{"/{$}", "/login", "/login/", "/logout", "/theme", "/search", "/assets/", "/favicon.ico"}
	for _, section := range []string{"/runs", "/memory", "/approvals", "/knowledge", "/decisions", "/policies", "/jobs", "/dream", "/snapshots", "/plugins", "/audit", "/settings"} {
		paths = append(paths, section, section+"/")
	}
	return paths
}

// mountPages has the pages answer what is theirs.
func (a *API) mountPages(mux *http.ServeMux) {
	if a.config.Pages == nil {
		return
	}
	h := a.enter(false, a.page)
	for _, path := range PagePaths() {
		mux.Handle(path, h)
	}
}

// page has the pages answer a request.
func (a *API) page(w http.ResponseWriter, r *request) {
	r.op = "page"
	if err := a.checkHeaders(r); err != nil {
		a.refuse(w, r, err)
		return
	}
	said := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a writer of a test has none
	a.config.Pages(said, r.http, Visit{
		Failed: func() time.Duration {
			r.code = "unauthenticated"
			return sdk.RetryAfter(a.rates.failedLogin(r.address))
		},
		Admit: a.rates.admit,
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
