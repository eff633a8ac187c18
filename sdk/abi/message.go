package abi

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Request is the message of a call. Items are an operation's requests, such as
// [sdk.EvaluateRequest].
type Request struct {
	// Op is the operation's name, for guests that don't get its number.
	Op string `json:"op,omitempty"`
	// Kind is the kind of plugin for which a config is prepared.
	Kind   sdk.Kind        `json:"kind,omitempty"`
	Config *Config         `json:"config,omitempty"`
	Items  json.RawMessage `json:"items,omitempty"`
}

// Config is a config, or the digest of one that was sent before.
type Config struct {
	// Digest is equal for equal configs only.
	Digest string `json:"digest"`
	// JSON is a JSON object, or empty if only the digest is sent.
	JSON json.RawMessage `json:"json,omitempty"`
}

// Reply is the answer to a [Request]: a manifest, nothing, or one result for each item,
// or the error of the whole call.
type Reply[R any] struct {
	Error    *Error        `json:"error,omitempty"`
	Manifest *sdk.Manifest `json:"manifest,omitempty"`
	Results  []Result[R]   `json:"results,omitempty"`
}

// Result is the outcome of one item, or of one host function: a response or an
// error.
type Result[R any] struct {
	Response *R     `json:"response,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Generate is a generator's item.
type Generate struct {
	sdk.GenerateRequest
	// Emit means that someone watches, so pieces of the output may be emitted.
	Emit bool `json:"emit,omitempty"`
}

// HTTPRequest asks the host for an HTTP request.
type HTTPRequest struct {
	// Method is the HTTP method; empty means "GET".
	Method string              `json:"method,omitempty"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header,omitempty"`
	// Body is encoded as base64 in JSON.
	Body []byte `json:"body,omitempty"`
}

// HTTPResponse is the answer to an [HTTPRequest], whatever its status.
type HTTPResponse struct {
	Status int                 `json:"status"`
	Header map[string][]string `json:"header,omitempty"`
	Body   []byte              `json:"body,omitempty"`
}

// ServiceRequest asks for a host service, such as "llm.complete". The response
// is the service's own JSON.
type ServiceRequest struct {
	Service string          `json:"service"`
	Body    json.RawMessage `json:"body,omitempty"`
}
