package llmeval

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/httpfault"
	"github.com/reflectory/reflectory/sdk/modeltext"
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
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
	typeLines  = "application/x-ndjson"
)

// exchange is one question, in the dialect that its endpoint understands, and its reply.
type exchange struct {
	*client
	question *question
	dialect  dialect
	emitted  bool      // a piece of the reply was shown
	lost     sdk.Usage // by tries without a reply, which counts too
	reply    *reply
}

// run makes one HTTP exchange within the endpoint's timeout.
func (x *exchange) run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, x.endpoint.timeout)
	defer cancel()
	// Once pieces were shown, the next try requests the whole reply, so that no piece
	// is repeated; a model that only streams is shown no further.
	stream := x.dialect.stream == streamAlways || x.question.emit != nil && x.dialect.stream != streamNever && !x.emitted
	err := x.send(limited, stream)
	if f := (*fault)(nil); errors.As(err, &f) {
		f.streamed = stream
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return &fault{err: context.DeadlineExceeded, text: "no complete reply within llm.timeout (" + x.endpoint.timeout.String() + ")"}
	}
	return err
}

func (x *exchange) send(ctx context.Context, stream bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	res, err := x.post(ctx, stream)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	// A reply is taken as it comes, whatever was requested: it is already paid for.
	body := bufio.NewReader(res.Body)
	if events := isStream(body, mediaType(res)); events || x.endpoint.protocol.lines {
		return x.stream(body, !events, stop)
	}
	return x.whole(body, mediaType(res))
}

// isStream reports whether a body is a stream of events, whatever its type says. It skips a
// byte order mark and white space before it.
func isStream(body *bufio.Reader, mediaType string) bool {
	if mark, _ := body.Peek(3); string(mark) == "\ufeff" {
		_, _ = body.Discard(3)
	}
	for {
		c, err := body.ReadByte()
		if err != nil {
			return mediaType == typeEvents
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		_ = body.UnreadByte()
		if c == '{' || c == '[' {
			return false
		}
		break
	}
	if mediaType == typeEvents {
		return true
	}
	for _, field := range []string{":", "data:", "event:", "retry:", "id:"} {
		if start, _ := body.Peek(len(field)); string(start) == field {
			return true
		}
	}
	return false
}

// post sends a request, and returns an answer with status 200 and a limited body.
// Any other is a [fault] or a final error.
func (x *exchange) post(ctx context.Context, stream bool) (*http.Response, error) {
	p := x.endpoint.protocol
	body, err := x.endpoint.body(p.request(x, stream))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint.url+p.path, nil)
	if err != nil {
		return nil, err
	}
	x.question.attached.attachTo(req, body)
	accept := typeJSON
	switch {
	case p.lines:
		accept = typeLines + ", " + typeJSON
	case stream:
		accept = typeEvents + ", " + typeJSON
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "reflectory-llm-eval/"+Version)
	for name, value := range x.endpoint.extraHeaders {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", typeJSON)
	p.authorize(req.Header, x.endpoint.sent)
	if key := x.question.idempotencyKey; key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := x.http.Do(req)
	var refused *sdk.Error
	if errors.As(err, &refused) && refused.Code == sdk.Denied { // by the host, or by its proxy
		return nil, sdk.AsPermanent(sdk.Wrap(x.endpoint.url, refused))
	}
	if err != nil {
		return nil, broken(err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, x.endpoint.refused(res)
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxReplyBytes)
	return res, nil
}

// whole reads a reply that arrives as one JSON object. Its content type doesn't matter.
func (x *exchange) whole(from io.Reader, mediaType string) error {
	body, broken := io.ReadAll(from)
	r, err := modeltext.Read(x.endpoint.protocol.replies, body)
	switch {
	case broken != nil && (err != nil || r.NoChoice): // else only the body's end is missing
		return x.endpoint.unread(broken)
	case err != nil:
		return x.endpoint.unreadable(err, body, "is "+mediaType+", not a JSON object")
	}
	if err := x.accept(r, http.StatusOK); err != nil {
		return err
	}
	x.showWhole()
	return nil
}

// showWhole shows a reply of which no piece was shown.
func (x *exchange) showWhole() {
	if x.question.emit != nil && !x.emitted && x.reply.Text != "" {
		x.show(x.reply.Text)
	}
}

// accept makes a reply of what the endpoint sent, unless it reports an error in it. Some
// endpoints do that with status 200; status is 0 for a stream.
func (x *exchange) accept(r *modeltext.Reply, status int) error {
	e := x.endpoint
	used := e.cost(r.Usage)
	if !r.NoChoice {
		status = 0 // an error within a reply: the request itself was accepted
	}
	switch {
	case r.Error != nil:
		x.lost = x.lost.Add(used)
		return refusal(status, r.Error, e.key)
	case r.Finish == modeltext.Failed:
		x.lost = x.lost.Add(used)
		return &fault{err: errReply, text: excerpt("finish reason "+r.FinishReason, e.key)}
	case r.NoChoice:
		x.lost = x.lost.Add(used)
		return e.malformed("has no choices")
	}
	chars := x.question.chars()
	r.CheckUsage(chars)
	r.Replace(e.key.scrub)
	x.reply = &reply{Reply: r, model: excerpt(r.Model, ""), usage: e.cost(r.Usage), prompt: chars, sent: x.sent(), endpoint: e}
	return nil
}

// sent are the messages of the request, without the key.
func (x *exchange) sent() []sdk.PromptMessage {
	messages := x.messages()
	list := make([]sdk.PromptMessage, len(messages))
	for i, m := range messages {
		list[i] = m.shown()
		list[i].Content = x.endpoint.key.scrub(list[i].Content)
	}
	return list
}

// errReply is the fault of an endpoint that ends a reply with an error that it doesn't name.
var errReply = errors.New("the endpoint ended the reply with an error")

func (x *exchange) show(chunk string) {
	x.emitted = true
	x.question.emit(chunk)
}

// unreadable explains a reply, or a piece of one, that can't be read. JSON that is cut off is
// tried again; misfit says what it is if it isn't a reply at all.
func (e *endpoint) unreadable(err error, data []byte, misfit string) error {
	var field *modeltext.FieldError
	switch {
	case errors.Is(err, modeltext.ErrTruncated):
		return &fault{err: io.ErrUnexpectedEOF, text: "the JSON is cut off after " + strconv.Itoa(len(data)) + " bytes"}
	case errors.As(err, &field):
		return e.malformed("has " + field.Error())
	}
	return e.malformed(misfit + ": " + excerpt(string(data), e.key))
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
	f.wait = httpfault.Wait(res.Header, time.Now())
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

// malformed reports a reply that doesn't follow the protocol.
func (e *endpoint) malformed(what string) error {
	return sdk.Errorf(sdk.Invalid, "llm_reply_malformed", "the reply of %s %s", e.url, what).
		WithHint("check that llm.base_url is the base of %s", e.protocol.base).
		WithDetail(sdk.PermanentDetail, true)
}

func mediaType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return "of no known type"
	}
	return kind
}
