package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// framed answers a command of the program with everything that a call produces, see
// [client.WriteFrame]. A refusal before the operation is called is a problem.
func (a *API) framed(w http.ResponseWriter, r *request, rt *route) {
	f := &frames{w: w, r: r, control: http.NewResponseController(w)}
	c := operation.Call{
		Pieces: r.http.Header.Get(client.PiecesHeader) == "true",
		Queue:  r.http.Header.Get(client.QueueHeader) == "true",
		Events: func(e core.Event) {
			payload, err := client.EncodeEvent(e)
			f.send(client.FrameEvent, payload, err)
		},
		Progress: func(p operation.Progress) {
			payload, err := client.EncodeProgress(p)
			f.send(client.FrameProgress, payload, err)
		},
	}
	if rt.Sink {
		c.Sink = f
	}
	forget, err := a.begun(r)
	defer forget()
	var out any
	if err == nil {
		out, err = a.call(w, r, rt, c)
	}
	if _, queued := out.(*operation.JobQueued); queued && rt.Job != "" {
		w.Header().Set(client.QueueHeader, "true") // no bytes were written before
	}
	end := client.End{Error: client.NewErrorData(err)}
	if result, failed := client.EncodeResult(out); failed != nil {
		end.Error = client.NewErrorData(failed)
	} else {
		end.Result = result
	}
	r.failure = f.lost()
	if err != nil {
		r.code = sdk.ReasonOf(err)
		if sdk.CodeOf(err) == sdk.Internal {
			r.failure = err
		}
	}
	f.write(client.FrameEnd, endOf(&end))
}

// endOf is the end as JSON, without parts that can't be encoded, and without a result that
// is too large for a frame. It always shows how the call ended.
func endOf(end *client.End) []byte {
	payload, err := jsontext.Encode(end)
	if err != nil && end.Error != nil { // a detail that can't be encoded as JSON
		end.Error.Details = nil
		payload, err = jsontext.Encode(end)
	}
	if err == nil && len(payload) > client.MaxFrame {
		err = sdk.Errorf(sdk.Exhausted, "result_too_large", "the call was done, and its result has %d bytes (limit %d)", len(payload), client.MaxFrame).
			WithHint("ask for a part of it")
	}
	if err != nil {
		return jsontext.MustEncode(client.End{Error: client.NewErrorData(err)})
	}
	return payload
}

// frames writes frames, from whichever goroutine they come.
type frames struct {
	w       http.ResponseWriter
	r       *request
	control *http.ResponseController

	mu    sync.Mutex
	begun bool
	// err is the reason why nothing more can be written. untold is the reason why the first
	// lost event couldn't be written; other frames can still be written.
	err, untold error
}

// send writes the frame of an event or of progress, if that could be encoded.
func (f *frames) send(kind byte, payload []byte, err error) {
	if err == nil && len(payload) <= client.MaxFrame {
		f.write(kind, payload)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.untold == nil {
		f.untold = sdk.Errorf(sdk.Internal, "event_invalid", "an event of %d bytes wasn't sent: %w", len(payload), cmp.Or(err, errFrameSize))
	}
}

// errFrameSize is the error for an event that is too large for a frame.
var errFrameSize = errors.New("it is too large for a frame")

// lost is the defect that caused the loss of an event; nil if no event was lost.
func (f *frames) lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.untold
}

func (f *frames) write(kind byte, payload []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	if !f.begun {
		f.begun = true
		f.r.status = http.StatusOK
		f.w.Header().Set("Content-Type", client.FramesType)
		f.w.WriteHeader(http.StatusOK)
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(writeTime))
	if f.err = client.WriteFrame(f.w, kind, payload); f.err == nil && kind != client.FrameBytes {
		f.err = f.control.Flush()
	}
}

// Write implements [io.Writer], for what an operation streams.
func (f *frames) Write(p []byte) (int, error) {
	f.write(client.FrameBytes, p)
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(p), f.err
}
