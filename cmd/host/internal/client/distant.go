package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// A server on another machine is used like any HTTP server: by the routes of its
// operations, with a token. Its answers are the public ones, so a refusal has less detail
// than on this machine, and a connection doesn't wait for long work.

// Options are what [NewDistant] works with.
type Options struct {
	// URL is the server's URL: https, or http on this machine. The caller has checked this.
	URL string
	// Token is sent with each request; "" is none. TokenVariable is the variable that had it,
	// for messages.
	Token, TokenVariable string
	// Roots are the certificates that may have signed the server's certificate; nil means the
	// system's.
	Roots *x509.CertPool
	// Proxy is the proxy through which the server is reached: see [http.Transport]; nil is none.
	Proxy func(*http.Request) (*url.URL, error)
}

// Distant calls operations on a server on another machine, over TCP.
type Distant struct {
	options Options
	http    http.Client
}

var _ Client = (*Distant)(nil)

// NewDistant returns a client of a server on another machine. It must be closed.
func NewDistant(o Options) *Distant {
	o.URL = strings.TrimRight(o.URL, "/")
	d := &Distant{options: o}
	d.http.Transport = &http.Transport{
		Proxy: o.Proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots}, ForceAttemptHTTP2: true,
	}
	// A redirect would send the token to a place that it isn't for.
	d.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return d
}

// Close closes the idle connections.
func (d *Distant) Close() error {
	d.http.CloseIdleConnections()
	return nil
}

// Call implements [Client]. Events and progress of the call aren't passed on.
func (d *Distant) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	o, err := operation.Find(name)
	if err != nil {
		return nil, err
	}
	asking, done := asking(ctx, &o)
	defer done()
	request, err := NewRequest(asking, d.options.URL, &o, in, c.Body)
	if err != nil {
		return nil, err
	}
	accepted := "application/json"
	if o.Sink {
		accepted = LinesType
	}
	request.Header.Set("Accept", accepted)
	if d.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+d.options.Token)
	}
	if c.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	answer, err := d.http.Do(request)
	if err != nil {
		return nil, d.lost(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case media == ProblemType:
		return d.refused(&o, answer)
	case answer.StatusCode == http.StatusAccepted:
		return d.jobDone(ctx, &o, answer)
	case answer.StatusCode != http.StatusOK || media != accepted:
		return nil, d.unknown(answer.Status)
	case o.Sink:
		return d.stream(ctx, &o, &c, answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxFrame))
	if err != nil {
		return nil, d.lost(ctx, err)
	}
	return d.result(&o, text)
}

// stream passes on what the answer streams. The result follows, unless the stream broke
// off.
func (d *Distant) stream(ctx context.Context, o *operation.Operation, c *operation.Call, answer *http.Response) (any, error) {
	if c.Sink == nil {
		return nil, sdk.Errorf(sdk.Invalid, "sink_missing", "there is nothing that the export could be written to").WithHint("give the call a sink")
	}
	if _, err := io.Copy(c.Sink, answer.Body); err != nil {
		return nil, d.lost(ctx, err)
	}
	return d.result(o, []byte(answer.Trailer.Get(ResultTrailer)))
}

// result reads an operation's result.
func (d *Distant) result(o *operation.Operation, text []byte) (any, error) {
	out := reflect.New(o.Out()).Interface()
	if err := json.Unmarshal(text, out); err != nil {
		return nil, d.unknown("a result of " + o.Name)
	}
	return out, nil
}

// refused reads a problem, and the result that comes with it, if any.
func (d *Distant) refused(o *operation.Operation, answer *http.Response) (any, error) {
	var p Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, MaxFrame)).Decode(&p); err != nil {
		return nil, d.unknown(answer.Status)
	}
	switch {
	case p.Status == http.StatusUnauthorized && d.options.Token == "":
		return nil, sdk.Errorf(sdk.Unavailable, p.Code, "the server %s asks for a token", d.options.URL).
			WithHint("put one into %s", d.options.TokenVariable)
	case p.Status == http.StatusUnauthorized:
		return nil, sdk.Errorf(sdk.Unavailable, p.Code, "the server %s doesn't take the token in %s", d.options.URL, d.options.TokenVariable).
			WithHint("ask its operator for a token")
	case o.Long && (p.Code == "route_not_found" || p.Code == "method_not_allowed"):
		return nil, sdk.Errorf(sdk.Unavailable, "not_offered", "the server %s doesn't do this over a network: it takes too long", d.options.URL).
			WithHint("run the command on the server's machine")
	}
	err := p.refusal()
	if len(p.Result) == 0 {
		return nil, err
	}
	out, broken := d.result(o, p.Result)
	return out, core.JoinErrors(err, broken)
}

// route is the end of a problem's hint: the route with which a program follows the hint.
var route = core.Pattern(`(: )?(GET|POST|PUT|DELETE) /v1/\S+$`)

// refusal is the error in the problem of a server on another machine.
func (p *Problem) refusal() error {
	e := sdk.Errorf(p.class(), p.Code, "%s", p.Detail)
	for name, value := range p.Details {
		e = e.WithDetail(name, value)
	}
	if hint := route().ReplaceAllString(p.Hint, ""); hint != "" {
		e = e.WithHint("%s", hint)
	}
	e.Try = p.Try
	if len(p.Errors) > 1 {
		faults := make([]*core.ErrorInfo, len(p.Errors))
		for i, f := range p.Errors {
			faults[i] = &core.ErrorInfo{Code: f.Code, Message: f.Detail, Details: map[string]any{"field": fieldOf(f.Pointer)}}
		}
		e = e.WithDetail("problems", faults)
	}
	return e
}

// fieldOf is the field of a request that a pointer leads to.
func fieldOf(pointer string) string {
	field, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return field
}

// class is the class of a problem's error.
func (p *Problem) class() sdk.Code {
	switch p.Status {
	case http.StatusUnprocessableEntity:
		return sdk.Invalid
	case http.StatusForbidden:
		return sdk.Denied
	case http.StatusNotFound:
		return sdk.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		if p.Title == "Cancelled" {
			return sdk.Cancelled
		}
		if p.Title == "Incompatible" {
			return sdk.Incompatible
		}
		return sdk.Conflict
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		return sdk.Exhausted
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return sdk.Timeout
	case http.StatusServiceUnavailable:
		return sdk.Unavailable
	}
	if p.Status < http.StatusInternalServerError {
		return sdk.Invalid
	}
	return sdk.Internal
}

// lost is the error of a connection that broke or was never made, or of a caller that gave
// up.
func (d *Distant) lost(ctx context.Context, err error) error {
	var known *sdk.Error
	var unknown *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known): // an error of reading the request's body
		return known
	case errors.As(err, &unknown):
		return sdk.Errorf(sdk.Unavailable, "server_untrusted", "the certificate of the server %s isn't trusted: %w", d.options.URL, unknown.Err).
			WithHint("name the certificates that sign for it in the setting server_ca, if it is the right server")
	}
	return sdk.Errorf(sdk.Unavailable, "server_lost", "the server %s can't be reached, or ended the connection: %w", d.options.URL, err).
		WithHint("look whether it works, and whether it did what it was asked")
}

func (d *Distant) unknown(what string) error {
	return sdk.Errorf(sdk.Incompatible, "answer_invalid", "the answer of the server %s can't be read: %s", d.options.URL, strings.TrimSpace(what)).
		WithHint("check that it is the URL of a server of this program")
}
