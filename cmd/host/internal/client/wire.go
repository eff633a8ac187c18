package client

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Over the socket the program speaks HTTP with its server, with the headers and the
// problem's members below. They are here because the server's package may import this one,
// and not the other way round.

const (
	// SocketName is the name of the server's socket in the data folder.
	SocketName = "host.sock"
	// AgentHeader has the caller's label, over the socket only.
	AgentHeader = "Reflectory-Agent"
	// VersionHeader has the version of the program that asks or answers.
	VersionHeader = "Reflectory-Version"
	// PiecesHeader is "true" if the events should include pieces of outputs.
	PiecesHeader = "Reflectory-Pieces"
	// CallHeader names a call, over the socket only, so that it can be cancelled by
	// [CancelPath]: 1 to 64 letters and digits that the caller has drawn.
	CallHeader = "Reflectory-Call"
	// PinsHeader has the origins of the caller's plugins, over the socket only, as a JSON
	// object. A server that has different plugins under these names refuses to use them.
	PinsHeader = "Reflectory-Plugins"
	// QueueHeader is "true" in a request whose long work should be done by a job, and in the
	// answer if a job does it.
	QueueHeader = "Reflectory-Queue"
	// FramesType asks for the answer in frames, over the socket only: with the events and
	// progress, and with a result that may come with an error.
	FramesType = "application/vnd.reflectory.frames"
	// ResultTrailer has the result of an answer that is a stream, as JSON.
	ResultTrailer = "Reflectory-Result"
	// ProblemType is the media type of a [Problem].
	ProblemType = "application/problem+json"
	// LinesType is the media type of an export.
	LinesType = "application/jsonl"
)

// CancelPath is the path that cancels a call over the socket. The answer is 204, or 404 if
// there is no such call.
func CancelPath(call string) string { return "/calls/" + call + "/cancel" }

// Problem is an error in the form of RFC 9457.
type Problem struct {
	// Type is "urn:reflectory:problem:" and Code.
	Type string `json:"type"`
	// Title is the error's class in words.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the error's reason, as on the command line.
	Code string `json:"code"`
	// Hint is what to do, with the route for it. Try is the same as a verb with its
	// arguments, for programs that name it differently.
	Hint string      `json:"hint,omitempty"`
	Try  *sdk.Action `json:"try,omitempty"`
	// Details are facts for programs.
	Details map[string]any `json:"details,omitempty"`
	// Errors are all faults of a request, each with its place.
	Errors  []Fault `json:"errors,omitempty"`
	TraceID string  `json:"trace_id"`
	// Result is the result that exists despite the error, for example if a purge is done
	// although some files still hold the removed data.
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

// ErrorData is a complete error of the program. The owner of the data folder may see what
// readers of the public problem aren't shown.
type ErrorData struct {
	Class   sdk.Code       `json:"class"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// OtherVersion is the refusal of a program by a server of another version, since the two
// may understand a message differently.
func OtherVersion(program, server string) error {
	return sdk.Errorf(sdk.Incompatible, "version_differs", "this program is version %s, and the server on the data folder is version %s", core.Cut(program), core.Cut(server)).
		WithHint("use the program that the server was started with, or start the server again with this one").
		WithDetail("program", core.Cut(program)).WithDetail("server", core.Cut(server))
}
