package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// operation calls an operation of the table.
func (a *API) operation(rt *route) http.Handler {
	return a.handle(rt.Name, func(w http.ResponseWriter, r *request) {
		r.taken = rt.taken
		if r.local && r.http.Header.Get("Accept") == client.FramesType {
			a.framed(w, r, rt)
			return
		}
		media := "application/json"
		if rt.Sink {
			media = client.LinesType
		}
		if err := r.mustAccept(media); err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		if rt.Sink {
			a.streamed(w, r, rt)
			return
		}
		var c operation.Call
		in, err := a.input(w, r, rt, &c)
		if err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		if a.forward(w, r, rt, in) {
			return
		}
		prefers := preferencesOf(r.http.Header)
		prefers.setWait(w, rt, in)
		out, err := a.do(w, r, rt.preferred(prefers), c, in)
		if err != nil {
			a.problems.refuseWith(w, r, err, out)
			return
		}
		status := http.StatusOK
		switch out := out.(type) {
		case *operation.JobQueued:
			if !rt.queues {
				break
			}
			w.Header().Set("Location", "/v1/jobs/"+out.JobID)
			if a.await(w, r, prefers, out) {
				return
			}
			status = http.StatusAccepted
		case *operation.JobResult:
			if asked, is := in.(*operation.JobResultGet); is && asked.Wait > 0 && !out.Status.Terminal() {
				status = http.StatusAccepted
			}
		}
		a.answer(w, r, rt, status, out)
	})
}

// maxKeptBuffer is the largest buffer of an answer that is kept for the next, in bytes: most answers are
// far smaller.
const maxKeptBuffer = 64 << 10

// answer answers with a result as JSON, unless the caller already has it.
func (a *API) answer(w http.ResponseWriter, r *request, rt *route, status int, out any) {
	buffer, kept := a.buffers.Get().(*bytes.Buffer)
	if !kept {
		buffer = new(bytes.Buffer)
	}
	defer func() {
		if buffer.Cap() <= maxKeptBuffer {
			a.buffers.Put(buffer)
		}
	}()
	text, err := jsontext.LineIn(buffer, out)
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	if done := a.versioned(w, r, rt, out); !done {
		r.write(w, status, "application/json", text)
	}
}

// call reads the request and calls the operation.
func (a *API) call(w http.ResponseWriter, r *request, rt *route, c operation.Call) (any, error) {
	in, err := a.input(w, r, rt, &c)
	if err != nil {
		return nil, err
	}
	return a.do(w, r, rt, c, in)
}

// input reads the request, and the parts of it that belong to the call. If the caller lacks
// the scope, nothing is read, since the operation will refuse the caller.
func (a *API) input(w http.ResponseWriter, r *request, rt *route, c *operation.Call) (in any, err error) {
	in = reflect.New(rt.In()).Interface()
	if rt.May(r.caller) {
		if err := a.read(w, r, rt, in); err != nil {
			return nil, err
		}
	}
	if rt.Body && r.http.ContentLength != 0 {
		c.Body = a.stream(w, r)
	}
	return in, a.conditions(r, rt, in, c)
}

// do calls the operation.
func (a *API) do(w http.ResponseWriter, r *request, rt *route, c operation.Call, in any) (any, error) {
	c.Host, c.Local, c.Stopping, r.called = a.config.Host, r.local, a.draining, true
	c.Queue = c.Queue || rt.queues
	ctx := r.http.Context()
	if !rt.Long || rt.queues { // a client that only ended its sending wants the answer, and the call is bounded
		ctx = context.WithoutCancel(ctx)
	}
	out, err := rt.Do(core.WithCaller(ctx, r.caller), c, in)
	if r.replayed {
		w.Header().Set(replayedHeader, "true")
	}
	if spoken, is := out.(operation.Callable); is && err == nil && !r.local { // a program here has its own words
		out = spoken.WithCalls(a.requestFor)
	}
	return out, err
}

// localBody is how many bytes the JSON of a request over host.sock may have at least: its caller is the
// operator, who could give the same to a program of their own, such as a workflow with its files (28 MiB)
// and their state (8 MiB).
const localBody = 40 << 20

// read fills a request from its path, and its query or body.
func (a *API) read(w http.ResponseWriter, r *request, rt *route, in any) error {
	var err error
	var faults faults
	if rt.inQuery() {
		err = faults.decodeQuery(r.http.URL.RawQuery, in, rt.taken)
	} else {
		if r.http.URL.RawQuery != "" {
			return sdk.Errorf(sdk.Invalid, "query_invalid", "this operation takes no query").WithHint("put its fields into the body")
		}
		limit := a.limits.Body
		if r.local {
			limit = max(limit, localBody)
		}
		done, refused := a.admitBody(r, limit)
		if refused != nil {
			return refused
		}
		defer done()
		if r.body, err = a.body(w, r, limit); err == nil && len(r.body) > 0 {
			err = a.decode(r, in, &faults, rt.taken)
		}
	}
	if err == nil && rt.Body {
		err = mediaTypeOf(r, client.LinesType, "application/x-ndjson", "application/octet-stream")
	}
	faults.setPath(r, rt, in)
	return core.JoinErrors(err, faults.refusal(&rt.Operation, in, a.config.Host.Config.Clock.Now()))
}

