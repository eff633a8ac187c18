package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/apikey"
	"github.com/reflectory/reflectory/sdk/httpfault"
)

// Family is whose shapes an endpoint speaks.
type Family string

// The families.
const (
	OpenAI    Family = "openai"
	Anthropic Family = "anthropic"
)

// Endpoint is an upstream.
type Endpoint struct {
	// Families are whose shapes it speaks: at least one.
	Families []Family
	// Base is its base URL, such as https://api.openai.com/v1. Where it has no path, /v1 is added.
	Base string
	// Key returns its key; "" is sent as none.
	Key func() (string, error)
	// ClientKey sends the client's own credentials instead of Key.
	ClientKey bool
}

// unreachable is the reason of an upstream that can't be reached, or breaks off.
const unreachable = "upstream_unreachable"

// up are the headers of a client that reach the upstream, besides those that begin with x-stainless-.
var up = []string{
	"Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "Openai-Organization", "Openai-Project", "Idempotency-Key", "User-Agent", "Traceparent",
}

// down reports whether a header of an upstream reaches the client.
func down(name string) bool {
	name = strings.ToLower(name)
	return name == "content-type" || name == "request-id" || name == "x-request-id" || strings.Contains(name, "ratelimit") ||
		strings.HasPrefix(name, "retry-after") || strings.HasPrefix(name, "openai-")
}

// address is the URL of a path of a shape.
func (e *Endpoint) address(family Family, path, query string) string {
	base := strings.TrimRight(e.Base, "/")
	_, host, _ := strings.Cut(base, "://")
	if !strings.Contains(host, "/") || family == Anthropic && !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	if query != "" {
		path += "?" + query
	}
	return base + path
}

// call is one request to an upstream.
type call struct {
	endpoint     *Endpoint
	family       Family
	method, path string
	body         []byte
	stream       bool
	// number is the attempt's: a further attempt is another request, and has another idempotency key.
	number int
}

// answer is an upstream's answer, whose body ends with an error where the upstream hangs.
type answer struct {
	*http.Response
	read   io.Reader
	secret string
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (a *answer) close() {
	a.timer.Stop()
	_ = a.Body.Close() // it was read as far as it is needed
	a.cancel(nil)
}

// send sends a request of a client to an upstream.
func (h *Handler) send(ctx context.Context, client *http.Request, c call) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(h.config.Silence, func() {
		cancel(sdk.Errorf(sdk.Timeout, "upstream_timeout", "the upstream has sent nothing for %s", h.config.Silence))
	})
	a := &answer{cancel: cancel, timer: timer}
	fail := func(err error) (*answer, error) {
		timer.Stop()
		cancel(nil)
		return nil, err
	}
	query, tokens := client.URL.RawQuery, tokensOf(client)
	if plain, err := url.QueryUnescape(query); err != nil || holds(query, tokens) || holds(plain, tokens) {
		query = ""
	}
	//nolint:gosec // the operator names the host, and a client the query
	r, err := http.NewRequestWithContext(ctx, c.method, c.endpoint.address(c.family, c.path, query), bytes.NewReader(c.body))
	if err != nil {
		return fail(sdk.Errorf(sdk.Internal, "", "the upstream's address: %w", err))
	}
	a.secret, err = h.headers(r, client, c)
	if err != nil {
		return fail(err)
	}
	if a.Response, err = h.client.Do(r); err != nil { //nolint:gosec,bodyclose // as above; the answer closes it
		return fail(broken(ctx, err))
	}
	if encoding := a.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		a.close()
		return nil, sdk.Errorf(sdk.Unavailable, unreachable, "the upstream answered in an encoding that wasn't asked for")
	}
	a.read = readerFunc(func(p []byte) (int, error) {
		timer.Reset(h.config.Silence)
		n, err := a.Body.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			err = broken(ctx, err)
		}
		return n, err
	})
	return a, nil
}

type readerFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// broken is why an exchange failed. An error of the transport isn't shown, since it has the address.
func broken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	code := httpfault.Code(0, err)
	if code == sdk.Denied {
		return &sdk.Error{Code: sdk.Unavailable, Reason: unreachable, Message: "the upstream's certificate isn't trusted", Err: err}
	}
	return &sdk.Error{Code: code, Reason: unreachable, Message: "the upstream can't be reached, or broke off", Err: err}
}

// headers fills a request's headers, and returns the key that they contain.
func (h *Handler) headers(r, client *http.Request, c call) (secret string, err error) {
	tokens := tokensOf(client)
	for name, values := range client.Header {
		if (slices.Contains(up, name) || strings.HasPrefix(name, "X-Stainless-")) && !holds(strings.Join(values, "\n"), tokens) {
			r.Header[name] = values
		}
	}
	if r.Header["User-Agent"] == nil {
		r.Header.Set("User-Agent", "") // none, instead of Go's
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" && c.number > 1 {
		r.Header.Set("Idempotency-Key", key+"-"+strconv.Itoa(c.number))
	}
	if c.family == Anthropic && r.Header.Get("Anthropic-Version") == "" {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	r.Header.Set("Accept", "application/json")
	if c.stream {
		r.Header.Set("Accept", "text/event-stream")
	}
	if len(c.body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept-Encoding", "identity") // a compressed stream would arrive late, and not byte for byte
	return h.credentials(r, client, c)
}

// tokensOf are the credentials that a client sends, one of which is its token of this gateway.
func tokensOf(client *http.Request) (list []string) {
	_, bearer, _ := strings.Cut(client.Header.Get("Authorization"), " ")
	for _, token := range []string{client.Header.Get(TokenHeader), client.Header.Get("X-Api-Key"), bearer} {
		if apikey.Secret(token) {
			list = append(list, token)
		}
	}
	return list
}

// holds reports whether a text has one of the tokens in it: it must not go up in some other place.
func holds(text string, tokens []string) bool {
	return slices.ContainsFunc(tokens, func(token string) bool { return strings.Contains(text, token) })
}

// credentials adds the upstream's key, or the client's own.
func (h *Handler) credentials(r, client *http.Request, c call) (secret string, err error) {
	if c.endpoint.ClientKey {
		if client.Header.Get(TokenHeader) == "" {
			return "", sdk.Errorf(sdk.Denied, "unauthenticated", "this model's upstream is asked with the client's own credentials, and the header %s with a token of this gateway is missing", TokenHeader)
		}
		for _, name := range []string{"Authorization", "X-Api-Key"} {
			if values := client.Header[name]; values != nil {
				r.Header[name] = values
			}
		}
		return "", nil
	}
	if c.endpoint.Key == nil {
		return "", nil
	}
	if secret, err = c.endpoint.Key(); err != nil || secret == "" {
		return "", err
	}
	if c.family == Anthropic {
		r.Header.Set("X-Api-Key", secret)
	} else {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	return secret, nil
}

// maxRefusal bounds the body of an upstream's error.
const maxRefusal = 1 << 20

// refused is the error of an answer that is no reply; nil if it is one.
func (a *answer) refused() error {
	if a.StatusCode/100 == 2 {
		return nil
	}
	if a.StatusCode/100 < 4 {
		return sdk.Errorf(sdk.Unavailable, unreachable, "the upstream answered %d, and redirects aren't followed", a.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(a.read, maxRefusal+1))
	if err != nil {
		return err
	}
	if len(body) > maxRefusal {
		return sdk.Errorf(sdk.Unavailable, unreachable, "the upstream answered %d with more than %d bytes", a.StatusCode, maxRefusal)
	}
	if apikey.Secret(a.secret) {
		body = bytes.ReplaceAll(body, []byte(a.secret), []byte("[redacted]"))
	}
	r := &refusal{status: a.StatusCode, header: a.Header, body: body}
	return &sdk.Error{Code: httpfault.Code(a.StatusCode, nil), Reason: "upstream_refused", Message: r.Error(), Err: r}
}

// copyDown copies what a client may see of an upstream's headers.
func copyDown(to, from http.Header) {
	for name, values := range from {
		if down(name) {
			to[name] = values
		}
	}
}
