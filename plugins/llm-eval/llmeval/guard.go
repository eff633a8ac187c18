package llmeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/httpfault"
)

// Bounds of what an endpoint may send.
const (
	// maxReplyBytes bounds a reply, streamed or not: the cap of one plugin
	// message, in which a reply has to fit anyway.
	maxReplyBytes = 8 << 20
	// maxRefusalBytes bounds what is read of a refusal, of which a message
	// quotes a few lines.
	maxRefusalBytes = 64 << 10
)

const (
	typeEvents = "text/event-stream"
	// acceptStream is the Accept header of a request for a stream, by which the
	// guard knows one.
	acceptStream = typeEvents + ", application/json"
)

// guard is the one place that looks at HTTP answers. It lets pass a complete
// JSON reply or a stream of events, both bounded, and turns anything else into
// a [fault] or a final error. It is the client's middleware.
func (e *endpoint) guard(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, broken(err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, e.refused(res)
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxReplyBytes)
	if mediaType(res) == typeEvents && req.Header.Get("Accept") == acceptStream {
		res.Body = &eventLimiter{ReadCloser: res.Body}
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, e.unread(err)
	}
	if body, err = e.reduce(res, body); err != nil {
		return nil, err
	}
	// The type that was sent doesn't matter once the body is what was asked for.
	res.Header.Set("Content-Type", "application/json")
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

func (e *endpoint) refused(res *http.Response) error {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return sdk.Errorf(sdk.Invalid, "llm_redirected", "%s redirects (%d) to %q, which isn't followed, since it would be sent the key",
			e.url, res.StatusCode, excerpt(res.Header.Get("Location"), e.key)).
			WithHint("if that is right, write the new address as llm.base_url").WithDetail(sdk.PermanentDetail, true)
	}
	// What can't be read of a refusal is done without: the status says enough.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusalBytes))
	f := refusal(res.StatusCode, body, e.key)
	f.wait = httpfault.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	return f
}

// unread explains a reply that ended before it was complete.
func (e *endpoint) unread(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return sdk.Errorf(sdk.Exhausted, "llm_reply_too_large", "%s replies with more than %d bytes", e.url, tooLarge.Limit).
			WithHint("set max_tokens")
	}
	return broken(err)
}

// reduce reduces a reply to its essentials. It tells a truncated one, which is
// tried again, from one that is something else.
func (e *endpoint) reduce(res *http.Response, body []byte) ([]byte, error) {
	var reply essentials
	err := json.Unmarshal(body, &reply)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(body)) {
		return nil, &fault{err: io.ErrUnexpectedEOF, text: "the reply is cut off after " + strconv.Itoa(len(body)) + " bytes"}
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil, e.malformed("has " + mismatch.Field + " of a wrong type")
	}
	if err != nil {
		return nil, e.malformed("is " + mediaType(res) + ", not a JSON object: " + excerpt(string(body), e.key))
	}
	// Some endpoints report an error with status 200.
	if len(reply.Error) > 0 && string(reply.Error) != "null" {
		return nil, refusal(http.StatusOK, reply.Error[:min(len(reply.Error), maxRefusalBytes)], e.key)
	}
	return json.Marshal(&reply)
}

// malformed reports a reply that isn't one in the protocol.
func (e *endpoint) malformed(what string) error {
	return sdk.Errorf(sdk.Invalid, "llm_reply_malformed", "the reply of %s %s", e.url, what).
		WithHint("check that llm.base_url is the base of an OpenAI-compatible endpoint; it usually ends in /v1").
		WithDetail(sdk.PermanentDetail, true)
}

func mediaType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return "of no known type"
	}
	return kind
}
