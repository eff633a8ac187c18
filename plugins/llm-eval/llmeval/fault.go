package llmeval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/httpfault"
)

// fault is why one exchange gave no reply: either the endpoint refused it (status is
// set), or the exchange failed (err is set).
type fault struct {
	status int
	// code, param and text come from the endpoint's refusal, without the key.
	code, param, text string
	// said is the whole refusal, which isn't shown: it may have the key.
	said string
	// streamed means that a stream was asked for.
	streamed bool
	// quota means that the account's money or quota is used up.
	quota bool
	// wait is how long the endpoint asks to wait, or 0.
	wait time.Duration
	err  error
}

func (f *fault) Error() string {
	var said string
	if f.text != "" {
		said = ": " + f.text
	}
	switch {
	case f.status != 0:
		return strings.TrimSpace(fmt.Sprintf("%d %s", f.status, http.StatusText(f.status))) + said
	case f.err != nil:
		return f.err.Error() + said
	}
	return "error in the stream" + said
}

// class describes what the fault means for the next try.
func (f *fault) class() sdk.Code {
	if f.quota {
		return sdk.Exhausted
	}
	return httpfault.Code(f.status, f.err)
}

// broken makes a fault of an error from the transport. It leaves out the URL that
// net/http adds, because messages name the endpoint already.
func broken(err error) *fault {
	var located *url.Error
	if errors.As(err, &located) {
		err = located.Err
	}
	return &fault{err: err}
}

// refusal reads a fault from the body of an answer whose status isn't 200, or from an
// error in another answer (status 200) or in a stream (0). The protocol's form is
// {"error": {message, code, param}}; anything else is quoted.
func refusal(status int, body []byte, key secret) *fault {
	body = body[:min(len(body), maxRefusalBytes)]
	f := &fault{status: status, said: plain(body)}
	defer func() { f.quota = httpfault.Quota(f.status, body) }()
	var several []json.RawMessage // some put the error into a list
	if json.Unmarshal(body, &several) == nil && len(several) > 0 {
		body = several[0]
	}
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	var details struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   string `json:"param"`
	}
	said := body
	if json.Unmarshal(said, &answer) == nil && len(answer.Error) > 0 {
		said = answer.Error
	}
	if json.Unmarshal(said, &details) == nil && details.Message != "" {
		code, _ := details.Code.(string)
		// Some gateways have already sent status 200 when the upstream fails, and report
		// its status here.
		if upstream, err := strconv.ParseFloat(fmt.Sprint(details.Code), 64); err == nil && status < 400 && upstream >= 400 && upstream < 600 {
			f.status = int(upstream)
		} else if named := statusOf(code, details.Type); status < 400 && named != 0 {
			f.status = named
		}
		f.code, f.param, f.text = key.scrub(code), key.scrub(details.Param), excerpt(details.Message, key)
		return f
	}
	f.text = excerpt(plain(said), key)
	return f
}

// statusOf is the status that an error has by its code or type, where it comes without one: in a
// stream, or in a reply with status 200. 0 is none that is known.
func statusOf(names ...string) int {
	for _, name := range names {
		switch name {
		case "invalid_request_error", "invalid_prompt":
			return http.StatusBadRequest
		case "authentication_error", "invalid_api_key":
			return http.StatusUnauthorized
		case "billing_error":
			return http.StatusPaymentRequired
		case "permission_error":
			return http.StatusForbidden
		case "not_found_error", "model_not_found":
			return http.StatusNotFound
		case "request_too_large":
			return http.StatusRequestEntityTooLarge
		case "rate_limit_error", "rate_limit_exceeded":
			return http.StatusTooManyRequests
		case "api_error", "server_error":
			return http.StatusInternalServerError
		case "timeout_error":
			return http.StatusGatewayTimeout
		case "overloaded_error":
			return statusOverloaded
		}
	}
	return 0
}

// statusOverloaded is Anthropic's status for an endpoint that is busy.
const statusOverloaded = 529

// plain decodes JSON's escapes, so that the key can't be hidden in them.
func plain(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return string(body)
	}
	if text, ok := value.(string); ok {
		return text
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return b.String()
}

// excerptRunes is how much of an endpoint's text a message quotes: about three lines of
// a terminal.
const excerptRunes = 240

