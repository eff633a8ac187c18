package httpapi

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// framed answers a command of the program with all that a call gives, see
// [client.WriteFrame]. What is refused before the operation is a problem.
func (a *API) framed(w http.ResponseWriter, r *request, rt *route) {
	f := &frames{w: w, r: r, control: http.NewResponseController(w)}
	c := operation.Call{
		Pieces: r.http.Header.Get(client.PiecesHeader) == "true",
		Events: func(e core.Event) {
			payload, err := client.EncodeEvent(e)
			f.write(client.FrameEvent, payload, err)
		},
		Progress: func(p operation.Progress) {
			payload, err := client.EncodeProgress(p)
			f.write(client.FrameProgress, payload, err)
		},
	}
	if rt.Sink {
		c.Sink = f
	}
	out, err := a.call(w, r, rt, c)
	end := client.End{Error: client.NewErrorData(err)}
	if result, failed := client.EncodeResult(out); failed != nil {
		end.Error = client.NewErrorData(failed)
	} else {
		end.Result = result
	}
	if err != nil {
		r.code = sdk.ReasonOf(err)
		if sdk.CodeOf(err) == sdk.Internal {
			r.failure = err
		}
	}
	payload, encodeErr := core.EncodeJSON(end)
	if encodeErr != nil { // a detail that is no JSON
		end.Error.Details = nil
		payload = core.MustJSON(end)
	}
	f.write(client.FrameEnd, payload, nil)
}

// frames writes frames, from whichever goroutine they come.
type frames struct {
	w       http.ResponseWriter
	r       *request
	control *http.ResponseController

	mu    sync.Mutex
	begun bool
	err   error
}

func (f *frames) write(kind byte, payload []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || f.err != nil {
		f.err = errors.Join(f.err, err)
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
	f.write(client.FrameBytes, p, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(p), f.err
}
