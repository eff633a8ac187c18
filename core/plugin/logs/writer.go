package logs

import (
	"bytes"

	"github.com/reflectory/reflectory/core/plugin"
)

// Writer splits what is written to it into lines of up to [plugin.MaxLogLine] bytes,
// for a log; the rest of a longer line is dropped. It isn't safe for concurrent use.
type Writer struct {
	log  *Log
	buf  []byte
	skip bool // the rest of a line that was cut
}

// NewWriter returns a writer of a log.
func NewWriter(l *Log) *Writer { return &Writer{log: l} }

// Write never fails.
func (w *Writer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		w.add(part)
		if end < 0 {
			break
		}
		w.Flush()
		w.skip = false
		b = b[end+1:]
	}
	return n, nil
}

func (w *Writer) add(part []byte) {
	if w.skip {
		return
	}
	room := plugin.MaxLogLine - len(w.buf)
	if len(part) <= room {
		w.buf = append(w.buf, part...)
		return
	}
	w.buf = append(append(w.buf, part[:room]...), "…"...)
	w.Flush()
	w.skip = true
}

// Flush ends the line that is being written, if there is one.
func (w *Writer) Flush() {
	if len(w.buf) > 0 {
		w.log.Line(bytes.TrimSuffix(w.buf, []byte("\r")))
	}
	w.buf = w.buf[:0]
}
