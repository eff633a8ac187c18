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

// Every record that doesn't follow from others is proven by the journal: the last
// event of a transaction has the digests of what it wrote, in the stream of the
// record's namespace or session, where the record's next change will be as well. A
// check then needs to know nothing of what records mean: the newest digest of each
// key is its record's, or an edit, a loss or an addition shows.
//
// A plain digest of a text can be guessed back for as long as the journal stands,
// which is longer than the text may. So a record with content holds a random salt,
// which dies with it, and digests of single texts are keyed with that.

const (
	// saltBytes is the size of a salt: 128 bits, which can't be guessed.
	saltBytes = 16
	// maxProven is how many digests one event has, some 150 KB.
	maxProven = 1000
	// KeyedPrefix stands before a digest that is keyed with a salt. Early stores of
	// format 1 have plain ones, which begin as [core.Digest] does.
	KeyedPrefix = "hmac-sha256:"
)

// NewSalt makes the salt of a record that is written.
func (t *Tx) NewSalt() (string, error) {
	b := make([]byte, saltBytes)
	if _, err := io.ReadFull(t.random, b); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Keyed is the digest of a text that nobody without the salt can guess back.
func Keyed(salt, text string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(text)) // never fails
	return KeyedPrefix + hex.EncodeToString(mac.Sum(nil))
}

// Fits reports whether a digest is a text's. One that isn't keyed is of a store
// of format 1, or was copied from one.
func Fits(digest, salt, text string) bool {
	if strings.HasPrefix(digest, KeyedPrefix) {
		return digest == Keyed(salt, text)
	}
	return digest == core.Digest([]byte(text))
}

// Write writes a record that belongs to a namespace, and has the journal prove it.
func (t *Tx) Write(namespace string, key, value []byte) error {
	t.prove(journal.NamespaceStream(namespace), key, core.Digest(value))
	return t.Put(key, value)
}

// Erase removes a record of a namespace, and has the journal say so.
func (t *Tx) Erase(namespace string, key []byte) error {
	t.prove(journal.NamespaceStream(namespace), key, "")
	return t.Delete(key)
}

// WriteOfSession is [Tx.Write] for a record of a session, whose turns may be of many
// namespaces, or of none.
func (t *Tx) WriteOfSession(session string, key, value []byte) error {
	t.prove(journal.SessionStream(session), key, core.Digest(value))
	return t.Put(key, value)
}

// prove notes what the transaction left at a key.
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
		observePrefix, TurnRecordPrefix, SessionPrefix, UserPrefix, DecisionPrefix, PromotionPrefix, KnowledgePrefix, KnowledgePurgedPrefix,
	}
}

// numbered reports whether keys of a prefix end in a number of 8 bytes.
func numbered(key string) bool {
	return strings.HasPrefix(key, TurnRecordPrefix) || strings.HasPrefix(key, HistoryPrefix)
}

// KeyText is a key as an event has it: text, with a number in decimal.
func KeyText(key []byte) string {
	text := string(key)
	at := len(text) - 8
	if !numbered(text) || at < 1 || text[at-1] != '/' {
		return text
	}
	return text[:at] + strconv.FormatUint(binary.BigEndian.Uint64(key[at:]), 10)
}

// TextKey is the key that [KeyText] made a text of.
func TextKey(text string) []byte {
	at := strings.LastIndexByte(text, '/') + 1
	number, err := strconv.ParseUint(text[at:], 10, 64)
	if !numbered(text) || err != nil {
		return []byte(text)
	}
	return binary.BigEndian.AppendUint64([]byte(text[:at]), number)
}
