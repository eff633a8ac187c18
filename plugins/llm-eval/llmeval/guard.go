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

// Limits for what an endpoint may send.
const (
	// maxReplyBytes limits a reply, streamed or not. It is the limit of one plugin
	// message, in which a reply must fit anyway.
	maxReplyBytes = 8 << 20
	// maxRefusalBytes limits how much of a refusal is read; a message quotes a few
	// lines of it.
	maxRefusalBytes = 64 << 10
)

const (
	typeEvents = "text/event-stream"
	// acceptStream is the Accept header of a request for a stream; the guard recognises
	// such a request by it.
	acceptStream = typeEvents + ", application/json"
)

// guard is the only place that looks at HTTP answers. It accepts a complete JSON reply
// or a stream of events, both limited in size, and turns anything else into a [fault]
// or a final error. It is the client's middleware.
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
	// The content type doesn't matter if the body has the requested form.
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
	// The parts of a refusal that can't be read are ignored: the status says enough.
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

// reduce reduces a reply to its essentials. It distinguishes a truncated reply, which
// is tried again, from a body that isn't a reply.
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

// malformed reports a reply that doesn't follow the protocol.
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
