package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// A file of segments is JSON Lines: a header, and for each segment a line that describes
// it, its entries as they were stored, and its records as in an export. So the kind of a
// line follows from its position. The file's name contains its digest, so a file never
// replaces another file, and a file left by a killed program does no harm.

// segmentVersion is the version of the lines.
const segmentVersion = 1

// segmentFileHeader is the first line.
type segmentFileHeader struct {
	Version int `json:"reflectory_segments"`
}

// segmentHeader is the line before a segment's entries and records.
type segmentHeader struct {
	Stream  string `json:"stream"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Before  string `json:"before,omitempty"`
	Records int    `json:"records"`
}

// segmentWriter writes a file of segments, which has no name until it is complete.
type segmentWriter struct {
	file   *os.File
	lines  *bufio.Writer
	digest hash.Hash
	bytes  int64
}

// createSegments begins a file in a folder, which it creates if necessary.
func createSegments(dir string) (*segmentWriter, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, segmentError(dir, err)
	}
	file, err := os.CreateTemp(dir, ".segments-*.part") // for the owner only
	if err != nil {
		return nil, segmentError(dir, err)
	}
	w := &segmentWriter{file: file, lines: bufio.NewWriterSize(file, 1<<16), digest: sha256.New()}
	return w, w.line(jsontext.MustEncode(segmentFileHeader{segmentVersion}))
}

// line writes a line.
func (w *segmentWriter) line(line []byte) error {
	for _, b := range [][]byte{line, {'\n'}} {
		w.digest.Write(b) // never fails
		n, err := w.lines.Write(b)
		if w.bytes += int64(n); err != nil {
			return segmentError(w.file.Name(), err)
		}
	}
	return nil
}

// segment writes a segment, and returns its description. Its chain must be intact.
func (w *segmentWriter) segment(ctx context.Context, r core.Reader, p core.Prunable) (s journal.Segment, err error) {
	before, err := journal.ReadSeal(r, p.Stream)
	if err != nil {
		return s, err
	}
	s = journal.Segment{Stream: p.Stream, First: p.First, Last: p.Last, Before: before.Head, Records: len(p.Records)}
	if err := w.line(jsontext.MustEncode(segmentHeader{s.Stream, s.First, s.Last, s.Before, s.Records})); err != nil {
		return s, err
	}
	chain := journal.Follow(p.Stream, journal.Head{Seq: p.First - 1, Hash: s.Before})
	err = journal.ReadFrom(r, p.Stream, p.First, func(e journal.Entry) (bool, error) {
		if err := chain.Add(&e); err != nil {
			return false, err
		}
		if e.Seq == s.First {
			s.From = e.At
		}
		s.To, s.Head = e.At, e.Hash
		if err := w.line(jsontext.MustEncode(e)); err != nil {
			return false, err
		}
		return e.Seq < s.Last, ctx.Err()
	})
	if err != nil {
		return s, err
	}
	for _, key := range p.Records {
		value, found, err := r.Get(key)
		if err == nil && !found {
			err = sdk.Errorf(sdk.Internal, "record_corrupt", "record %s is gone", run.DescribeKey(key))
		}
		if err != nil {
			return s, err
		}
		line, err := encodeLine(key, value)
		if err != nil {
			return s, err
		}
		if err := w.line(line); err != nil {
			return s, err
		}
	}
	return s, nil
}

// finish syncs the file to the disk, under its final name.
func (w *segmentWriter) finish(part string, newest time.Time) (name, digest string, err error) {
	sum := hex.EncodeToString(w.digest.Sum(nil))
	name = part + "-" + newest.UTC().Format("20060102") + "-" + sum[:16] + ".jsonl"
	dir := filepath.Dir(w.file.Name())
	err = w.lines.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.file.Close()
	}
	if err == nil {
		err = os.Rename(w.file.Name(), filepath.Join(dir, name))
	}
	if err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		return "", "", segmentError(filepath.Join(dir, name), err)
	}
	return name, "sha256:" + sum, nil
}

// discard removes the file, unless it has its final name.
func (w *segmentWriter) discard() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

// segmentError is the error if a segment can't be written; nothing of the segment was
// pruned.
func segmentError(path string, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "segment_io", "the segment %s can't be written: %w", path, cause).
		WithHint("none of it was pruned: free some space, or choose a folder that can be written to")
}

// syncFolder syncs the names in a folder to the disk. Windows does so by itself.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
