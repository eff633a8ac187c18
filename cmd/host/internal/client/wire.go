package client

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// What the program says to a server of its own over the socket is HTTP like any other, with
// the headers and the problem's members below. They are here since the server's package
// may import this one, and not the other way.

const (
	// SocketName is the name of the server's socket in the data folder.
	SocketName = "host.sock"
	// AgentHeader has the label that the caller uses, over the socket only.
	AgentHeader = "Reflectory-Agent"
	// VersionHeader has the version of the program that asks or answers.
	VersionHeader = "Reflectory-Version"
	// PiecesHeader is "true" where pieces of outputs are wanted among the events.
	PiecesHeader = "Reflectory-Pieces"
	// FramesType asks for the answer in frames, see [Frame], over the socket only: with what
	// happens meanwhile, and with a result that comes with an error.
	FramesType = "application/vnd.reflectory.frames"
	// ResultTrailer has the result of an answer that is a stream, as JSON.
	ResultTrailer = "Reflectory-Result"
	// ProblemType is the media type of a [Problem], and LinesType of a file of an export.
	ProblemType = "application/problem+json"
	LinesType   = "application/jsonl"
)

// Problem is an error as RFC 9457 has it.
type Problem struct {
	// Type is "urn:reflectory:problem:" and Code.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the error's reason, as the command line has it.
	Code string `json:"code"`
	Hint string `json:"hint,omitempty"`
	// Details are facts for programs.
	Details map[string]any `json:"details,omitempty"`
	// Errors are all that is wrong with a request, each with its place in it.
	Errors  []Fault `json:"errors,omitempty"`
	TraceID string  `json:"trace_id"`
	// Result is what there is despite the error, such as of a purge that is done although some
	// files still hold what it removed.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is for the program's own commands, over the socket only.
	Error *ErrorData `json:"error,omitempty"`
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	// Pointer is a JSON pointer into the request; "" is the whole.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
	Code    string `json:"code"`
}

// ErrorData is an error as it is in the program, without a word less: what a problem's
// reader isn't shown, who owns the data folder may see.
type ErrorData struct {
	Class   sdk.Code       `json:"class"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// OtherVersion refuses a program of one version for a server of another: between versions,
// what one sends may mean something else to the other.
func OtherVersion(program, server string) error {
	return sdk.Errorf(sdk.Incompatible, "version_differs", "this program is version %s, and the server on the data folder is version %s", core.Cut(program), core.Cut(server)).
		WithHint("use the program that the server was started with, or start the server again with this one").
		WithDetail("program", core.Cut(program)).WithDetail("server", core.Cut(server))
}
