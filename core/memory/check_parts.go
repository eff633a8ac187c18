package memory

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// indexedID is the id at the end of a key of an index: behind the namespace, the
// value where the index has one, and 8 bytes of time or 32 of a title's digest.
func indexedID(key string) string {
	prefix, rest, _ := strings.Cut(key, "/")
	_, rest, _ = strings.Cut(rest, "\x00")
	skip := 8
	switch prefix + "/" {
	case timePrefix:
	case titlePrefix:
		skip = 32
	default:
		_, rest, _ = strings.Cut(rest, "\x00")
	}
	if len(rest) < skip {
		return ""
	}
	return rest[skip:]
}

// counts checks what each namespace counts against its time index.
func (c *checker) counts() error {
	return eachCount(c.r, func(namespace string, counted, found Count) error {
		if counted != found {
			c.derived(countPrefix+namespace, "it counts %d memories of %d bytes, but there are %d of %d", counted.Memories, counted.Bytes, found.Memories, found.Bytes)
		}
		return c.ctx.Err()
	})
}

// eachCount calls fn for each namespace with what its counter says and what its
// time index holds.
func eachCount(r core.Reader, fn func(namespace string, counted, found Count) error) error {
	for namespace := ""; ; {
		var err error
		if namespace, err = nextCounted(r, namespace); err != nil || namespace == "" {
			return err
		}
		found, err := countIndex(r, namespace)
		if err != nil {
			return err
		}
		counted, err := readCount(r, namespace)
		if isDamage(err) {
			counted, err = Count{Memories: -1}, nil
		}
		if err != nil {
			return err
		}
		if err := fn(namespace, counted, found); err != nil {
			return err
		}
	}
}

// nextCounted returns the namespace that follows one among those that have a
// counter or an entry in the time index; "" after the last.
func nextCounted(r core.Reader, after string) (string, error) {
	first := func(prefix string, from []byte) (name string, err error) {
		err = r.Scan(from, core.PrefixEnd([]byte(prefix)), func(key, _ []byte) (bool, error) {
			name, _, _ = strings.Cut(string(key[len(prefix):]), "\x00")
			return false, nil
		})
		return name, err
	}
	counted, err := first(countPrefix, append([]byte(countPrefix+after), 0))
	if err != nil {
		return "", err
	}
	indexed, err := first(timePrefix, append([]byte(timePrefix+after), 1))
	if err != nil || counted == "" {
		return indexed, err
	}
	if indexed == "" {
		return counted, nil
	}
	return min(counted, indexed), nil
}

// countIndex counts what a namespace's time index holds.
func countIndex(r core.Reader, namespace string) (c Count, err error) {
	start := indexStart(timePrefix, namespace, "")
	err = core.ScanPrefix(r, start, func(_, value []byte) (bool, error) {
		n, _ := strconv.ParseInt(string(value), 10, 64) // what isn't a number shows as a wrong sum
		c.Memories, c.Bytes = c.Memories+1, c.Bytes+n
		return true, nil
	})
	return c, err
}

// vectors checks the vectors against their memories.
func (c *checker) vectors() error {
	return c.each(vectorPrefix, func(key string, value []byte) error {
		id := key[len(vectorPrefix):]
		model, _, err := decodeVector(id, value)
		if err != nil {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		m, err := read(c.r, id)
		switch {
		case isGone(err):
			c.problem(key, "its memory isn't there")
		case isDamage(err): // reported already
		case err != nil:
			return err
		case m.EmbeddingModel != model:
			c.problem(key, "its model is %q, but its memory's is %q", cut(model), cut(m.EmbeddingModel))
		}
		return nil
	})
}

// tombstones checks that nothing is left of what was purged.
func (c *checker) tombstones() error {
	return c.each(purgedPrefix, func(key string, _ []byte) error {
		id := key[len(purgedPrefix):]
		gone, err := readTombstone(c.r, id)
		if isDamage(err) {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		if err != nil {
			return err
		}
		for _, prefix := range []string{memoryPrefix, vectorPrefix} {
			left, err := c.has([]byte(prefix + id))
			if err != nil {
				return err
			}
			if left {
				c.problem(prefix+id, "it was purged and is still there")
			}
		}
		entries, err := readHistory(c.r, gone.Namespace, id)
		if isDamage(err) || journal.IsBroken(err) || err == nil && (len(entries) == 0 || !entries[len(entries)-1].Is(journal.MemoryPurged{})) {
			c.problem(key, "its last event isn't its purge")
			return nil
		}
		return err
	})
}

// links checks each link and its other end.
func (c *checker) links() error {
	return c.each(linkPrefix, func(key string, value []byte) error {
		var l core.Link
		if err := json.Unmarshal(value, &l); err != nil || string(linkKey(l.From, l.Relation, l.To)) != key {
			c.problem(key, "the link can't be decoded, or is of other memories")
			return nil
		}
		from, err := c.has(memoryKey(l.From))
		if err != nil {
			return err
		}
		target := memoryKey(l.To)
		if id, gone := strings.CutPrefix(l.To, purgedMark); gone {
			target = purgedKey(id)
		}
		to, err := c.has(target)
		if err == nil && !to {
			if to, err = c.has(purgedKey(l.To)); to && l.Metadata != nil {
				c.problem(key, "the memory that it leads to was purged, and it still carries metadata")
			}
		}
		if err != nil {
			return err
		}
		if !from || !to {
			c.problem(key, "the link has an end that isn't there")
		}
		back, err := c.has(linkToKey(l.To, l.Relation, l.From))
		if err == nil && !back {
			c.derived(string(linkToKey(l.To, l.Relation, l.From)), "the link's other end misses it")
		}
		return err
	})
}

// strayEnd reports whether an entry of links' other ends belongs to no link.
func strayEnd(r core.Reader, key string) (bool, error) {
	to, rest, _ := strings.Cut(key[len(linkToPrefix):], "/")
	relation, from, _ := strings.Cut(rest, "/")
	_, found, err := r.Get(linkKey(from, relation, to))
	return !found, err
}

// pendings checks what waits for an approval, and its indices.
func (c *checker) pendings() error {
	return c.each(pendingPrefix, func(key string, _ []byte) error {
		p, err := readPending(c.r, key[len(pendingPrefix):])
		if isDamage(err) {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		if err != nil {
			return err
		}
		for _, index := range pendingKeys(p) {
			found, err := c.has(index)
			if err != nil {
				return err
			}
			if !found {
				c.derived(string(index), "the index misses pending %s", p.ID)
			}
		}
		return nil
	})
}

// strayPending reports whether an entry of an index belongs to nothing pending.
func strayPending(r core.Reader, key string) (bool, error) {
	end := strings.LastIndexAny(key, "/\x00")
	p, err := readPending(r, key[end+1:])
	switch {
	case isLost(err):
		return true, nil
	case err != nil:
		return false, err
	}
	for _, index := range pendingKeys(p) {
		if string(index) == key {
			return false, nil
		}
	}
	return true, nil
}
