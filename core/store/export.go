package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// An export is JSON Lines: a header, a line for each key in key order, and an end, which
// shows that the file is complete. Derived keys (see core.Rebuilder) are left out.
// FORMAT.md describes how keys and values are written. Exports of equal stores are equal,
// byte for byte.

// exportVersion is the version of the line format.
const exportVersion = 1

// exportHeader is the first line.
type exportHeader struct {
	Version int `json:"reflectory_export"`
	Format  int `json:"store_format"`
}

// exportLine is a key with its value, each in one of its forms.
type exportLine struct {
	Key    *string `json:"key,omitempty"`
	RawKey []byte  `json:"key_base64,omitempty"`
	// Value is the value itself if it is JSON.
	Value    json.RawMessage `json:"value,omitempty"`
	Text     *string         `json:"text,omitempty"`
	RawValue []byte          `json:"base64,omitempty"`
}

// exportEnd is the last line.
type exportEnd struct {
	End     bool  `json:"end"`
	Records int64 `json:"records"`
	// Digest covers all earlier lines. Leave it out of a file that you edited on purpose.
	Digest string `json:"digest,omitempty"`
}

// Moved counts what an export or import processed.
type Moved struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
}

// Export writes everything in a snapshot of a store, except the keys with a derived
// prefix. The memory that it needs doesn't grow with the store. If progress is set, the
// records are counted first.
func Export(ctx context.Context, s core.Store, w io.Writer, derived []string, progress Progress) (Moved, error) {
	out := &lineWriter{w: bufio.NewWriterSize(w, 1<<16), digest: sha256.New()}
	err := s.View(ctx, func(r core.Reader) error {
		format, err := readFormat(r)
		if err != nil {
			return err
		}
		out.line(jsontext.MustEncode(exportHeader{exportVersion, format}))
		without := append(slices.Clip(derived), metaPrefix)
		total := int64(0)
		if progress != nil {
			if total, err = countWithout(ctx, r, without); err != nil {
				return err
			}
			progress(Work{Doing: Moving, Total: total})
		}
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			if hasPrefix(key, without) {
				return true, nil
			}
			line, err := encodeLine(key, value)
			if err != nil {
				return false, err
			}
			out.line(line)
			out.moved.Records++
			progress.report(Work{Doing: Moving, Records: out.moved.Records, Total: total, Bytes: out.moved.Bytes})
			return out.err == nil, ctx.Err()
		})
	})
	if err != nil {
		return out.moved, sdk.Wrap("export the store", err)
	}
	out.line(jsontext.MustEncode(exportEnd{true, out.moved.Records, digestText(out.digest)}))
	if err := out.flush(); err != nil {
		return out.moved, sdk.Errorf(sdk.Unavailable, "export_io", "export the store: %w", err).
			WithHint("check the free space and the permissions of its folder")
	}
	return out.moved, nil
}

// countWithout counts the keys without one of the prefixes.
func countWithout(ctx context.Context, r core.Reader, prefixes []string) (n int64, err error) {
	err = r.Scan(nil, nil, func(key, _ []byte) (bool, error) {
		if !hasPrefix(key, prefixes) {
			n++
		}
		return true, ctx.Err()
	})
	return n, err
}

// hasPrefix reports whether a key has one of the prefixes.
func hasPrefix(key []byte, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(key, []byte(p)) })
}

// encodeLine writes a key and its value. Bytes that aren't text are written as base64.
func encodeLine(key, value []byte) ([]byte, error) {
	var line exportLine
	if utf8.Valid(key) {
		text := string(key)
		line.Key = &text
	} else {
		line.RawKey = key
	}
	switch {
	case isPlainJSON(value):
		// Added unchanged: the encoder would reformat it.
		head, err := jsontext.Encode(line)
		if err != nil {
			return nil, err
		}
		b := append(bytes.TrimSuffix(head, []byte("}")), `,"value":`...)
		return append(append(b, value...), '}'), nil
	case utf8.Valid(value) && !bytes.ContainsFunc(value, unicode.IsControl):
		text := string(value)
		line.Text = &text
	default:
		line.RawValue = value
	}
	return jsontext.Encode(line)
}

// isPlainJSON reports whether a value can be put into a line unchanged, and reads back as
// the same bytes.
func isPlainJSON(value []byte) bool {
	return json.Valid(value) && utf8.Valid(value) && !bytes.ContainsAny(value, "\n\r") &&
		string(value) != "null" && len(bytes.TrimSpace(value)) == len(value)
}

// lineWriter writes lines, and digests them. It keeps its first error.
type lineWriter struct {
	w      *bufio.Writer
	digest hash.Hash
	moved  Moved
	err    error
}

func (l *lineWriter) line(line []byte) {
	l.write(line)
	l.write([]byte("\n"))
}

func (l *lineWriter) write(b []byte) {
	if l.err != nil {
		return
	}
	l.digest.Write(b) // never fails
	n, err := l.w.Write(b)
	l.moved.Bytes += int64(n)
	l.err = err
}

func (l *lineWriter) flush() error {
	if l.err == nil {
		l.err = l.w.Flush()
	}
	return l.err
}

// digestText formats a digest as core.Digest does.
func digestText(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
