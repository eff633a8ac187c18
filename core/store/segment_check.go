package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// CheckedSegments is what a file of segments contains.
type CheckedSegments struct {
	Digest   string `json:"digest"`
	Segments int    `json:"segments"`
	Entries  int    `json:"entries"`
	Records  int    `json:"records"`
}

// CheckSegments proves that a file is unchanged since a pruning wrote it: its chains are
// intact, seals of the store name it and each of its segments, and it has the heads which
// the root recorded. Otherwise the error is sdk.Internal, reason "segment_broken", or
// "journal_broken" if it is about an entry. It needs some 100 bytes of memory for each
// entry of the file.
func CheckSegments(ctx context.Context, r core.Reader, file io.Reader) (CheckedSegments, error) {
	digest := sha256.New()
	f := &segmentFile{lines: bufio.NewScanner(io.TeeReader(file, digest)), streams: map[string]*fileSegment{}}
	f.lines.Buffer(make([]byte, 1<<16), maxLineBytes)
	err := f.read(ctx)
	f.found.Digest = digestText(digest)
	if err == nil {
		err = f.sealed(ctx, r)
	}
	if err == nil {
		err = f.recorded(ctx, r)
	}
	return f.found, err
}

// segmentFile is a file that is being checked.
type segmentFile struct {
	lines  *bufio.Scanner
	number int
	found  CheckedSegments
	// streams are its segments, one for each stream.
	streams map[string]*fileSegment
}

// fileSegment is what a file contains about a segment.
type fileSegment struct {
	journal.Segment
	hashes []string
}

func (f *segmentFile) read(ctx context.Context) error {
	var header segmentFileHeader
	line, err := f.next()
	if err == nil && (jsontext.DecodeStrict(line, &header) != nil || header.Version < 1) || errors.Is(err, io.EOF) {
		return f.broken("this isn't a file of segments")
	}
	if header.Version > segmentVersion {
		return sdk.Errorf(sdk.Incompatible, "segment_version_newer", "the file has version %d, but this program only knows versions up to %d", header.Version, segmentVersion).
			WithHint("use a newer reflectory")
	}
	for err == nil {
		if line, err = f.next(); err == nil {
			err = f.segment(ctx, line)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// next is the next line, valid until next is called again. The end is io.EOF.
func (f *segmentFile) next() ([]byte, error) {
	f.number++
	if f.lines.Scan() {
		return f.lines.Bytes(), nil
	}
	switch err := f.lines.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, f.broken("it has more than %d bytes", maxLineBytes)
	default:
		return nil, sdk.Errorf(sdk.Unavailable, "segment_io", "line %d can't be read: %w", f.number, err).WithHint("check the file")
	}
}

// more is the next line of a segment, which the file must have.
func (f *segmentFile) more(ctx context.Context) ([]byte, error) {
	line, err := f.next()
	if errors.Is(err, io.EOF) {
		return nil, f.broken("the file ends within a segment")
	}
	if err == nil {
		err = ctx.Err()
	}
	return line, err
}

// segment reads a segment whose first line is given.
func (f *segmentFile) segment(ctx context.Context, line []byte) error {
	var h segmentHeader
	if err := jsontext.DecodeStrict(line, &h); err != nil || h.Stream == "" || h.First < 1 || h.Last < h.First || h.Records < 0 {
		return f.broken("this isn't the beginning of a segment")
	}
	if f.streams[h.Stream] != nil {
		return f.broken("the file already has a segment of %s", core.Cut(h.Stream))
	}
	s := &fileSegment{Segment: journal.Segment{Stream: h.Stream, First: h.First, Last: h.Last, Before: h.Before, Records: h.Records}}
	chain := journal.Follow(h.Stream, journal.Head{Seq: h.First - 1, Hash: h.Before})
	for s.Head == "" || chain.Last().Seq < h.Last {
		line, err := f.more(ctx)
		if err != nil {
			return err
		}
		var e journal.Entry
		if err := jsontext.DecodeStrict(line, &e); err != nil {
			return f.broken("this isn't an entry: %v", err)
		}
		if err := chain.Add(&e); err != nil {
			return err
		}
		if e.Seq == h.First {
			s.From = e.At
		}
		s.To, s.Head = e.At, e.Hash
		s.hashes = append(s.hashes, e.Hash)
	}
	for range h.Records {
		line, err := f.more(ctx)
		if err != nil {
			return err
		}
		var l exportLine
		err = jsontext.DecodeStrict(line, &l)
		if err == nil {
			_, err = l.record()
		}
		if err != nil {
			return f.broken("this isn't a record: %v", err)
		}
	}
	f.streams[h.Stream] = s
	f.found.Segments++
	f.found.Entries += len(s.hashes)
	f.found.Records += h.Records
	return nil
}

func (f *segmentFile) broken(format string, args ...any) error {
	return segmentBroken("line "+strconv.Itoa(f.number)+": "+format, args...)
}

func segmentBroken(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Internal, "segment_broken", format, args...).
		WithHint("the file was changed, or it isn't one that this store pruned: look for another copy, or keep this as evidence")
}

// sealed checks that each segment has its seal, and each seal of the file its segment.
func (f *segmentFile) sealed(ctx context.Context, r core.Reader) error {
	seals := 0
	err := journal.Seals(r, func(seal journal.Seal) (bool, error) {
		if seal.Digest != f.found.Digest {
			return true, ctx.Err()
		}
		seals++
		s := f.streams[seal.Stream]
		if s == nil || !same(&s.Segment, &seal.Segment) {
			return false, segmentBroken("the seal in entry %d of %s doesn't match the file's segment of %s", seal.Seq, journal.PrunedStream, core.Cut(seal.Stream))
		}
		return true, ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case seals == 0:
		return f.unsealed(r)
	case seals != len(f.streams):
		return segmentBroken("the file has %d segments, but the store has seals of %d of them", len(f.streams), seals)
	}
	return nil
}

func same(a, b *journal.Segment) bool {
	return a.From.Equal(b.From) && a.To.Equal(b.To) && a.Stream == b.Stream && a.First == b.First && a.Last == b.Last &&
		a.Before == b.Before && a.Head == b.Head && a.Records == b.Records
}

// unsealed is the error for a file that no seal names, with the likely cause: a killed
// pruning may have left the file, and then its entries are still in the store.
func (f *segmentFile) unsealed(r core.Reader) error {
	for stream, s := range f.streams {
		e, found, err := journal.Get(r, stream, s.Last)
		if err != nil {
			return err
		}
		if found && e.Hash == s.Head {
			return segmentBroken("no seal names the file, but its entries are still in the store").
				WithHint("a pruning that was killed left it: prune again, which writes another, and delete this one")
		}
	}
	return segmentBroken("no seal of the store names a file of digest %s", f.found.Digest)
}

// recorded checks that the file has the heads which the root recorded for its entries.
func (f *segmentFile) recorded(ctx context.Context, r core.Reader) error {
	return journal.Read(r, journal.RootStream, func(e journal.Entry) error {
		var recorded journal.HeadsRecorded
		if err := json.Unmarshal(e.Data, &recorded); err != nil {
			return err
		}
		for _, h := range recorded.Heads {
			s := f.streams[h.Stream]
			if s != nil && s.First <= h.Seq && h.Seq <= s.Last && s.hashes[h.Seq-s.First] != h.Hash {
				return segmentBroken("entry %d of %s isn't the one that the root recorded in its entry %d", h.Seq, core.Cut(h.Stream), e.Seq)
			}
		}
		return ctx.Err()
	})
}
