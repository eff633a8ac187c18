package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Checker is the journal's [core.Checker]. In addition to what an [Audit] proves, it
// requires that each entry is exactly as this program writes it, with a type and fields
// from the [Catalogue], and that each head is in the root, or marked to be recorded
// there.
type Checker struct{}

var _ core.Checker = Checker{}

// Check implements [core.Checker]. It reports the first problem of each stream,
// and the first of the root.
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	broken := func(err error) {
		at := sdk.AsError(err)
		report(core.Problem{Part: "journal", Key: fmt.Sprintf("%s%v/%v", eventPrefix, at.Details["stream"], at.Details["seq"]), Message: at.Message})
	}
	a := Audit{strict: true, recorded: map[string]uint64{}}
	var done Audited
	whole := true
	err := a.streams(ctx, r, &done, func(err error) error {
		whole = false
		broken(err)
		return nil
	})
	if err != nil || !whole {
		return err
	}
	if err = a.root(ctx, r, &done); err == nil {
		err = a.marks(ctx, r, done.Root)
	}
	if IsBroken(err) {
		broken(err)
		return nil
	}
	return err
}

// marks checks that the root has each stream's head, or will have it: that the head's
// mark exists. A root without entries belongs to a store that is older than the root.
func (a *Audit) marks(ctx context.Context, r core.Reader, root Head) error {
	err := core.ScanPrefix(r, []byte(newPrefix), func(key, value []byte) (bool, error) {
		stream, seq, ok := splitKey(newPrefix, key)
		if !ok || len(value) > 0 {
			return false, broken(strconv.Quote(string(key[len(newPrefix):])), 0, "the mark doesn't name a head")
		}
		_, found, err := r.Get(eventKey(stream, seq))
		if err == nil && !found {
			err = broken(stream, seq, "the entry is gone: a mark says that it was written")
		}
		return true, err
	})
	if err != nil {
		return err
	}
	return core.ScanPrefix(r, []byte(headPrefix), func(key, value []byte) (bool, error) {
		stream := string(key[len(headPrefix):])
		head, err := decodeHead(stream, value)
		if err != nil || !bytes.Equal(jsontext.MustEncode(head), value) {
			return false, broken(stream, 0, "the head isn't as the program writes it")
		}
		if stream == RootStream || root.Seq == 0 || a.recorded[stream] >= head.Seq {
			return true, ctx.Err()
		}
		_, found, err := r.Get(newKey(stream, head.Seq))
		if err == nil && !found {
			err = broken(stream, head.Seq, "the root doesn't have the entry, and no mark says that it will")
		}
		return true, err
	})
}

// exact reports what this program wouldn't have written in an entry's record.
func (e *Entry) exact(stream string, value []byte) error {
	if !bytes.Equal(jsontext.MustEncode(e), value) {
		return broken(stream, e.Seq, "the entry isn't as the program writes it")
	}
	if (core.Caller{Subject: e.Subject}).Validate() != nil {
		return broken(stream, e.Seq, "the entry has an invalid subject")
	}
	event, known := types()[e.Type]
	if !known {
		return broken(stream, e.Seq, fmt.Sprintf("there are no events of type %q", core.Cut(e.Type)))
	}
	if codec.DecodeExact(e.Data, reflect.New(event.of).Interface()) == nil {
		return nil // it is faster, and stricter than what follows
	}
	for _, m := range jsontext.Members(e.Data) {
		if !event.fields[m.Key] {
			return broken(stream, e.Seq, fmt.Sprintf("events of type %s have no field %q", e.Type, core.Cut(m.Key)))
		}
	}
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(reflect.New(event.of).Interface()); err != nil {
		return broken(stream, e.Seq, fmt.Sprintf("the event can't be read as one of type %s: %v", e.Type, err))
	}
	return nil
}

// eventType is what events of a type may contain.
type eventType struct {
	of     reflect.Type
	fields map[string]bool
}

// types are the catalogue's types, by name.
var types = sync.OnceValue(func() map[string]eventType {
	all := map[string]eventType{}
	for _, e := range events() {
		t := eventType{reflect.TypeOf(e), map[string]bool{}}
		for _, f := range fieldsOf(t.of) {
			t.fields[f.Name] = true
		}
		all[e.eventType()] = t
	}
	return all
})
