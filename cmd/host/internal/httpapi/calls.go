package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// A command over the socket names its call, so that it can cancel the call and still learn
// how it ended. No other caller knows the name.

// calls are the calls over the socket that can be cancelled, by their names.
type calls struct{ cancels sync.Map }

// begun makes a call cancellable by its name, and restricts it to plugins that the command
// has too. forget must be called once the call is over, even after an error.
func (a *API) begun(r *request) (forget func(), err error) {
	ctx, cancel := context.WithCancel(r.http.Context())
	forget = cancel
	if name := r.http.Header.Get(client.CallHeader); name != "" && len(name) <= 64 {
		if _, taken := a.calls.cancels.LoadOrStore(name, cancel); !taken {
			forget = func() { a.calls.cancels.Delete(name); cancel() }
		}
	}
	if text := r.http.Header.Get(client.PinsHeader); text != "" {
		var pins host.Pins
		if err := json.Unmarshal([]byte(text), &pins); err != nil {
			return forget, sdk.Errorf(sdk.Invalid, "header_invalid", "the header %s isn't a JSON object of texts", client.PinsHeader).
				WithHint("leave it out, or name the plugins' digests by their names")
		}
		ctx = host.WithPins(ctx, pins)
	}
	r.http = r.http.WithContext(ctx)
	return forget, nil
}

// cancelCall cancels a call over the socket.
func (a *API) cancelCall(w http.ResponseWriter, r *request) {
	cancel, found := a.calls.cancels.Load(r.http.PathValue("call"))
	if !found {
		a.problems.refuse(w, r, sdk.Errorf(sdk.NotFound, "call_not_found", "there is no such call, or it is over"))
		return
	}
	cancel.(context.CancelFunc)()
	r.write(w, http.StatusNoContent, "", nil)
}
