package cli

import (
	"context"
	"io"
	"os"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// inputs are the files that the user names, and standard input for "-". Reading may have
// to wait for a person at a terminal, or for the writer of a pipe: that wait ends with
// ctx.
type inputs struct {
	ctx   context.Context
	stdin io.Reader
}

// open opens an input. The caller bounds what is read.
func (in inputs) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return &waiting{ctx: in.ctx, name: sourceName(path), from: io.NopCloser(in.stdin)}, nil
	}
	file, err := await(in.ctx, path, func() (*os.File, error) { return plainfile.OpenInput(path) })
	if err != nil {
		return nil, err
	}
	return &waiting{ctx: in.ctx, name: path, from: file}, nil
}

// read reads an input of up to limit bytes.
func (in inputs) read(path string, limit int64) ([]byte, error) {
	from, err := in.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // only reads
	return plainfile.ReadAll(sourceName(path), from, limit)
}

// sourceName is a file's name, or "standard input" for "-".
func sourceName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// waiting is an input whose reads end with ctx.
type waiting struct {
	ctx  context.Context
	name string
	from io.ReadCloser
	// own is the buffer of a read, because an abandoned read may still write to it.
	own []byte
}

// Read implements [io.Reader].
func (w *waiting) Read(into []byte) (int, error) {
	if len(w.own) < len(into) {
		w.own = make([]byte, len(into))
	}
	own := w.own[:len(into)]
	n, err := await(w.ctx, w.name, func() (int, error) { return w.from.Read(own) })
	return copy(into, own[:n]), err
}

// Close implements [io.Closer].
func (w *waiting) Close() error { return w.from.Close() }

// await waits for fn, or for the end of ctx. A read from a terminal, or the opening of a
// pipe, can't be interrupted: fn is then abandoned, and ends with the program.
func await[T any](ctx context.Context, name string, fn func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := fn()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, sdk.Errorf(sdk.Cancelled, "", "stopped while waiting for %s", name)
	}
}
