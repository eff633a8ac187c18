package policy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// maxLine bounds a record in a log: inputs are as large as a loop's output may be.
const maxLine = 16 << 20

// Log writes records as lines of JSON, for [Options]. It is safe for concurrent
// use. It buffers nothing.
type Log struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewLog returns a log that writes to w.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Record writes a record. A broken log doesn't stop decisions: the first error is kept
// for [Log.Err], and nothing is written after it.
func (l *Log) Record(_ context.Context, r *Record) {
	line, err := r.Encode()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil {
		l.err = sdk.Errorf(sdk.Unavailable, "decision_log_broken", "the decision log can't be written: %w", err).
			WithHint("free some space for it, and restart")
	}
}

// Err is the reason why the log stopped, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// ReadLog yields the records of a log in order, and at most one error, last. An
// incomplete last line was still being written: it is skipped.
func ReadLog(r io.Reader) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, sdk.Errorf(sdk.Invalid, "decision_log_invalid", "line %d of the decision log can't be read: %w", n, err).
					WithHint("give a file that contains a decision log"))
				return
			}
			record, err := DecodeRecord(line)
			if err != nil {
				yield(nil, sdk.Errorf(sdk.Invalid, "decision_log_invalid", "line %d of the decision log isn't a record: %w", n, err).
					WithHint("give a file that contains a decision log"))
				return
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

var errLineTooLong = errors.New("it is longer than 16 MiB")

// readLine reads a whole line of bounded length.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// DecodeRecord reads a record that [Record.Encode] wrote. Whole numbers stay exact.
func DecodeRecord(line []byte) (*Record, error) {
	var raw struct {
		Record
		Inputs json.RawMessage `json:"inputs"`
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	record := raw.Record
	for _, part := range []struct {
		text json.RawMessage
		to   *map[string]any
	}{{raw.Inputs, &record.Inputs}, {raw.Output, &record.Output}} {
		v, err := jsontext.Decode(part.text)
		if err != nil {
			return nil, err
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("inputs and output must be objects")
		}
		*part.to = object
	}
	return &record, nil
}