// setPath sets the fields that are in the path.
func (f *faults) setPath(r *request, rt *route, in any) {
	if len(rt.taken) == 0 {
		return
	}
	v, known := reflect.ValueOf(in).Elem(), fieldsOf(rt.In())
	for _, name := range rt.taken {
		value := r.http.PathValue(name)
		if f.notUTF8(value, "/"+name) {
			continue
		}
		fieldAt(v, known[name].index).SetString(value)
	}
}

// body is a request's JSON; nil if it has none.
func (a *API) body(w http.ResponseWriter, r *request, limit int64) ([]byte, error) {
	if r.http.ContentLength == 0 && r.http.Header.Get("Content-Type") == "" {
		return nil, nil
	}
	if err := mediaTypeOf(r, "application/json"); err != nil {
		return nil, err
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(a.limits.BodyTime)) // a test's writer has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.http.Body, limit))
	if err == nil { // otherwise net/http reads the rest before it answers
		_ = control.SetReadDeadline(time.Time{})
	}
	return data, unread(err, a.limits.BodyTime, "body")
}

// boundBody limits the time of a body that no handler reads: net/http reads such a body
// before it sends an answer.
func (a *API) boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.limits.BodyTime))
		}
		next.ServeHTTP(w, r)
	})
}

// unread is the error for a body that couldn't be read. key is the limit of its bytes.
func unread(err error, limit time.Duration, key string) error {
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return reached(sdk.Errorf(sdk.Exhausted, "body_too_large", "the body has more than %d bytes", large.Limit), key, "send less at once")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return reached(sdk.Errorf(sdk.Timeout, "body_timeout", "the body took longer than %s to arrive", limit), "body_time", "send it faster")
	}
	return sdk.Errorf(sdk.Invalid, "body_unreadable", "the body ended too early")
}

// mediaTypeOf refuses a body of another media type.
func mediaTypeOf(r *request, types ...string) error {
	name, params, err := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	charset := params["charset"]
	if err == nil && slices.Contains(types, name) && (charset == "" || charset == "utf-8" || charset == "UTF-8") &&
		r.http.Header.Get("Content-Encoding") == "" {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "content_type_unsupported", "the body isn't sent as %s", types[0]).
		WithHint("set Content-Type: %s, without Content-Encoding", types[0])
}

// stream is a body that is read as it arrives, as long as bytes keep arriving.
func (a *API) stream(w http.ResponseWriter, r *request) io.Reader {
	limit := a.limits.ImportBody
	if r.local {
		limit = 1 << 40 // the sender could write as much into the data folder itself
	}
	return &slowReader{http.MaxBytesReader(w, r.http.Body, limit), http.NewResponseController(w), a.limits.BodyTime}
}

// slowReader reads a body that may take long, as long as bytes keep arriving.
type slowReader struct {
	io.Reader
	control *http.ResponseController
	limit   time.Duration
}

// Read implements [io.Reader].
func (s *slowReader) Read(p []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(s.limit))
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unread(err, s.limit, "import_body")
	}
	if errors.Is(err, io.EOF) {
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// resultTrailer has the result of an answer that is a stream, as JSON.
const resultTrailer = client.ResultTrailer

// streamed answers with what the operation writes. An error before the first byte is a
// problem like any other. After the first byte the answer breaks off, so that it doesn't
// look complete.
func (a *API) streamed(w http.ResponseWriter, r *request, rt *route) {
	if !r.http.ProtoAtLeast(1, 1) {
		a.problems.refuse(w, r, sdk.Errorf(sdk.Invalid, "http_version_unsupported", "before HTTP/1.1, an answer that breaks off looks whole").
			WithHint("ask with HTTP/1.1"))
		return
	}
	sink := &sink{w: w, r: r, control: http.NewResponseController(w)}
	out, err := a.call(w, r, rt, operation.Call{Sink: sink})
	switch {
	case err != nil && !sink.begun:
		a.problems.refuse(w, r, err)
	case err != nil:
		r.code, r.failure = sdk.ReasonOf(err), err
		panic(http.ErrAbortHandler) // the connection ends without the last chunk
	default:
		r.failure = sink.end()
		if r.failure != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(resultTrailer, string(jsontext.MustEncode(out)))
	}
}

// sink is the writer of a streamed answer.
type sink struct {
	w       http.ResponseWriter
	r       *request
	control *http.ResponseController
	begun   bool
}

func (s *sink) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", client.LinesType)
	h.Set("Trailer", resultTrailer)
	s.r.status = http.StatusOK
	s.w.WriteHeader(http.StatusOK)
}

// end sends what is left, with a new deadline, since the last piece may have been written
// long ago. An error means that the caller hasn't received everything.
func (s *sink) end() error {
	s.begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return sdk.Errorf(sdk.Unavailable, "caller_lost", "the answer couldn't be sent to its end: %w", err)
	}
	return nil
}

// Write implements [io.Writer].
func (s *sink) Write(p []byte) (int, error) {
	s.begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime))
	return s.w.Write(p)
}
