package governance

import (
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// maxCached bounds each part of the cache. A full part is emptied: there are few
// settings.
const maxCached = 1024

// cache saves the work of decoding stored settings, which each new memory needs. It never
// replaces a read: an entry is used only for the bytes that it was made from, and those
// are read in each transaction. It is safe for concurrent use.
type cache struct {
	mu      sync.Mutex
	records map[string]decoded
	results map[string]resolved
}

// decoded is a level's record and the bytes that it was decoded from.
type decoded struct {
	value  string
	record *Record
}

// resolved is the settings in force in a namespace, and the records of its levels.
type resolved struct {
	records []*Record
	result  core.Governance
}

func newCache() *cache {
	return &cache{records: map[string]decoded{}, results: map[string]resolved{}}
}

// read does what the function read does. Equal bytes return the same record, which
// mustn't be changed.
func (c *cache) read(r core.Reader, level string) (record *Record, unreadable, err error) {
	value, found, err := r.Get(key(level))
	if err != nil || !found {
		return nil, nil, err
	}
	c.mu.Lock()
	known, ok := c.records[level]
	c.mu.Unlock()
	if ok && known.value == string(value) {
		return known.record, nil, nil
	}
	if record, unreadable = decode(level, value); unreadable != nil {
		return nil, unreadable, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.records) >= maxCached {
		clear(c.records)
	}
	c.records[level] = decoded{string(value), record}
	return record, nil, nil
}

// resolve returns the settings in force at the last of the levels.
func (c *cache) resolve(namespace string, levels []level) *core.Governance {
	c.mu.Lock()
	known, ok := c.results[namespace]
	c.mu.Unlock()
	same := func(record *Record, l level) bool { return record == l.record }
	if ok && slices.EqualFunc(known.records, levels, same) {
		return &known.result
	}
	known = resolved{result: *resolve(namespace, levels)}
	for _, l := range levels {
		known.records = append(known.records, l.record)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.results) >= maxCached {
		clear(c.results)
	}
	c.results[namespace] = known
	return &known.result
}
