//go:build cgo && lua54

package luaeval

/*
#cgo pkg-config: lua5.4
#cgo CFLAGS: -O2 -Wall -Wextra
#include <stdlib.h>
#include "eval.h"
*/
import "C"

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// status is how a build or a run of a state ended.
type status C.int

const (
	statusOK           status = C.LE_OK
	statusNil          status = C.LE_NIL
	statusNaN          status = C.LE_NAN
	statusUnencodable  status = C.LE_UNENCODABLE
	statusInput        status = C.LE_INPUT
	statusSyntax       status = C.LE_SYNTAX
	statusRuntime      status = C.LE_RUNTIME
	statusMemory       status = C.LE_MEMORY
	statusSteps        status = C.LE_STEPS
	statusStopped      status = C.LE_STOPPED
	statusRaised       status = C.LE_RAISED
	statusMemoryShared status = C.LE_MEMORY_SHARED
	statusMemoryAll    status = C.LE_MEMORY_ALL
)

// state is a Lua state with a compiled script. One goroutine at a time may use
// it; its memory is freed by free, or once nothing refers to it.
type state struct {
	c       *C.le_state
	cleanup runtime.Cleanup
}

// shareMemory divides the memory of the process between the scripts, before the first of them.
var shareMemory = sync.OnceFunc(func() {
	if m, limited := memoryShares(dataLimit()); limited {
		debug.SetMemoryLimit(goMemory)
		C.le_share(C.int64_t(m.floor), C.int64_t(m.shared), C.int64_t(m.idle))
	}
})

// outcome is the result of a build or a run.
type outcome struct {
	status  status
	value   json.RawMessage
	message string
	line    int // the line that ran when the run failed, or 0
}

func newState(c *config) (*state, outcome) {
	shareMemory()
	chunk := C.CString(c.Chunk)
	defer C.free(unsafe.Pointer(chunk))
	code, n := text([]byte(c.Code))
	var st C.int
	p := C.le_new(code, n, chunk, C.int64_t(c.MemoryBytes), C.int64_t(c.Instructions), &st)
	if p == nil {
		return nil, outcome{status: statusMemory}
	}
	s := &state{c: p}
	s.cleanup = runtime.AddCleanup(s, func(p *C.le_state) { C.le_free(p) }, p)
	return s, s.outcome(status(st))
}

// free gives the state's memory back at once. The state must not be used again.
func (s *state) free() {
	s.cleanup.Stop()
	C.le_free(s.c)
	runtime.KeepAlive(s)
}

// rest keeps the state for its next use, which begins with wake. It reports false if the
// states that wait hold enough memory: this one must then be freed.
func (s *state) rest() bool {
	kept := C.le_rest(s.c) != 0
	runtime.KeepAlive(s)
	return kept
}

func (s *state) wake() {
	C.le_wake(s.c)
	runtime.KeepAlive(s)
}

// run gives the script its globals and runs it. A reset must follow.
func (s *state) run(g *globals) outcome {
	verdict := C.int(0)
	if g.Verdict {
		verdict = 1
	}
	var feedback []byte
	if g.Errors != nil {
		feedback = append([]byte{}, g.Feedback...)
	}
	state, stateLen := text(g.State)
	output, outputLen := text(g.Output)
	errors, errorsLen := text(g.Errors)
	words, wordsLen := text(feedback)
	st := C.le_run(s.c, verdict, C.int64_t(g.Iteration), state, stateLen, output, outputLen,
		errors, errorsLen, words, wordsLen)
	return s.outcome(status(st))
}

func (s *state) outcome(st status) outcome {
	o := outcome{status: st}
	if st == statusOK {
		var n C.size_t
		if p := C.le_output(s.c, &n); p != nil {
			o.value = C.GoBytes(unsafe.Pointer(p), C.int(n))
		}
	} else if st != statusNil {
		o.message, o.line = C.GoString(C.le_message(s.c)), int(C.le_line(s.c))
	}
	runtime.KeepAlive(s)
	return o
}

// reset restores the state to what it was when it was new.
func (s *state) reset() {
	C.le_reset(s.c)
	runtime.KeepAlive(s)
}

// stop makes a run on another goroutine end soon.
func (s *state) stop() {
	C.le_stop(s.c)
	runtime.KeepAlive(s)
}

// text passes bytes to C for the duration of a call. Nil bytes become a null pointer;
// empty ones don't.
func text(b []byte) (*C.char, C.size_t) {
	if b == nil {
		return nil, 0
	}
	if len(b) == 0 {
		b = []byte{0}[:0]
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))
}
