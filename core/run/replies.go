package run

import (
	"context"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
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
	Purged core.Purged
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

const (
	replyPrefix       = "llm-reply/"
	replyTimePrefix   = "llm-reply-time/"
	replyMemoryPrefix = "llm-reply-memory/"
)

// replies are the records of replies by the digest of their calls.
var replies = table.Kind[replyRecord]{
	Part: "replies", Prefix: replyPrefix,
	Doc:     "digest | a model's reply to a call with `cache: true`: `{at, memories?, output, metadata?}`; `at` is in Unix nanoseconds, `memories` are the memories that the run had received before the call. The digest, with `sha256:`, is of the JSON list of the plugin, its rendered config's digest and the iteration. At most 4,096 replies and 64 MiB: the oldest are removed",
	Passing: true,
	Valid: func(_ string, r *replyRecord) string {
		if r.At <= 0 || len(r.Output) == 0 {
			return "it isn't a reply"
		}
		return ""
	},
	Indices: []table.Index[replyRecord]{
		{Prefix: replyTimePrefix, Doc: "at(8) `/` digest | index by age: the record's size in bytes, as decimal text", ID: replyTimeDigest, Entries: func(digest string, r *replyRecord) []table.Entry {
			return []table.Entry{{Key: table.NumberKey(replyTimePrefix, uint64(r.At), digest), Value: []byte(strconv.Itoa(len(jsontext.MustEncode(r))))}}
		}},
		{Prefix: replyMemoryPrefix,
			Doc:    "memory `/` digest | index: empty; one for each of the reply's memories, so that a purge finds the reply",
			Quotes: func(r *replyRecord) []string { return r.Memories }},
	},
}

// replyTimeDigest is the digest in a key of the index by time.
var replyTimeDigest = table.AfterNumber(replyTimePrefix, 1)

// ReplyChecker proves that the stored replies of language models and their indices agree. See
// FORMAT.md.
func ReplyChecker() core.Rebuilder { return table.Part{&replies} }

// Reply implements [core.Replies].
func (s *Replies) Reply(ctx context.Context, digest string, memories []string) (*core.Reply, error) {
	var record *replyRecord
	err := s.Store.View(ctx, func(r core.Reader) (err error) {
		record, err = replies.Get(r, digest)
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
		if before, err := replies.Get(tx, digest); err != nil {
			return err
		} else if before != nil {
			record.At, record.Memories = before.At, union(before.Memories, memories)
		}
		if gone, err := s.Purged.Any(tx, memories...); err != nil || gone {
			return err
		}
		if err := replies.Delete(tx, digest); err != nil {
			return err
		}
		value, err := replies.Value(digest, record)
		if err != nil || len(value) > maxReplyBytes {
			return err
		}
		if err := makeRoom(tx, len(value)); err != nil {
			return err
		}
		return replies.Add(tx, digest, record)
	})
}

// Forget implements [core.Forgetter].
func (s *Replies) Forget(tx core.Tx, memoryID string) ([]string, error) {
	return nil, replies.Forget(tx, memoryID, nil)
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
		all = append(all, kept{replyTimeDigest(key, nil), n})
		return nil
	})
	for i := 0; err == nil && i < len(all) && (len(all)-i >= maxReplies || sum > maxReplySum); i++ {
		sum -= all[i].size
		err = replies.Delete(tx, all[i].digest)
	}
	return err
}

// union is the sorted union of two lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
