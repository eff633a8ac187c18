package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// What a client sends is checked before the library reads it, because the library ends a
// session at the first text that isn't a message, takes the last of two members with one name,
// replaces what isn't UTF-8, and reads ids as float64.

// exact carries numbers through the library that it would change: ids and progress tokens that
// aren't plainly written whole numbers of up to 2^53. It replaces each with a text that begins
// with a random prefix, which nobody else can write, and puts the number back into what is
// sent.
type exact struct {
	prefix string
	hidden *regexp.Regexp
}

func newExact() exact {
	prefix := "number-" + rand.Text() + ":"
	return exact{prefix, regexp.MustCompile(`"` + prefix + `([-+.0-9eE]+)"`)}
}

// hide is a value that the library keeps as it is.
func (x exact) hide(value json.RawMessage) json.RawMessage {
	if jsontext.Kind(value) != "a number" {
		return value
	}
	const most = 1 << 53
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= -most && n <= most && string(value) != "-0" {
		return value
	}
	return jsontext.MustEncode(x.prefix + string(value))
}

// restore puts the numbers back into a message.
func (x exact) restore(text []byte) []byte {
	if !bytes.Contains(text, []byte(x.prefix)) {
		return text
	}
	return x.hidden.ReplaceAll(text, []byte("$1"))
}

// hideIn hides a member's value in an object, if there is one.
func (x exact) hideIn(object json.RawMessage, change func(json.RawMessage) json.RawMessage, name string) json.RawMessage {
	list := jsontext.Members(object)
	i := slices.IndexFunc(list, func(m jsontext.Member) bool { return m.Key == name })
	if i < 0 {
		return object
	}
	changed := change(list[i].Value)
	if bytes.Equal(changed, list[i].Value) {
		return object
	}
	list[i].Value = changed
	return jsontext.JoinMembers(list)
}

// message is what a text is, once it is checked.
type message struct {
	// text is the message as the library may read it; nil for blank text, which isn't answered.
	text []byte
	// response is whether it is a client's response. It is never answered, whatever it is, since
	// two programs could otherwise send each other errors without end.
	response bool
}

// notMessage is why a text isn't a message, as the error that is sent.
type notMessage struct {
	id json.RawMessage // null if it isn't known
	jsonrpc.Error
}

// bytes is the JSON of the error's response.
func (n *notMessage) bytes() []byte {
	return jsontext.MustEncode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", n.id, &n.Error})
}

// read checks a text, which what names in an error.
func (x exact) read(text []byte, what string) (message, *notMessage) {
	text = bytes.Trim(text, " \t\r\n")
	if len(text) == 0 {
		return message{}, nil
	}
	refuse := func(id json.RawMessage, code int64, why string) (message, *notMessage) {
		return message{}, &notMessage{id, jsonrpc.Error{Code: code, Message: why}}
	}
	none := json.RawMessage("null")
	err := jsoncheck.Check(text, what, jsontext.MaxDepth)
	if sdk.ReasonOf(err) == "json_invalid" {
		return refuse(none, jsonrpc.CodeParseError, err.Error())
	}
	e := envelopeOf(text)
	id := e.id
	if !isID(id) {
		id = none
	}
	if e.method == nil && (e.result || e.failed) {
		return message{text, true}, nil
	}
	why := e.problem(what)
	switch {
	case err != nil && !utf8.Valid(text):
		return refuse(id, jsonrpc.CodeParseError, err.Error())
	case err != nil && !inArguments(err, e):
		return refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
	case why != "":
		return refuse(id, jsonrpc.CodeInvalidRequest, why)
	}
	text = x.hideIn(text, x.hide, "id")
	token := func(meta json.RawMessage) json.RawMessage { return x.hideIn(meta, x.hide, "progressToken") }
	params := func(p json.RawMessage) json.RawMessage {
		p = x.hideIn(p, token, "_meta")
		if string(e.method) == `"notifications/cancelled"` {
			p = x.hideIn(p, x.hide, "requestId")
		}
		return p
	}
	return message{text: x.hideIn(text, params, "params")}, nil
}

// inArguments reports whether a problem is in a tool's arguments. The tool then reports it in its
// result, which a model can read.
func inArguments(err error, e envelope) bool {
	pointer, _ := sdk.AsError(err).Details["pointer"].(string)
	return string(e.method) == `"tools/call"` && strings.HasPrefix(pointer, "/params/arguments/") && sdk.ReasonOf(err) != "json_too_deep"
}

// envelope is the part of a message that JSON-RPC defines.
type envelope struct {
	object              bool
	batch               bool
	version, id, method json.RawMessage // nil if they are missing
	params              json.RawMessage
	result, failed      bool
}

func envelopeOf(text []byte) envelope {
	e := envelope{object: text[0] == '{', batch: text[0] == '['}
	if !e.object {
		return e
	}
	twice := false
	for _, m := range jsontext.Members(text) {
		switch m.Key {
		case "jsonrpc":
			e.version = m.Value
		case "id":
			twice = e.id != nil
			e.id = m.Value
		case "method":
			e.method = m.Value
		case "params":
			e.params = m.Value
		case "result":
			e.result = true
		case "error":
			e.failed = true
		}
	}
	if twice {
		e.id = nil // nobody knows which one counts
	}
	return e
}

// problem is why it isn't a request or a notification; "" if it is one.
func (e envelope) problem(what string) string {
	switch {
	case e.batch:
		return what + " is a batch, which the protocol doesn't have: send each message on its own"
	case !e.object:
		return what + " is not a JSON object"
	case string(e.version) != `"2.0"`:
		return `the member jsonrpc isn't "2.0"`
	case e.id != nil && !isID(e.id):
		return "the member id is " + jsontext.Kind(e.id) + ", neither a text nor a number"
	case jsontext.Kind(e.method) != "a text":
		return "the member method is " + jsontext.Kind(e.method) + ", not a text"
	case e.params != nil && jsontext.Kind(e.params) != "an object" && string(e.params) != "null":
		return "the member params is " + jsontext.Kind(e.params) + ", not an object"
	}
	return ""
}

// isID reports whether a value may be a request's id.
func isID(value json.RawMessage) bool {
	kind := jsontext.Kind(value)
	return kind == "a text" || kind == "a number"
}

// checkMessages checks each message over HTTP before the library reads it. stream answers what asks for
// progress, and next the rest.
func checkMessages(next, stream http.Handler, maxBody int64) http.Handler {
	x := newExact()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body can't be read, or has more than "+strconv.FormatInt(maxBody, 10)+" bytes (limits: {body: …} of reflectory.yaml raises that)", http.StatusRequestEntityTooLarge)
			return
		}
		m, refused := x.read(body, "the body")
		if refused != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(refused.bytes()) // the caller may have gone
			return
		}
		if bytes.Contains(m.text, []byte(x.prefix)) {
			w = &restoringWriter{w, x}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.text)), int64(len(m.text)) // the server closes the one that was read
		if bytes.Contains(m.text, []byte(`"progressToken"`)) {
			stream.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// restoringWriter puts hidden numbers back into an answer. The library writes each message at
// once.
type restoringWriter struct {
	http.ResponseWriter
	exact exact
}

// Write implements [http.ResponseWriter].
func (w *restoringWriter) Write(p []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(w.exact.restore(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap is for [http.ResponseController].
func (w *restoringWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
