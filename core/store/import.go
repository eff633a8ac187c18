package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxLineBytes is the longest line of an export: the largest value, as base64 or as text
	// in which every character is escaped, and its key.
	maxLineBytes = 2*MaxValueBytes + 8*MaxKeyBytes
	// batchBytes is how much of an import one transaction writes.
	batchBytes = 4 << 20
	// maxListed is how many problems an error lists.
	maxListed = 10
)

// Import fills an empty store from an export, and then has the parts rebuild their
// derived data and check everything. If there is a problem, such as a broken chain of the
// journal, the import is refused: sdk.Invalid, reason "import_refused". It isn't atomic,
// so the store must be one that is discarded if it fails.
func Import(ctx context.Context, s core.Store, r io.Reader, parts []core.Checker, progress Progress) (Moved, error) {
	in := &importer{store: s, derived: Derived(parts), progress: progress, digest: sha256.New(), lines: bufio.NewScanner(r)}
	in.lines.Buffer(make([]byte, 1<<16), maxLineBytes)
	err := in.run(ctx)
	if err == nil {
		err = Prepare(ctx, s) // the export may have an older format
	}
	if err == nil {
		err = Rebuild(ctx, progress.while(Rebuilding, s, in.moved.Bytes), parts)
	}
	if err == nil {
		err = refuse(ctx, progress.while(Checking, s, in.moved.Bytes), parts)
	}
	return in.moved, sdk.Wrap("import into the store", err)
}

// importer is an import in progress.
type importer struct {
	store    core.Store
	derived  []string
	progress Progress
	lines    *bufio.Scanner
	// number counts the lines, digest is the digest of the lines before the current one.
	number int
	digest hash.Hash
	format int
	last   []byte // the previous key
	batch  []record
	size   int
	moved  Moved
}

type record struct{ key, value []byte }

func (in *importer) run(ctx context.Context) error {
	err := in.store.View(ctx, func(r core.Reader) error {
		empty, err := Empty(r)
		if err == nil && !empty {
			err = sdk.Errorf(sdk.Conflict, "store_not_empty", "the store isn't empty, and stores can't be merged").WithHint("import into another data folder")
		}
		return err
	})
	if err != nil {
		return err
	}
	line, err := in.next()
	if err == nil {
		err = in.header(line)
	}
	for err == nil {
		if line, err = in.next(); err != nil {
			break
		}
		if bytes.HasPrefix(line, []byte(`{"end":`)) {
			return in.end(ctx, line)
		}
		in.digest.Write(append(line, '\n')) // never fails
		err = in.record(ctx, line)
	}
	return err
}

// next returns the next line, without its end.
func (in *importer) next() ([]byte, error) {
	in.number++
	if in.lines.Scan() {
		in.moved.Bytes += int64(len(in.lines.Bytes())) + 1
		return bytes.Clone(in.lines.Bytes()), nil
	}
	switch err := in.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, in.invalid("it has more than %d bytes", maxLineBytes)
	case sdk.CodeOf(err) == sdk.Cancelled:
		return nil, err
	case err != nil:
		return nil, sdk.Errorf(sdk.Unavailable, "import_io", "line %d can't be read: %w", in.number, err).WithHint("check the file")
	}
	return nil, in.invalid("the end is missing: this is a part of an export")
}

func (in *importer) invalid(format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "import_invalid", "line "+strconv.Itoa(in.number)+": "+format, args...).
		WithHint("give a file that store export wrote; nothing was imported").WithDetail("line", in.number)
}

func (in *importer) header(line []byte) error {
	var h exportHeader
	if err := jsontext.DecodeStrict(line, &h); err != nil || h.Version < 1 || h.Format < 1 {
		return in.invalid("this isn't an export of a store")
	}
	if h.Version > exportVersion || h.Format > Format {
		return sdk.Errorf(sdk.Incompatible, "store_format_newer", "the export has version %d and format %d, but this program only knows versions up to %d and formats up to %d",
			h.Version, h.Format, exportVersion, Format).
			WithHint("use a newer reflectory").WithDetail("store_format", h.Format).WithDetail("program_format", Format)
	}
	in.format = h.Format
	in.digest.Write(append(line, '\n')) // never fails
	return nil
}

