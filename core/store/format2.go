package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// Format 2 proves records with events: the journal has the digest of each record, and
// records with content hold a salt. The records of format 1 were only partly proven, so
// the migration accepts them without proof. It adds salts to records with content, and
// adds to each stream an event that lists the stream's records. From then on, changes to
// them are detected.
//
// The layout here is format 1's, and doesn't follow later changes.

// maxProven is how many digests one event has at most.
const maxProven = 1000

// prover converts a store from format 1 to format 2.
type prover struct {
	tx core.Tx
	// homes are the namespaces of memories, and salts the salts that were added to their
	// records.
	homes, salts map[string]string
	// records are what the events will list, by stream.
	records map[string][]journal.RecordDigest
}

// toFormat2 is the step from format 1 to 2.
func toFormat2(tx core.Tx) error {
	if err := unproven(tx); err != nil {
		return err
	}
	p := &prover{tx, map[string]string{}, map[string]string{}, map[string][]journal.RecordDigest{}}
	for _, step := range []struct {
		prefix string
		home   func(id string, value []byte) string
		prove  func(key, value []byte, stream string) error
	}{
		{"memory/", ownHome, p.memory},
		{"memory-purged/", ownHome, p.tombstone},
		{"memory-vector/", p.homeOf, p.vector},
		{"memory-history/", p.homeOf, p.plain},
		{"memory-session/", p.homeOf, p.plain},
		{"memory-turn/", func(id string, _ []byte) string { return id }, p.plain},
		{"link/", p.homeOf, p.link},
		{"pending/", ownHome, p.salted},
		{"reflect-request/", ownHome, p.plain},
		{"observe-request/", func(_ string, value []byte) string { return p.homes[string(value)] }, p.plain},
		{"gate-decision/", ownHome, p.plain},
		{"promotion/", p.homeOf, p.salted},
		{"knowledge/", ownHome, p.salted},
	} {
		err := p.each(step.prefix, func(key, value []byte) error {
			home := step.home(string(key[len(step.prefix):]), value)
			if home == "" {
				return nil // damaged: the check finds that no event proves it
			}
			return step.prove(key, value, journal.NamespaceStream(home))
		})
		if err != nil {
			return err
		}
	}
	for _, prefix := range []string{"turn/", "session/"} {
		err := p.each(prefix, func(key, value []byte) error {
			session, _, _ := strings.Cut(string(key[len(prefix):]), "/")
			return p.plain(key, value, journal.SessionStream(session))
		})
		if err != nil {
			return err
		}
	}
	if err := p.visits(); err != nil {
		return err
	}
	return p.append()
}

// visits removes the texts of memories from the results of nodes, where a purge wouldn't
// find them.
func (p *prover) visits() error {
	return p.each("visit/", func(key, value []byte) error { return run.TakeOut(p.tx, key, value, isTombstone) })
}

// isTombstone reports whether a memory was purged.
func isTombstone(r core.Reader, memoryID string) (bool, error) {
	_, found, err := r.Get([]byte("memory-purged/" + memoryID))
	return found, err
}

// unproven refuses a store whose events already prove records: its format isn't 1, so its
// records mustn't be accepted without a check.
func unproven(r core.Reader) error {
	return journal.Streams(r, func(s journal.StreamHead) (bool, error) {
		err := journal.Read(r, s.Stream, func(e journal.Entry) error {
			if e.Is(journal.RecordsWritten{}) {
				return sdk.Errorf(sdk.Invalid, "store_format_forged", "it says that it has format 1, but its events are of a later one").
					WithHint("the marker of the format was changed: restore a backup, or take an export as it was written")
			}
			return nil
		})
		if journal.IsBroken(err) {
			err = nil // the check reports it
		}
		return err == nil, err
	})
}

