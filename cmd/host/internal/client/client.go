// Package client calls operations for the command line: in the program itself, on the
// server that has the store, or on a server on another machine.
package client

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
)

// Client calls operations on one host.
type Client interface {
	// Call calls an operation: see [operation.Do]. The other fields of c are passed on, except
	// its Host.
	Call(ctx context.Context, c operation.Call, name string, in any) (any, error)
}

// Local calls operations on a host of this program, which is opened for the first call.
type Local struct {
	// Open opens the host. It is called for each call, and returns the same host.
	Open func(context.Context) (*host.Host, error)
}

var _ Client = Local{}

// Call implements [Client].
func (l Local) Call(ctx context.Context, c operation.Call, name string, in any) (any, error) {
	h, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	c.Host = h
	return operation.Do(ctx, c, name, in)
}

// Do calls an operation whose result is an Out. A result may come with an error: see
// [operation.Do].
func Do[Out any](ctx context.Context, c Client, call operation.Call, name string, in any) (*Out, error) {
	result, err := c.Call(ctx, call, name, in)
	if result == nil {
		return nil, err
	}
	out, ok := result.(*Out)
	if !ok {
		return nil, fmt.Errorf("operation %s gives a %T, not a %T", name, result, out)
	}
	return out, err
}