// record processes one key.
func (in *importer) record(ctx context.Context, line []byte) error {
	var l exportLine
	if codec.DecodeExact(line, &l) != nil { // which is faster, and stricter
		l = exportLine{}
		if err := jsontext.DecodeStrict(line, &l); err != nil {
			return in.invalid("%v", err)
		}
	}
	if at := jsontext.InvalidText(line); at >= 0 && (l.Value == nil || !utf8.Valid(line)) { // it would be stored changed
		return in.invalid("it isn't UTF-8 text at byte %d", at+1)
	}
	rec, err := l.record()
	if err == nil {
		err = CheckKey(rec.key)
	}
	switch {
	case err != nil:
		return in.invalid("%v", err)
	case in.moved.Records > 0 && bytes.Compare(rec.key, in.last) <= 0:
		return in.invalid("key %s isn't after the previous key", run.DescribeKey(rec.key))
	case hasPrefix(rec.key, []string{metaPrefix}):
		return in.invalid("key %s is the store's own", run.DescribeKey(rec.key))
	case len(rec.value) > MaxValueBytes:
		return in.invalid("the value of %s has %d bytes (limit %d)", run.DescribeKey(rec.key), len(rec.value), MaxValueBytes)
	}
	in.last = rec.key
	in.moved.Records++
	in.progress.report(Work{Doing: Moving, Records: in.moved.Records, Bytes: in.moved.Bytes})
	if hasPrefix(rec.key, in.derived) {
		return nil // an older program may have exported it: it is rebuilt
	}
	in.batch = append(in.batch, rec)
	if in.size += len(rec.key) + len(rec.value); in.size < batchBytes {
		return nil
	}
	return in.write(ctx)
}

// record is what a line holds.
func (l *exportLine) record() (record, error) {
	var rec record
	if (l.Key != nil) == (l.RawKey != nil) {
		return rec, errors.New("it needs one of key and key_base64")
	}
	rec.key = l.RawKey
	if l.Key != nil {
		rec.key = []byte(*l.Key)
	}
	forms := 0
	if l.Value != nil {
		rec.value = l.Value
		forms++
	}
	if l.Text != nil {
		rec.value = []byte(*l.Text)
		forms++
	}
	if l.RawValue != nil {
		rec.value = l.RawValue
		forms++
	}
	if forms != 1 {
		return rec, errors.New("it needs one of value, text and base64")
	}
	return rec, nil
}

// write commits the collected records.
func (in *importer) write(ctx context.Context) error {
	err := in.store.Update(ctx, func(tx core.Tx) error {
		for _, rec := range in.batch {
			if err := tx.Put(rec.key, rec.value); err != nil {
				return err
			}
		}
		return nil
	})
	in.batch, in.size = in.batch[:0], 0
	return err
}

// end checks that the file is complete, and writes the rest.
func (in *importer) end(ctx context.Context, line []byte) error {
	var end exportEnd
	if err := jsontext.DecodeStrict(line, &end); err != nil || !end.End {
		return in.invalid("this isn't the end of an export")
	}
	if end.Records != in.moved.Records {
		return in.invalid("the export had %d records, but the file has %d", end.Records, in.moved.Records)
	}
	if digest := digestText(in.digest); end.Digest != "" && end.Digest != digest {
		return in.invalid("the file was changed: its digest is %s, but its end says %.80q", digest, end.Digest)
	}
	in.number++
	if in.lines.Scan() {
		return in.invalid("there is more after the end")
	}
	if err := in.write(ctx); err != nil {
		return err
	}
	return in.store.Update(ctx, func(tx core.Tx) error {
		return tx.Put([]byte(formatKey), strconv.AppendInt(nil, int64(in.format), 10))
	})
}

// refuse checks the imported store, and returns the refusal.
func refuse(ctx context.Context, s core.Store, parts []core.Checker) error {
	var listed []core.Problem
	count, err := Check(ctx, s, parts, func(p core.Problem) {
		if len(listed) < maxListed {
			listed = append(listed, p)
		}
	})
	if err != nil || count == 0 {
		return err
	}
	return sdk.Errorf(sdk.Invalid, "import_refused", "the export is inconsistent: %d problems, the first is %s: %s", count, listed[0].Key, listed[0].Message).
		WithHint("nothing was imported; was the file edited? export it again").
		WithDetail("problems", listed).WithDetail("count", count)
}
