package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Every record that isn't derived from others is proven by the journal: the last event of
// a transaction has the digests of what it wrote, in the stream of the record's namespace
// or session, where the record's next change will be as well. So a check needn't know
// what records mean: if a record doesn't match the newest digest of its key, it was
// edited, lost or added.
//
// The text behind a plain digest can be guessed for as long as the journal exists, which
// may be longer than the text may exist. So a record with content holds a random salt,
// which is deleted with it, and digests of single texts are keyed with that salt.

const (
	// saltBytes is the size of a salt: 128 bits, which can't be guessed.
	saltBytes = 16
	// maxProven is how many digests one event has at most, some 150 KB.
	maxProven = 1000
	// KeyedPrefix is the prefix of a digest that is keyed with a salt.
	KeyedPrefix = "hmac-sha256:"
)

// NewSalt makes the salt of a new record.
func (t *Tx) NewSalt() (string, error) {
	b := make([]byte, saltBytes)
	if _, err := io.ReadFull(t.random, b); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Keyed is the digest of a text. Nobody without the salt can find the text by guessing.
func Keyed(salt, text string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(text)) // never fails
	return KeyedPrefix + hex.EncodeToString(mac.Sum(nil))
}

// Write writes a record of a namespace, which the journal then proves.
func (t *Tx) Write(namespace string, key, value []byte) error {
	t.prove(journal.NamespaceStream(namespace), key, core.Digest(value))
	return t.Put(key, value)
}

// Erase removes a record of a namespace, which the journal then reports.
func (t *Tx) Erase(namespace string, key []byte) error {
	t.prove(journal.NamespaceStream(namespace), key, "")
	return t.Delete(key)
}

// WriteOfSession is [Tx.Write] for a record of a session, whose turns may belong to many
// namespaces, or to none.
func (t *Tx) WriteOfSession(session string, key, value []byte) error {
	t.prove(journal.SessionStream(session), key, core.Digest(value))
	return t.Put(key, value)
}

// EraseOfSession is [Tx.Erase] for a record of a session.
func (t *Tx) EraseOfSession(session string, key []byte) error {
	t.prove(journal.SessionStream(session), key, "")
	return t.Delete(key)
}

// prove notes the digest of what the transaction wrote to a key.
func (t *Tx) prove(stream string, key []byte, digest string) {
	if t.proofs == nil {
		t.proofs = map[string]map[string]string{}
	}
	if t.proofs[stream] == nil {
		t.proofs[stream] = map[string]string{}
	}
	t.proofs[stream][KeyText(key)] = digest
}

// putProofs appends the events that prove what the transaction wrote.
func (t *Tx) putProofs() error {
	for _, stream := range slices.Sorted(maps.Keys(t.proofs)) {
		digests := t.proofs[stream]
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(digests)), maxProven) {
			event := journal.RecordsWritten{Records: make([]journal.RecordDigest, len(keys))}
			for i, key := range keys {
				event.Records[i] = journal.RecordDigest{Key: key, Digest: digests[key]}
			}
			if err := t.Append(stream, event); err != nil {
				return err
			}
		}
	}
	return nil
}

// ProvenPrefixes are the prefixes of the records that events prove.
func ProvenPrefixes() []string {
	return []string{
		MemoryPrefix, VectorPrefix, PurgedPrefix, HistoryPrefix, TurnPrefix, LinkPrefix, PendingPrefix, requestPrefix,
		observePrefix, TurnRecordPrefix, SessionPrefix, WindowPrefix, WindowSummaryPrefix, ReflectionPrefix, reflectionMemoryPrefix, UserPrefix, TrialPrefix, DecisionPrefix, PromotionPrefix, KnowledgePrefix, KnowledgePurgedPrefix,
		DreamPrefix, DreamStepPrefix, DreamUndoPrefix, DreamMarkPrefix,
	}
}

// numbered reports whether keys with a prefix end in a number of 8 bytes.
func numbered(key string) bool {
	return slices.ContainsFunc([]string{TurnRecordPrefix, HistoryPrefix, WindowPrefix, WindowSummaryPrefix, ReflectionPrefix, reflectionMemoryPrefix},
		func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// KeyText is the form of a key in events: text, with a number in decimal.
func KeyText(key []byte) string {
	text := string(key)
	at := len(text) - 8
	if !numbered(text) || at < 1 || text[at-1] != '/' {
		return text
	}
	return text[:at] + strconv.FormatUint(binary.BigEndian.Uint64(key[at:]), 10)
}

// TextKey is the key for a result of [KeyText].
func TextKey(text string) []byte {
	at := strings.LastIndexByte(text, '/') + 1
	number, err := strconv.ParseUint(text[at:], 10, 64)
	if !numbered(text) || err != nil {
		return []byte(text)
	}
	return binary.BigEndian.AppendUint64([]byte(text[:at]), number)
}
