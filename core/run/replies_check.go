package run

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// ReplyChecker proves that the stored replies of language models and their indices agree.
// A rebuild drops the ones that don't agree, since a cache may lose anything. See
// FORMAT.md.
type ReplyChecker struct{}

var _ core.Rebuilder = ReplyChecker{}

// Derived implements [core.Rebuilder]. Exports leave the cache out.
func (ReplyChecker) Derived() []string {
	return []string{replyPrefix, replyTimePrefix, replyMemoryPrefix}
}

// Check implements [core.Checker].
func (ReplyChecker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	for _, prefix := range (ReplyChecker{}).Derived() {
		err := scanPrefix(r, prefix, func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			wrong, err := replyProblem(r, key, value)
			if err == nil && wrong != "" {
				report(core.Problem{Part: "replies", Key: DescribeKey(key), Message: wrong, Rebuildable: true})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rebuild implements [core.Rebuilder]: it deletes everything inconsistent. A wrong index
// entry is deleted with its reply, and a reply with its other entries.
func (ReplyChecker) Rebuild(ctx context.Context, s core.Store) error {
	indices := []string{replyTimePrefix, replyMemoryPrefix}
	for _, prefix := range slices.Concat(indices, []string{replyPrefix}, indices) {
		err := core.UpdateEach(ctx, s, prefix, func(tx core.Tx, key string) error {
			value, found, err := tx.Get([]byte(key))
			if err != nil || !found {
				return err
			}
			wrong, err := replyProblem(tx, []byte(key), value)
			if err != nil || wrong == "" {
				return err
			}
			return tx.Delete([]byte(key))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replyProblem describes what is wrong with a key of the cache; "" if nothing is wrong.
func replyProblem(r core.Reader, key, value []byte) (string, error) {
	switch {
	case bytes.HasPrefix(key, []byte(replyPrefix)):
		return recordProblem(r, string(key[len(replyPrefix):]), value)
	case bytes.HasPrefix(key, []byte(replyTimePrefix)):
		digest := replyTimeDigest(key)
		record, size, err := sizedReply(r, digest)
		if err != nil || record != nil && bytes.Equal(key, replyTimeKey(record.At, digest)) && string(value) == strconv.Itoa(size) {
			return "", err
		}
		return "the index by time has an entry that matches no reply", nil
	}
	digest := replyMemoryDigest(key)
	record, err := readReply(r, digest)
	if err != nil {
		return "", err
	}
	if record != nil && slices.ContainsFunc(record.Memories, func(id string) bool { return bytes.Equal(key, replyMemoryKey(id, digest)) }) {
		return "", nil
	}
	return "the index by memory has an entry that matches no reply", nil
}

// recordProblem describes what is wrong with a reply: it can't be read, or it lacks an
// index entry, so the cache's bounds or a purge wouldn't find it.
func recordProblem(r core.Reader, digest string, value []byte) (string, error) {
	record := decodeReply(value)
	if record == nil {
		return "it can't be decoded", nil
	}
	keys := [][]byte{replyTimeKey(record.At, digest)}
	for _, id := range record.Memories {
		keys = append(keys, replyMemoryKey(id, digest))
	}
	for _, key := range keys {
		if _, found, err := r.Get(key); err != nil {
			return "", err
		} else if !found {
			return "the reply isn't in its indices", nil
		}
	}
	return "", nil
}

// sizedReply returns a reply and the size of its record.
func sizedReply(r core.Reader, digest string) (*replyRecord, int, error) {
	value, found, err := r.Get(replyKey(digest))
	if err != nil || !found {
		return nil, 0, err
	}
	return decodeReply(value), len(value), nil
}
