package wire

import (
	"container/list"
	"context"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// preparedConfigs keeps a plugin's results for its configs and drops the least recently
// used first, as soon as there are too many, or their JSON is too long together: what is
// prepared may be as long as its config, or keep it. Each is made once, however many calls
// ask at the same time. A failure is returned to the calls that waited for it, and then
// forgotten.
type preparedConfigs struct {
	mu      sync.Mutex
	limit   int
	most    int // bytes of JSON together, unless one has more by itself
	bytes   int
	entries map[configKey]*list.Element
	recent  *list.List // of *preparedConfig, the most recently used first
}

type preparedConfig struct {
	key   configKey
	size  int           // of its JSON
	done  chan struct{} // closed once value and err are set
	value any
	err   error
}

func newPreparedConfigs(limit, most int) *preparedConfigs {
	return &preparedConfigs{limit: limit, most: most, entries: map[configKey]*list.Element{}, recent: list.New()}
}

// get returns the entry of a key, and prepares it from a config of that many bytes if it
// doesn't exist. Without prepare, a missing entry is the error that makes the host send the
// config.
func (c *preparedConfigs) get(ctx context.Context, key configKey, size int, prepare func() (any, error)) (any, error) {
	for {
		entry, mine := c.claim(key, size, prepare != nil)
		switch {
		case entry == nil:
			return nil, sdk.Errorf(sdk.NotFound, "config_unknown", "no config of digest %s was prepared", key.digest)
		case mine:
			c.fill(entry, prepare)
			return entry.value, entry.err
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// The entry failed because another call ended, which doesn't concern this call:
		// prepare again.
		if code := sdk.CodeOf(entry.err); ctx.Err() == nil && (code == sdk.Cancelled || code == sdk.Timeout) {
			continue
		}
		return entry.value, entry.err
	}
}

// claim returns the entry of a key, and whether it was added and the caller must fill
// it.
func (c *preparedConfigs) claim(key configKey, size int, add bool) (entry *preparedConfig, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		c.recent.MoveToFront(el)
		return el.Value.(*preparedConfig), false
	}
	if !add {
		return nil, false
	}
	entry = &preparedConfig{key: key, size: size, done: make(chan struct{})}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += size
	for c.recent.Len() > c.limit || c.bytes > c.most && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
	return entry, true
}

func (c *preparedConfigs) fill(entry *preparedConfig, prepare func() (any, error)) {
	entry.value, entry.err = prepare()
	if entry.err == nil && entry.value == nil {
		entry.err = sdk.Errorf(sdk.Internal, "prepared_nothing", "the plugin prepared nothing from its config")
	}
	if entry.err != nil {
		c.mu.Lock()
		if el := c.entries[entry.key]; el != nil && el.Value == entry {
			c.drop(el)
		}
		c.mu.Unlock()
	}
	close(entry.done)
}

func (c *preparedConfigs) drop(el *list.Element) {
	c.recent.Remove(el)
	entry := el.Value.(*preparedConfig)
	c.bytes -= entry.size
	delete(c.entries, entry.key)
}
