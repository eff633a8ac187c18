//go:build cgo && lua54

package luaeval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// script is a prepared script: its config, and the states that wait for their next use.
// States are made on demand and kept, at most one for each call that the plugin takes
// at a time.
type script struct {
	config config
	idle   chan *state
}

// compile checks a script by making its first state.
func compile(c *config) (runner, error) {
	s := &script{config: *c, idle: make(chan *state, parallel(dataLimit()))}
	first, err := s.acquire()
	if err != nil {
		return nil, err
	}
	s.put(first)
	return s, nil
}

func (s *script) acquire() (*state, error) {
	select {
	case st := <-s.idle:
		st.wake()
		return st, nil
	default:
	}
	st, o := newState(&s.config)
	if o.status != statusOK {
		if st != nil {
			st.free()
		}
		return nil, s.failure(o, false)
	}
	return st, nil
}

// put keeps a state for the next call, unless the states that wait hold enough memory.
func (s *script) put(st *state) {
	if !st.rest() {
		st.free()
		return
	}
	select {
	case s.idle <- st:
	default: // more calls at a time than announced
		st.free()
	}
}

// run implements [runner]. When the context ends, run stops the script and returns
// after the script has stopped.
func (s *script) run(ctx context.Context, g *globals) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, s.stopped(err)
	}
	st, err := s.acquire()
	if err != nil {
		return nil, err
	}
	release := stopWith(ctx, st)
	o := st.run(g)
	release()
	switch o.status {
	case statusOK, statusNil:
		st.reset()
		s.put(st)
		return o.value, nil
	}
	st.free() // with all that a run that failed may have left
	switch o.status {
	case statusStopped:
		return nil, withLine(s.stopped(ctx.Err()), o.line)
	}
	return nil, s.failure(o, g.Verdict)
}

// stopWith stops a state when the context ends. The function that it returns waits
// until this can no longer happen.
func stopWith(ctx context.Context, st *state) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		st.stop()
		close(stopped)
	})
	return func() {
		if !cancel() {
			<-stopped
		}
	}
}

// stopped describes a run that was ended by the context.
func (s *script) stopped(cause error) *sdk.Error {
	if sdk.CodeOf(cause) == sdk.Cancelled {
		return sdk.Errorf(sdk.Cancelled, "lua_cancelled", "script %s was cancelled: %w", s.config.Chunk, cause)
	}
	return sdk.Errorf(sdk.Timeout, "lua_timeout", "script %s didn't end in time: %w", s.config.Chunk, cause).
		WithHint("make the script do less, or raise timeout")
}