// excerpt is the start of a text on one line, without the key. A part of the key at the
// end of the text is removed too.
func excerpt(text string, key secret) string {
	text = key.scrub(text[:min(len(text), maxRefusalBytes)])
	text = text[:len(text)-key.tail(text)]
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	return cut(strings.ToValidUTF8(text, "\uFFFD"), excerptRunes)
}

// cut truncates a text to a number of characters.
func cut(text string, runes int) string {
	if len(text) <= runes {
		return text
	}
	for i := range text {
		if runes == 0 {
			return text[:i] + "…"
		}
		runes--
	}
	return text
}

// explain turns the reason why a request failed into the error that callers see.
func (e *endpoint) explain(ctx context.Context, err error, tries int) error {
	if ctx.Err() != nil {
		return e.stopped(ctx, err, tries)
	}
	var final *sdk.Error
	if errors.As(err, &final) {
		return final
	}
	var f *fault
	if !errors.As(err, &f) {
		return sdk.Errorf(sdk.Internal, "llm_client_failed", "%s: %s", e.url, e.key.scrub(err.Error()))
	}
	switch {
	case f.quota:
		return sdk.Errorf(sdk.Exhausted, "llm_quota", "the account at %s has no quota or credit left: %s", e.url, f).
			WithHint("add credit or raise the account's limit, or name another model").WithDetail(sdk.PermanentDetail, true)
	case f.status == 0 && f.class() == sdk.Denied:
		return sdk.Errorf(sdk.Denied, "llm_endpoint_untrusted", "%s: %s", e.url, e.key.scrub(f.Error())).
			WithHint("if an authority of your own signs for it, name its PEM file: settings.llm.ca, or SSL_CERT_FILE in the host's environment")
	case f.class() == sdk.Denied:
		return e.keyRejected(f)
	case f.status == http.StatusNotFound && !noEndpoint.MatchString(f.text) || f.code == "model_not_found":
		return sdk.Errorf(sdk.NotFound, "llm_model_not_found", "%s has no model %q: %s", e.url, e.model, f).
			WithHint("correct the model or base_url; for Ollama: ollama pull %s", e.model)
	case f.class() == sdk.Unavailable:
		return e.unavailable(f, tries)
	}
	return sdk.Errorf(sdk.Invalid, "llm_request_refused", "%s refuses the request to model %q: %s", e.url, e.model, f).
		WithDetail(sdk.PermanentDetail, true)
}

func (e *endpoint) stopped(ctx context.Context, err error, tries int) error {
	var last string
	var f *fault
	if errors.As(err, &f) && f.status != 0 {
		last = fmt.Sprintf("; the last answer was %s", f)
	}
	return &sdk.Error{
		Code:    sdk.CodeOf(ctx.Err()),
		Message: fmt.Sprintf("stopped while waiting for %s (try %d): %s%s", e.url, tries, ctx.Err(), last),
		Err:     ctx.Err(),
	}
}

func (e *endpoint) keyRejected(f *fault) error {
	err := sdk.Errorf(sdk.Denied, "llm_key_rejected", "%s rejects the key: %s", e.url, f)
	if e.keyEnv == "" {
		return err.WithHint("set llm.api_key_env to the name of the environment variable that holds the key")
	}
	return err.WithHint("check the key in %s", e.variable())
}

// triesOf says how often a question was sent.
func triesOf(tries, most int) string {
	if most == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d of %d tries", tries, most)
}

func (e *endpoint) unavailable(f *fault, tries int) error {
	err := sdk.Errorf(sdk.Unavailable, "llm_unavailable", "%s gave no reply after %s: %s", e.url, triesOf(tries, f.most()), e.key.scrub(f.Error())).
		WithDetail("endpoint", e.url).WithDetail("tries", tries)
	if f.wait > 0 {
		err.WithDetail(sdk.RetryAfterDetail, f.wait.Milliseconds())
	}
	if f.status != 0 {
		return err.WithDetail("status", f.status)
	}
	hint := "check that the endpoint is running, and that llm.base_url is right"
	if strings.HasPrefix(e.url, "https://") { // elsewhere: an endpoint of this machine may be unencrypted
		hint += "; if it is reached through a proxy, name that in HTTPS_PROXY of the host's environment"
	}
	return err.WithHint("%s", hint)
}
