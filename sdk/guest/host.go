package guest

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// Fetch asks the host to make an HTTP request, which needs the capability network for
// its endpoint. A response is not an error, whatever its status.
func Fetch(r abi.HTTPRequest) (*abi.HTTPResponse, error) {
	return ask[abi.HTTPResponse](callHTTP, r)
}

// Service asks the host for a service by its name, such as "llm.complete", which needs
// the capability host for it. Request and response are the service's own JSON. Package
// sdk has typed functions for them, such as [sdk.Complete].
func Service(name string, request json.RawMessage) (json.RawMessage, error) {
	response, err := ask[json.RawMessage](callService, abi.ServiceRequest{Service: name, Body: request})
	if err != nil {
		return nil, err
	}
	return *response, nil
}

// callHost is the host for one call: see [sdk.HostFrom].
type callHost struct {
	service func(name string, request json.RawMessage) (json.RawMessage, error)
	over    bool
}

// Ask implements [sdk.Host]. The whole module stops until the host has answered.
func (h *callHost) Ask(ctx context.Context, service sdk.Service, request json.RawMessage) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if h.over {
		return nil, sdk.Errorf(sdk.Invalid, "call_ended", "the host was asked outside a call").
			WithHint("ask while the call runs whose context you use, and wait for the answer before you return")
	}
	return h.service(string(service), request)
}

// ask makes one call of a host function.
func ask[R any](call func([]byte) []byte, request any) (*R, error) {
	b, err := json.Marshal(request)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "request_invalid", "a request to the host: %w", err)
	}
	var result abi.Result[R]
	if err := json.Unmarshal(call(b), &result); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "reply_invalid", "the host's reply: %w", err)
	}
	if result.Error != nil {
		return nil, result.Error.SDK()
	}
	if result.Response == nil {
		result.Response = new(R)
	}
	return result.Response, nil
}