// each calls fn for each record of a prefix.
func (p *prover) each(prefix string, fn func(key, value []byte) error) error {
	rest, err := core.Suffixes(p.tx, []byte(prefix), math.MaxInt)
	if err != nil {
		return err
	}
	for _, suffix := range rest {
		key := []byte(prefix + suffix)
		value, _, err := p.tx.Get(key)
		if err != nil {
			return err
		}
		if err := fn(key, bytes.Clone(value)); err != nil {
			return err
		}
	}
	return nil
}

// ownHome is the namespace that a record names.
func ownHome(_ string, value []byte) string {
	var of struct {
		Namespace string `json:"namespace"`
	}
	_ = json.Unmarshal(value, &of) // "" if it isn't a record
	return of.Namespace
}

// homeOf is the namespace of the memory that a key begins with.
func (p *prover) homeOf(rest string, _ []byte) string {
	id, _, _ := strings.Cut(rest, "/")
	return p.homes[id]
}

func (p *prover) memory(key, value []byte, stream string) error {
	id := strings.TrimPrefix(string(key), "memory/")
	p.homes[id] = strings.TrimPrefix(stream, journal.NamespaceStream(""))
	value, salt, err := withSalt(value)
	if err != nil {
		return err
	}
	p.salts[id] = salt
	return p.put(key, value, stream)
}

func (p *prover) tombstone(key, value []byte, stream string) error {
	p.homes[strings.TrimPrefix(string(key), "memory-purged/")] = strings.TrimPrefix(stream, journal.NamespaceStream(""))
	return p.plain(key, value, stream)
}

// vector keys the digest with the memory's salt, since a vector's form has no room for a
// salt.
func (p *prover) vector(key, value []byte, stream string) error {
	mac := hmac.New(sha256.New, []byte(p.salts[strings.TrimPrefix(string(key), "memory-vector/")]))
	mac.Write(value) // never fails
	p.note(key, "hmac-sha256:"+hex.EncodeToString(mac.Sum(nil)), stream)
	return nil
}

// link adds a salt to a link with metadata.
func (p *prover) link(key, value []byte, stream string) error {
	var l core.Link
	if err := json.Unmarshal(value, &l); err != nil || l.Metadata == nil {
		return p.plain(key, value, stream)
	}
	return p.salted(key, value, stream)
}

func (p *prover) salted(key, value []byte, stream string) error {
	value, _, err := withSalt(value)
	if err != nil {
		return err
	}
	return p.put(key, value, stream)
}

func (p *prover) put(key, value []byte, stream string) error {
	if err := p.tx.Put(key, value); err != nil {
		return err
	}
	return p.plain(key, value, stream)
}

func (p *prover) plain(key, value []byte, stream string) error {
	p.note(key, core.Digest(value), stream)
	return nil
}

// note adds the digest of a key to a stream's event. Numbers in keys are in decimal
// there.
func (p *prover) note(key []byte, digest, stream string) {
	text := string(key)
	numbered := strings.HasPrefix(text, "turn/") || strings.HasPrefix(text, "memory-history/")
	if at := len(text) - 8; numbered && at > 0 && text[at-1] == '/' {
		text = fmt.Sprintf("%s%d", text[:at], binary.BigEndian.Uint64(key[at:]))
	}
	p.records[stream] = append(p.records[stream], journal.RecordDigest{Key: text, Digest: digest})
}

// append writes the events.
func (p *prover) append() error {
	now := core.SystemClock{}.Now()
	for _, stream := range slices.Sorted(maps.Keys(p.records)) {
		for records := range slices.Chunk(p.records[stream], maxProven) {
			// No caller requests a migration, so the events have no subject.
			if err := journal.Append(context.Background(), p.tx, stream, now, journal.RecordsWritten{Records: records}); err != nil {
				return err
			}
		}
	}
	return nil
}

// withSalt adds a salt at the end of a record, which is a JSON object.
func withSalt(value []byte) (with []byte, salt string, err error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, "", err
	}
	salt = base64.RawURLEncoding.EncodeToString(b)
	return fmt.Appendf(nil, `%s,"salt":"%s"}`, bytes.TrimSuffix(value, []byte("}")), salt), salt, nil
}
