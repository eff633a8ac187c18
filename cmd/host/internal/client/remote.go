package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// Remote calls operations on the server that has the store of a data folder, over its
// socket. A call has the same outcome as within the program.
type Remote struct {
	dataDir, version string
	http             http.Client
	// Pins returns the origins of the program's own plugins: see [PinsHeader]. If it is nil,
	// no pins are sent.
	Pins func() (map[string]string, error)
}

var _ Client = (*Remote)(nil)

// NewRemote returns a client of a data folder's server, for a program of a version. It must
// be closed.
func NewRemote(dataDir, version string) *Remote {
	r := &Remote{dataDir: dataDir, version: version}
	r.http.Transport = &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dataDir) },
		DisableCompression: true,
	}
	return r
}

// Close closes the connections that are kept.
func (r *Remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

// base is where the server is: the socket has no name.
const base = "http://localhost"

// Call implements [Client]. If the context ends, the server is asked to cancel the call,
// and the result is the end of the cancelled call, as within the program: a cancelled run
// is recorded as cancelled, and has an id.
func (r *Remote) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	o, err := operation.Find(name)
	if err != nil {
		return nil, err
	}
	cancellation, own := r.cancelAfter(ctx)
	defer cancellation.end()
	request, err := NewRequest(own, base, &o, in, c.Body)
	if err != nil {
		return nil, err
	}
	if err := r.addPins(request, &o); err != nil {
		return nil, err
	}
	request.Header.Set(CallHeader, cancellation.call)
	h := request.Header
	h.Set("Accept", FramesType)
	h.Set(VersionHeader, r.version)
	h.Set(AgentHeader, core.CallerOf(ctx).Label)
	if c.Pieces {
		h.Set(PiecesHeader, "true")
	}
	if c.Queue {
		h.Set(QueueHeader, "true")
	}
	if t := traceparent.Of(ctx); t.Parent != "" {
		h.Set("Traceparent", t.String())
	}
	answer, err := r.http.Do(request) //nolint:bodyclose // read closes it
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	return r.read(ctx, &o, &c, answer)
}

// read reads an answer.
func (r *Remote) read(ctx context.Context, o *operation.Operation, c *operation.Call, answer *http.Response) (_ any, err error) {
	defer func() {
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64)) // so that the connection is kept
		}
		_ = answer.Body.Close()
	}()
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if media == ProblemType {
		var p Problem
		if err := json.NewDecoder(io.LimitReader(answer.Body, MaxFrame)).Decode(&p); err != nil || p.Code == "" {
			return nil, unknownAnswer(answer.Status)
		}
		return nil, p.Err()
	}
	if version := answer.Header.Get(VersionHeader); version != r.version {
		return nil, OtherVersion(r.version, version)
	}
	if media != FramesType {
		return nil, unknownAnswer(answer.Status)
	}
	if answer.Header.Get(QueueHeader) == "true" {
		queued, _ := o.AsJob()
		o = &queued
	}
	body := bufio.NewReaderSize(answer.Body, 64<<10)
	for {
		kind, payload, err := readFrame(body)
		if err != nil {
			return nil, r.lost(ctx, err)
		}
		if kind == FrameEnd {
			return ended(o, payload)
		}
		if err := pass(c, kind, payload); err != nil {
			return nil, err
		}
	}
}

// pass passes on a frame before the last one.
func pass(c *operation.Call, kind byte, payload []byte) error {
	switch kind {
	case FrameEvent:
		e, err := DecodeEvent(payload)
		if err == nil && c.Events != nil {
			c.Events(e)
		}
		return err
	case FrameProgress:
		p, err := decodeProgress(payload)
		if err == nil && c.Progress != nil {
			c.Progress(p)
		}
		return err
	case FrameBytes:
		if c.Sink == nil {
			return sdk.Errorf(sdk.Invalid, "sink_missing", "there is nothing that the export could be written to").WithHint("give the call a sink")
		}
		_, err := c.Sink.Write(payload)
		return err
	}
	return nil
}

// ended reads how a call ended.
func ended(o *operation.Operation, payload []byte) (any, error) {
	var end End
	if err := json.Unmarshal(payload, &end); err != nil {
		return nil, unknownAnswer("an end that can't be read")
	}
	if len(end.Result) == 0 {
		return nil, end.Error.Err()
	}
	out, err := decodeResult(o, end.Result)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "answer_invalid", "the result of %s can't be read: %w", o.Name, err)
	}
	return out, end.Error.Err()
}

// lost is the error of a connection that broke, or of a caller that gave up. The server may
// complete what it had begun.
func (r *Remote) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *sdk.Error
	if errors.As(err, &known) { // of what reads the request's body
		return known
	}
	return sdk.Errorf(sdk.Unavailable, "server_lost", "the server on the data folder %s ended the connection: %w", r.dataDir, err).
		WithHint("look whether it works still, and whether it did what it was asked")
}

func unknownAnswer(what string) error {
	return sdk.Errorf(sdk.Incompatible, "answer_invalid", "the server's answer can't be read: %s", strings.TrimSpace(what)).
		WithHint("start the server again with this program")
}
