package client

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/reflectory/reflectory/core/host/operation"
)

// A call within the program has more than a result: events and progress while it works,
// bytes for a file, and a result that may come with an error. Over the socket one answer
// carries all of it, as frames in the order of the events:
//
//	kind     1 byte    one of the Frame constants
//	length   4 bytes   of what follows, big-endian, up to MaxFrame
//	payload
//
// Each frame is JSON, except FrameBytes, and FrameEnd is the last one: an answer without
// it broke off.

// The kinds of frames.
const (
	FrameEvent    byte = 'e' // an event of a run, see [EncodeEvent]
	FrameProgress byte = 'p' // an [operation.Progress]
	FrameBytes    byte = 'b' // bytes for the call's sink
	FrameEnd      byte = 'z' // an [End]
)

// MaxFrame limits a frame: results have no separate limit, and no result is this large.
const MaxFrame = 256 << 20

// End is how a call ended.
type End struct {
	// Result is the operation's result, if it has one, even with an error.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *ErrorData      `json:"error,omitempty"`
}

// WriteFrame writes a frame with one call of w.
func WriteFrame(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("a frame has %d bytes (limit %d)", len(payload), MaxFrame)
	}
	frame := make([]byte, 5, 5+len(payload))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(payload))) //nolint:gosec // it is at most MaxFrame
	_, err := w.Write(append(frame, payload...))
	return err
}

// readFrame reads a frame. io.EOF is the end of an answer that broke off between frames.
func readFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("a frame has %d bytes (limit %d)", size, MaxFrame)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}

// progressData is an [operation.Progress] as JSON.
type progressData struct {
	Doing string `json:"doing,omitempty"`
	What  string `json:"what,omitempty"`
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// EncodeProgress is an operation's progress as JSON.
func EncodeProgress(p operation.Progress) ([]byte, error) { return json.Marshal(progressData(p)) }

func decodeProgress(data []byte) (operation.Progress, error) {
	var p progressData
	err := json.Unmarshal(data, &p)
	return operation.Progress(p), err
}
