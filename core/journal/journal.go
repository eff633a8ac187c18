package journal

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// MaxStreamBytes is the longest name of a stream: room for a namespace of 512
// characters of 4 bytes each.
const MaxStreamBytes = 2112

// Entry is one event as it is stored.
type Entry struct {
	// Seq counts from 1, without gaps.
	Seq uint64 `json:"seq"`
	// At is when it was appended, in UTC, to the nanosecond.
	At time.Time `json:"at"`
	// Subject is who was authorised to make the request that led to the event, see
	// [core.Caller]; "" is nobody: the host itself, or a program that names no caller.
	Subject string `json:"subject,omitempty"`
	// Type names the event, such as "run_started", and Data is its JSON.
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
	// Prev is the hash of the previous entry; "" for the first.
	Prev string `json:"prev"`
	// Hash is the hash of this entry. See the package comment.
	Hash string `json:"hash"`
}

// Head is the last entry of a stream, which the next one continues. The zero value is the
// head of a stream without entries.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Append adds events to the end of a stream, within the caller's transaction. They have
// the subject of the context's [core.Caller]. The time must be between the years 1678 and
// 2261, which nanoseconds can represent.
func Append(ctx context.Context, tx core.Tx, stream string, at time.Time, events ...Event) error {
	last, err := ReadHead(tx, stream)
	if err != nil {
		return err
	}
	_, err = AppendAfter(ctx, tx, stream, last, at, events...)
	return err
}

// AppendAfter is Append for a caller that knows the stream's head, and returns the new
// one. The caller must have read, in the same transaction, something that changes with
// each entry, so that the head is certainly the newest. The context's mark is set with
// it: see [core.WithMark].
func AppendAfter(ctx context.Context, tx core.Tx, stream string, last Head, at time.Time, events ...Event) (Head, error) {
	if err := checkStream(stream); err != nil {
		return Head{}, err
	}
	caller := core.CallerOf(ctx)
	if err := caller.Validate(); err != nil {
		return Head{}, err
	}
	if len(events) == 0 {
		return last, nil
	}
	for _, event := range events {
		e := next(stream, last, at, caller.Subject, event)
		if err := put(tx, stream, e); err != nil {
			return Head{}, err
		}
		last = e.head()
	}
	if err := putHead(tx, stream, last); err != nil {
		return Head{}, err
	}
	return last, core.Mark(ctx, tx)
}

// next makes the entry that follows a stream's last one.
func next(stream string, last Head, at time.Time, subject string, event Event) Entry {
	e := Entry{
		Seq: last.Seq + 1, At: at.UTC().Round(0), Subject: subject, Type: event.eventType(),
		Data: jsontext.MustEncode(event), Prev: last.Hash,
	}
	e.Hash = e.hash(stream)
	return e
}

// head is the entry as its stream's last one.
func (e *Entry) head() Head { return Head{Seq: e.Seq, Hash: e.Hash} }

// put writes an entry. The caller calls putHead for the last one.
func put(tx core.Tx, stream string, e Entry) error {
	return tx.Put(eventKey(stream, e.Seq), jsontext.MustEncode(e))
}

// putHead writes a stream's head.
func putHead(tx core.Tx, stream string, head Head) error {
	if err := tx.Put(headKey(stream), jsontext.MustEncode(head)); err != nil {
		return err
	}
	return mark(tx, stream, head)
}

// mark notes that a stream has a new head, which the root doesn't have yet. No other
// transaction writes its key, so that it conflicts with none.
func mark(tx core.Tx, stream string, head Head) error {
	if stream == RootStream || head.Seq == 0 {
		return nil
	}
	return tx.Put(newKey(stream, head.Seq), nil)
}

// Read calls fn for each entry of a stream in order, until fn returns an error. It checks
// that entries can be decoded, but not the chain: [Audit] does that. A stream that
// doesn't exist has no entries.
func Read(r core.Reader, stream string, fn func(Entry) error) error {
	return ReadFrom(r, stream, 0, func(e Entry) (bool, error) { return true, fn(e) })
}

// ReadFrom is Read from an entry on, until fn returns false or an error.
func ReadFrom(r core.Reader, stream string, seq uint64, fn func(Entry) (more bool, err error)) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	return r.Scan(eventKey(stream, seq), eventsEnd(stream), func(key, value []byte) (bool, error) {
		e, err := decode(stream, key, value)
		if err != nil {
			return false, err
		}
		return fn(e)
	})
}

// Get returns one entry of a stream, and whether it exists. It checks that the entry can
// be decoded, but not the chain.
func Get(r core.Reader, stream string, seq uint64) (e Entry, found bool, err error) {
	if err := checkStream(stream); err != nil {
		return e, false, err
	}
	key := eventKey(stream, seq)
	value, found, err := r.Get(key)
	if err != nil || !found {
		return e, false, err
	}
	e, err = decode(stream, key, value)
	return e, err == nil, err
}

func decode(stream string, key, value []byte) (e Entry, err error) {
	if err := codec.Decode(value, &e); err != nil {
		return e, broken(stream, keySeq(key), "the entry can't be decoded: "+err.Error())
	}
	return e, nil
}

// hash computes the entry's hash from its other fields.
func (e *Entry) hash(stream string) string {
	b := make([]byte, 0, len(e.Data)+300)
	number := func(n uint64) { b = binary.BigEndian.AppendUint64(b, n) }
	text := func(s string) {
		number(uint64(len(s)))
		b = append(b, s...)
	}
	text("reflectory event 1")
	text(stream)
	number(e.Seq)
	number(uint64(e.At.UnixNano()))
	text(e.Type)
	text(string(e.Data))
	text(e.Prev)
	if e.Subject != "" { // without a subject, as before there were subjects
		text(e.Subject)
	}
	return core.Digest(b)
}

// ReadHead returns the head of a stream.
func ReadHead(r core.Reader, stream string) (Head, error) {
	var h Head
	if err := checkStream(stream); err != nil {
		return h, err
	}
	value, found, err := r.Get(headKey(stream))
	if err != nil || !found {
		return h, err
	}
	return decodeHead(stream, value)
}

func decodeHead(stream string, value []byte) (h Head, err error) {
	if err := codec.Decode(value, &h); err != nil {
		return h, broken(stream, 0, "the head can't be decoded: "+err.Error())
	}
	return h, nil
}

func checkStream(stream string) error {
	if stream == "" || len(stream) > MaxStreamBytes {
		return sdk.Errorf(sdk.Invalid, "stream_invalid", "a stream's name has %d bytes, not 1 to %d", len(stream), MaxStreamBytes)
	}
	for i := range len(stream) {
		if stream[i] < ' ' {
			return sdk.Errorf(sdk.Invalid, "stream_invalid", "stream %q has a control character in its name", stream)
		}
	}
	return nil
}
