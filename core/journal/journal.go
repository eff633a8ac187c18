package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// MaxStreamBytes is the longest name of a stream: room for a namespace path.
const MaxStreamBytes = 512

// Entry is one event as it is stored.
type Entry struct {
	// Seq counts from 1, without gaps.
	Seq uint64 `json:"seq"`
	// At is when it was appended, in UTC, to the nanosecond.
	At time.Time `json:"at"`
	// Type names the event, such as "run_started", and Data is its JSON.
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
	// Prev is the hash of the entry before; "" for the first.
	Prev string `json:"prev"`
	// Hash is this entry's. See the package comment.
	Hash string `json:"hash"`
}

// head is the end of a stream.
type head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Append adds events to the end of a stream, within the caller's transaction.
// The time must be within the years 1678 to 2261, which nanoseconds can count.
func Append(tx core.Tx, stream string, at time.Time, events ...Event) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	last, err := readHead(tx, stream)
	if err != nil {
		return err
	}
	for _, event := range events {
		e := Entry{
			Seq: last.Seq + 1, At: at.UTC().Round(0), Type: event.eventType(),
			Data: core.MustJSON(event), Prev: last.Hash,
		}
		e.Hash = e.hash(stream)
		if err := tx.Put(eventKey(stream, e.Seq), core.MustJSON(e)); err != nil {
			return err
		}
		last = head{Seq: e.Seq, Hash: e.Hash}
	}
	return tx.Put(headKey(stream), core.MustJSON(last))
}

// Read calls fn for each entry of a stream in order, until it returns an error.
// It checks that entries can be decoded, not that the chain holds: that is
// [Verify]'s work. A stream that isn't there has no entries.
func Read(r core.Reader, stream string, fn func(Entry) error) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	return r.Scan(eventKey(stream, 0), eventsEnd(stream), func(key, value []byte) (bool, error) {
		var e Entry
		if err := json.Unmarshal(value, &e); err != nil {
			return false, broken(stream, keySeq(key), "the entry can't be decoded: "+err.Error())
		}
		return true, fn(e)
	})
}

// hash computes the entry's hash from its other fields.
func (e *Entry) hash(stream string) string {
	h := sha256.New()
	number := func(n uint64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	text := func(s string) {
		number(uint64(len(s)))
		h.Write([]byte(s))
	}
	text("reflectory event 1")
	text(stream)
	number(e.Seq)
	number(uint64(e.At.UnixNano()))
	text(e.Type)
	text(string(e.Data))
	text(e.Prev)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func readHead(r core.Reader, stream string) (head, error) {
	var h head
	value, found, err := r.Get(headKey(stream))
	if err != nil || !found {
		return h, err
	}
	if err := json.Unmarshal(value, &h); err != nil {
		return h, broken(stream, 0, "the head can't be decoded: "+err.Error())
	}
	return h, nil
}

func checkStream(stream string) error {
	if stream == "" || len(stream) > MaxStreamBytes {
		return sdk.Errorf(sdk.Invalid, "stream_invalid", "a stream's name of %d bytes: names have 1 to %d", len(stream), MaxStreamBytes)
	}
	for i := range len(stream) {
		if stream[i] < ' ' {
			return sdk.Errorf(sdk.Invalid, "stream_invalid", "stream %q has a control character in its name", stream)
		}
	}
	return nil
}
