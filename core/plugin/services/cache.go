package services

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxKey bounds a key, in bytes: a digest with a prefix fits well.
	maxKey = 256
	// entryCost is about how much memory an entry takes in addition to its key and value, so
	// that empty ones are limited too.
	entryCost = 128
	// maxCaches is how many caches are kept; the least recently used is dropped first. Full
	// caches of 8 MiB take 256 MiB together.
	maxCaches = 32
)

// cacheKey names a cache: a plugin's, for scopes of one namespace, model and
// environment. So a value that was computed with one key, or from one namespace's
// memories, is never found by a call of another.
type cacheKey struct {
	plugin string
	scope  [sha256.Size]byte
}

// cache answers cache. Each plugin has its own, and another for each kind of scope.
func (h *Host) cache(ctx context.Context, r plugin.ServiceRequest, q *sdk.CacheRequest) (*sdk.CacheResponse, error) {
	if len(q.Key) == 0 || len(q.Key) > maxKey {
		return nil, invalid(r, "a key of %d bytes is not 1 to %d", len(q.Key), maxKey)
	}
	switch q.Op {
	case sdk.CacheOpGet:
		value, found := h.cacheOf(ctx, r.Plugin).get(q.Key)
		return &sdk.CacheResponse{Found: found, Value: value}, nil
	case sdk.CacheOpPut:
		if len(q.Value) == 0 {
			return nil, invalid(r, "put without a value")
		}
		if !h.cacheOf(ctx, r.Plugin).put(q.Key, q.Value) {
			return nil, sdk.Errorf(sdk.Exhausted, "cache_value_too_large", "a value of %d bytes doesn't fit into the cache of plugin %s, which has %d",
				len(q.Value), r.Plugin, h.options.CacheBytes).
				WithHint("cache smaller values")
		}
		return new(sdk.CacheResponse), nil
	}
	return nil, invalid(r, "op %.64q is neither %s nor %s", q.Op, sdk.CacheOpGet, sdk.CacheOpPut)
}

func (h *Host) cacheOf(ctx context.Context, name string) *cache {
	key := cacheKey{name, plugin.ScopeOf(ctx).Digest()}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.caches[key]
	if c == nil {
		if len(h.caches) >= maxCaches {
			h.dropOldest()
		}
		c = newCache(h.options.CacheBytes)
		h.caches[key] = c
	}
	h.uses++
	c.used = h.uses
	return c
}

// dropOldest drops the cache that was used least recently. The lock must be held.
func (h *Host) dropOldest() {
	var oldest cacheKey
	least := h.uses + 1
	for key, c := range h.caches {
		if c.used < least {
			oldest, least = key, c.used
		}
	}
	delete(h.caches, oldest)
}

// cache keeps one plugin's values for one kind of scope, and drops the least recently used
// first. It is safe for concurrent use.
type cache struct {
	limit int
	used  int // the host's count of uses when it was last used; the host's lock guards it

	mu      sync.Mutex
	size    int
	entries map[string]*list.Element
	recent  *list.List // of *entry, the most recently used first
}

type entry struct {
	key   string
	value json.RawMessage
}

func (e *entry) cost() int { return len(e.key) + len(e.value) + entryCost }

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[string]*list.Element{}, recent: list.New()}
}

func (c *cache) get(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[key]
	if at == nil {
		return nil, false
	}
	c.recent.MoveToFront(at)
	return at.Value.(*entry).value, true
}

// put keeps a value, and reports whether it is small enough to be kept at all.
func (c *cache) put(key string, value json.RawMessage) bool {
	e := &entry{key, value}
	if e.cost() > c.limit {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.entries[key]; at != nil {
		c.drop(at)
	}
	c.entries[key] = c.recent.PushFront(e)
	c.size += e.cost()
	for c.size > c.limit {
		c.drop(c.recent.Back())
	}
	return true
}

func (c *cache) drop(at *list.Element) {
	e := c.recent.Remove(at).(*entry)
	delete(c.entries, e.key)
	c.size -= e.cost()
}
