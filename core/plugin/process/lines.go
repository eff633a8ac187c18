package process

import (
	"bytes"

	"github.com/reflectory/reflectory/core/plugin"
)

// lineWriter splits what is written to it into lines of at most plugin.MaxLogLine bytes;
// the rest of a longer line is dropped.
type lineWriter struct {
	line func([]byte)
	buf  []byte
	skip bool // the rest of a line that was cut
}

// Write never fails.
func (w *lineWriter) Write(b []byte) (int, error) {
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
		w.flush()
		w.skip = false
		b = b[end+1:]
	}
	return n, nil
}

func (w *lineWriter) add(part []byte) {
	if w.skip {
		return
	}
	room := plugin.MaxLogLine - len(w.buf)
	if len(part) <= room {
		w.buf = append(w.buf, part...)
		return
	}
	w.buf = append(append(w.buf, part[:room]...), "…"...)
	w.flush()
	w.skip = true
}

// flush ends the line that is being written, if there is one.
func (w *lineWriter) flush() {
	if len(w.buf) > 0 {
		w.line(bytes.TrimSuffix(w.buf, []byte("\r")))
	}
	w.buf = w.buf[:0]
}
