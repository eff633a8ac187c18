package run

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Replies of language models are a bounded cache, and they may quote a memory that is
// purged later. So there are two indices: one by time, which holds the sizes, so that the
// bounds need no counter (it has at most maxReplies keys, and a model call takes a
// thousand times as long as reading them); and one by memory, so that a purge finds the
// replies to calls that contained the memory. All three prefixes may be lost at any time.
// So exports leave them out, and a forged reply can't be added to an export.

// Bounds of the cache: enough replies for a workflow that repeats a few thousand calls, and
// as many bytes as the cache of verdicts has.
const (
	maxReplies    = 4096
	maxReplyBytes = 1 << 20 // of one reply; a larger one isn't kept
	maxReplySum   = 64 << 20
)

// Replies is the cache of replies of language models. It implements [core.Replies]
// and [core.Forgetter].
type Replies struct {
	// Store holds the replies. Required.
	Store core.Store
	// Clock gives the time at which a reply is stored. Required.
	Clock core.Clock
	// Purged reports whether a memory was purged; nil means that no memory was purged.
	Purged func(r core.Reader, memoryID string) (bool, error)
}

var (
	_ core.Replies   = (*Replies)(nil)
	_ core.Forgetter = (*Replies)(nil)
)

// replyRecord is a stored reply.
type replyRecord struct {
	// At is when the reply was stored, in Unix nanoseconds; the oldest is dropped first.
	At int64 `json:"at"`
	// Memories are the memories that the reply's calls may have been given, sorted.
	Memories []string `json:"memories,omitempty"`
	core.Reply
}

// Reply implements [core.Replies].
func (s *Replies) Reply(ctx context.Context, digest string, memories []string) (*core.Reply, error) {
	var record *replyRecord
	err := s.Store.View(ctx, func(r core.Reader) (err error) {
		record, err = readReply(r, digest)
		return err
	})
	if err != nil || record == nil {
		return nil, err
	}
	if known := len(record.Memories); len(union(record.Memories, memories)) > known {
		// Another run made the same prompt from other memories.
		if err := s.KeepReply(ctx, digest, &record.Reply, memories); err != nil {
			return nil, err
		}
	}
	return &record.Reply, nil
}

// KeepReply implements [core.Replies]. It drops the oldest replies if there is no room.
func (s *Replies) KeepReply(ctx context.Context, digest string, reply *core.Reply, memories []string) error {
	return s.Store.Update(ctx, func(tx core.Tx) error {
		record := &replyRecord{At: s.Clock.Now().UnixNano(), Memories: union(memories, nil), Reply: *reply}
		if before, err := readReply(tx, digest); err != nil {
			return err
		} else if before != nil {
			record.At, record.Memories = before.At, union(before.Memories, memories)
		}
		for _, id := range memories {
			if gone, err := s.purged(tx, id); err != nil || gone {
				return err
			}
		}
		if err := dropReply(tx, digest); err != nil {
			return err
		}
		value, err := encode(replyKey(digest), record)
		if err != nil || len(value) > maxReplyBytes {
			return err
		}
		if err := makeRoom(tx, len(value)); err != nil {
			return err
		}
		return writeReply(tx, digest, record, value)
	})
}

func (s *Replies) purged(r core.Reader, id string) (bool, error) {
	if s.Purged == nil {
		return false, nil
	}
	return s.Purged(r, id)
}

// Forget implements [core.Forgetter].
func (s *Replies) Forget(tx core.Tx, memoryID string) ([]string, error) {
	digests, err := core.Suffixes(tx, replyMemoryKey(memoryID, ""), maxReplies)
	if err != nil {
		return nil, err
	}
	for _, digest := range digests {
		if err := dropReply(tx, digest); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// makeRoom drops the oldest replies until a reply of this size fits.
func makeRoom(tx core.Tx, size int) error {
	type kept struct {
		digest string
		size   int
	}
	var all []kept
	sum := size
	err := scanPrefix(tx, replyTimePrefix, func(key, value []byte) error {
		n, _ := strconv.Atoi(string(value)) // a check reports a value that isn't a number
		sum += n
		all = append(all, kept{replyTimeDigest(key), n})
		return nil
	})
	for i := 0; err == nil && i < len(all) && (len(all)-i >= maxReplies || sum > maxReplySum); i++ {
		sum -= all[i].size
		err = dropReply(tx, all[i].digest)
	}
	return err
}

// readReply returns a record; nil if there is none or it can't be read. An unreadable
// reply is as good as lost, and a check reports it.
func readReply(r core.Reader, digest string) (*replyRecord, error) {
	value, found, err := r.Get(replyKey(digest))
	if err != nil || !found {
		return nil, err
	}
	return decodeReply(value), nil
}

// decodeReply returns nil if the value isn't a record.
func decodeReply(value []byte) *replyRecord {
	var record replyRecord
	if json.Unmarshal(value, &record) != nil || record.At <= 0 || len(record.Output) == 0 {
		return nil
	}
	return &record
}

func writeReply(tx core.Tx, digest string, record *replyRecord, value []byte) error {
	if err := tx.Put(replyKey(digest), value); err != nil {
		return err
	}
	for _, id := range record.Memories {
		if err := tx.Put(replyMemoryKey(id, digest), nil); err != nil {
			return err
		}
	}
	return tx.Put(replyTimeKey(record.At, digest), []byte(strconv.Itoa(len(value))))
}

// dropReply removes a reply and its indices, if it exists.
func dropReply(tx core.Tx, digest string) error {
	record, err := readReply(tx, digest)
	if err != nil || record == nil {
		return err
	}
	for _, id := range record.Memories {
		if err := tx.Delete(replyMemoryKey(id, digest)); err != nil {
			return err
		}
	}
	if err := tx.Delete(replyTimeKey(record.At, digest)); err != nil {
		return err
	}
	return tx.Delete(replyKey(digest))
}

// union is the sorted union of two lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	replyPrefix       = "llm-reply/"
	replyTimePrefix   = "llm-reply-time/"
	replyMemoryPrefix = "llm-reply-memory/"
)

func replyKey(digest string) []byte { return []byte(replyPrefix + digest) }

// replyTimeKey orders replies by their age, the oldest first.
func replyTimeKey(at int64, digest string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(replyTimePrefix), uint64(at))
	return append(append(key, '/'), digest...)
}

// replyTimeDigest is the digest in a key of replyTimeKey.
func replyTimeDigest(key []byte) string {
	const skip = len(replyTimePrefix) + 8 + 1
	return string(key[min(skip, len(key)):])
}

func replyMemoryKey(memoryID, digest string) []byte {
	return []byte(replyMemoryPrefix + memoryID + "/" + digest)
}

// replyMemoryDigest is the digest in a key of replyMemoryKey.
func replyMemoryDigest(key []byte) string {
	return string(key[strings.LastIndexByte(string(key), '/')+1:])
}
