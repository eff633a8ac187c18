package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// A surface for clients that were made for somebody else's API, such as a gateway in front of a model,
// has paths outside of /v1 and nothing of this API's forms: its requests are larger and last longer,
// and its clients understand refusals only in the form that they know. So it has credentials, limits and
// a form of refusals of its own. What protects the host stays: where a request comes from, how often its
// subject asks, who has the places, and what a refusal may say.

// Foreign is such a surface.
type Foreign struct {
	// Name is its name in the log. Paths are what is below it, each with a slash at its end.
	Name  string
	Paths []string
	// Handler answers requests, with the caller in their context. It sets no deadlines for writing.
	Handler http.Handler
	// Authenticator is as in [Config], and is asked even if the server needs no credentials.
	Authenticator Authenticator
	// May refuses a caller before its body is read.
	May func(context.Context, core.Caller) error
	// Refuse answers a request for a path with an error, in the surface's form.
	Refuse func(w http.ResponseWriter, path string, err error)
}

const (
	// foreignHeaders, foreignBody and foreignDepth are the limits of such requests, in bytes: a
	// conversation with images is far larger than any request of this API, and clients send many
	// headers.
	foreignHeaders = 64 << 10
	foreignBody    = 32 << 20
	// foreignBodies bounds the bodies of all requests under way, in bytes, since they are kept until their
	// ends: eight of the largest, or some hundred of a megabyte. A tenant never has more than half.
	foreignBodies = 8 * foreignBody
	// foreignLasts is how long a tenant that had places counts as waiting for more: as long as a reply
	// may take, others would keep it out.
	foreignLasts = time.Minute
	// foreignWait is how long a request waits for a place: less than clients wait for the first byte.
	foreignWait = 10 * time.Second
)

// foreign are the places of a foreign surface.
type foreign struct {
	*Foreign
	places, bodies *share.Share
}

func newForeign(f *Foreign, l Limits) *foreign {
	if f == nil {
		return nil
	}
	return &foreign{
		f, share.New(share.Options{Places: int64(l.Gateway), Lasts: foreignLasts}),
		share.New(share.Options{Places: foreignBodies, Each: share.Half(foreignBodies)}),
	}
}

// mountForeign routes the foreign surface's paths, which have no route of this API's checks.
func (a *API) mountForeign(outer *http.ServeMux) {
	f := a.foreign
	if f == nil {
		return
	}
	h := a.enter(request{foreign: f}, func(w http.ResponseWriter, r *request) {
		r.op = f.Name
		if !a.authenticate(w, r) {
			return
		}
		done, err := a.admitForeign(r)
		if err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		defer done()
		control := http.NewResponseController(w)
		hr := r.with(core.WithCaller(r.http.Context(), r.caller))
		hr.Body = &slowBody{&slowReader{http.MaxBytesReader(w, hr.Body, foreignBody), control, a.limits.BodyTime}, hr.Body}
		_ = control.SetWriteDeadline(time.Time{}) // a test's writer has none
		f.Handler.ServeHTTP(&foreignWriter{mountWriter{w, r}}, hr)
	})
	for _, path := range f.Paths {
		outer.Handle(path, h)
	}
}

// admitForeign refuses a request of a foreign surface that comes too soon, is too large or isn't
// allowed, and waits for its places. done gives them back.
func (a *API) admitForeign(r *request) (done func(), err error) {
	ctx, f := r.http.Context(), r.foreign
	if err := a.rates.admit(ctx, r.caller, true); err != nil {
		return nil, err
	}
	if err := checkHeaders(r, foreignHeaders, ""); err != nil {
		return nil, err
	}
	if err := f.May(core.WithCaller(ctx, r.caller), r.caller); err != nil {
		return nil, err
	}
	size := r.http.ContentLength
	if size > foreignBody {
		return nil, sdk.Errorf(sdk.Exhausted, "body_too_large", "the body has %d bytes (limit %d)", size, foreignBody)
	}
	if size < 0 {
		size = foreignBody
	}
	waiting, cancel := context.WithTimeout(ctx, foreignWait)
	defer cancel()
	place, err := f.places.TakeFor(waiting, r.caller.Tenant(), r.caller.Account(), 1)
	if err != nil {
		return nil, foreignFull(r, "gateway")
	}
	body, err := f.bodies.TakeFor(waiting, r.caller.Tenant(), r.caller.Account(), size)
	if err != nil {
		place()
		return nil, foreignFull(r, "")
	}
	return func() { body(); place() }, nil
}

// foreignFull is the refusal of a request that waited for its places too long.
func foreignFull(r *request, limit string) error {
	if err := r.http.Context().Err(); err != nil {
		return sdk.Errorf(sdk.Cancelled, "cancelled", "the request was given up: %w", err)
	}
	err := sdk.Errorf(sdk.Exhausted, "bodies_exhausted", "too many large requests of %s are under way", r.caller.Tenant()).WithHint("send fewer at once")
	if limit != "" {
		err = reached(sdk.Errorf(sdk.Exhausted, "requests_full", "as many requests as the server takes are under way"), limit, "send fewer at once")
	}
	return err.WithDetail(sdk.RetryAfterDetail, time.Second.Milliseconds())
}

// slowBody is a [slowReader] that can be closed.
type slowBody struct {
	*slowReader
	body interface{ Close() error }
}

// Close implements [io.Closer].
func (b *slowBody) Close() error { return b.body.Close() }

// foreignWriter gives each write and each flush its own deadline, and none to the time between: a model
// may think for minutes, and over HTTP/2 a deadline that passes ends the stream.
type foreignWriter struct{ mountWriter }

// Write implements [http.ResponseWriter].
func (f *foreignWriter) Write(p []byte) (int, error) {
	defer f.none()
	return f.mountWriter.Write(p)
}

// FlushError implements the flushing of [http.ResponseController].
func (f *foreignWriter) FlushError() error {
	control := http.NewResponseController(f.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	defer f.none()
	return control.Flush()
}

// SetWriteDeadline is for [http.ResponseController]: the deadlines are this writer's.
func (*foreignWriter) SetWriteDeadline(time.Time) error { return nil }

func (f *foreignWriter) none() {
	_ = http.NewResponseController(f.ResponseWriter).SetWriteDeadline(time.Time{}) // as above
}

// refuseForeign answers with an error in the form of the request's surface. What it says is what a problem
// would say.
func (ps *problems) refuseForeign(w http.ResponseWriter, r *request, err error) {
	e, p := sdk.AsError(err), ps.of(r, err)
	said := sdk.Errorf(e.Code, e.Reason, "%s", access.Hide([]byte(p.Detail))).WithHint("%s", p.Hint)
	if wait := sdk.RetryAfter(err); wait > 0 {
		said = said.WithDetail(sdk.RetryAfterDetail, wait.Milliseconds())
	}
	if r.code = p.Code; p.Status == http.StatusInternalServerError {
		r.failure = err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // as above
	r.foreign.Refuse(&mountWriter{w, r}, r.http.URL.Path, said)
}
