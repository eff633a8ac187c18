package access

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
)

// A revocation in any process must take effect at once, so nothing here is remembered for
// a time: each check reads the token's record, and the cache only saves decoding bytes
// that were decoded before. The record is its own version: a counter of all changes would
// be read just as often, and all changes would conflict there.

const (
	// maxCached bounds the cache. A full cache is emptied: few tokens are in use at a
	// time.
	maxCached = 1024
	// usedStep is how often the use of a token is recorded at most.
	usedStep = time.Hour
)

// holder is the holder of a credential, from a token's record or the operator's file.
// Only used changes.
type holder struct {
	// record is the bytes from which it was decoded.
	record []byte
	token  Token
	digest digest
	caller core.Caller
	// used is when the token was last used, as far as that is recorded, in Unix
	// nanoseconds; 0 means never.
	used atomic.Int64
}

// live reports whether the credential is valid at a time.
func (h *holder) live(now time.Time) bool {
	return h.caller.Subject == core.OperatorSubject || h.caller.Subject != "" && h.token.State(now) == Active
}

type cache struct {
	mu      sync.Mutex
	holders map[string]*holder
}

func newCache() *cache { return &cache{holders: map[string]*holder{}} }

// get returns the holder decoded from these bytes; nil if there is none.
func (c *cache) get(id string, value []byte) *holder {
	c.mu.Lock()
	h := c.holders[id]
	c.mu.Unlock()
	if h == nil || !bytes.Equal(h.record, value) {
		return nil
	}
	return h
}

func (c *cache) put(id string, h *holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.holders) >= maxCached {
		clear(c.holders)
	}
	c.holders[id] = h
}

// holder is the holder of the token with an id. If there is no readable one, it is a
// holder that no secret matches.
func (a *Authority) holder(r core.Reader, id string) (*holder, error) {
	if id == OperatorID {
		return a.operatorHolder(), nil
	}
	value, found, err := r.Get(tokenKey(id))
	if err != nil {
		return nil, err
	}
	known := a.cache.get(id, value) // also if nothing was found, so that it takes as long
	if found && known != nil {
		return known, nil
	}
	rec, err := tokens.Parse(id, value)
	if !found || err != nil {
		return &holder{}, nil
	}
	used, err := lastUsed(r, id)
	if err != nil {
		return nil, err
	}
	h := &holder{record: value, token: rec.Token, digest: rec.Digest, caller: rec.caller()}
	if !used.IsZero() {
		h.used.Store(used.UnixNano())
	}
	a.cache.put(id, h)
	return h, nil
}

// use records that a token was used, at most once in [usedStep]. If that fails, for
// example because the disk is full, the use is still allowed: recording is tried again
// after that time.
func (a *Authority) use(ctx context.Context, h *holder) {
	now, last := a.now(), h.used.Load()
	if h.token.ID == "" || now.UnixNano()-last < int64(usedStep) || !h.used.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	_ = a.writer.Store.Update(ctx, func(tx core.Tx) error {
		value, _, err := tx.Get(tokenKey(h.token.ID))
		if err != nil || !bytes.Equal(value, h.record) { // it was revoked, or dropped, since
			return err
		}
		written, err := lastUsed(tx, h.token.ID)
		if err != nil || now.Sub(written) < usedStep { // another process has written it
			return err
		}
		at := now.UTC().Truncate(time.Second)
		return uses.Add(tx, h.token.ID, &at)
	})
}
