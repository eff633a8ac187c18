package wasm

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/sdk/abi"
)

// worthKeeping is the fuel from which a reply is cached: reading a cached reply takes about
// as long as a call that uses so much, 0.1 ms. Replies of unmetered modules are always
// cached.
const worthKeeping = slice

// verdictKey is the digest of everything that a pure guest's reply can depend on: the module,
// its limits, and every byte that it is sent or can read.
func (i *instance) verdictKey(r *request) (key [sha256.Size]byte, keeps bool) {
	if !i.pure || i.driver.verdicts == nil || r.emit != nil || r.op < abi.OpEvaluate {
		return key, false
	}
	h := sha256.New()
	var size [8]byte
	write := func(b []byte) {
		h.Write(binary.LittleEndian.AppendUint64(size[:0], uint64(len(b))))
		h.Write(b)
	}
	number := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(size[:0], n)) }
	write([]byte(rewriteVersion))
	write([]byte(i.module.digest))
	write([]byte(i.owner))
	number(i.plugin.Limits.Fuel)
	number(uint64(pagesOf(i.plugin.Limits.MemoryBytes)))
	number(uint64(r.op))
	write([]byte(r.config.Digest))
	write(r.config.JSON)
	for _, item := range r.items {
		write(item)
	}
	return [sha256.Size]byte(h.Sum(nil)), true
}

// verdictCache keeps replies on disk, the oldest going first. It is safe for
// concurrent use, and several hosts may share its folder. A file is
//
//	SHA-256 of the rest · fuel (8 bytes, little-endian) · reply
//
// and is ignored if the digest doesn't match. Nothing is synced: after a crash of the machine
// the digest shows what is damaged.
type verdictCache struct {
	dir   string
	limit int64

	mu    sync.Mutex
	sizes map[string]int64 // of each file, by name
	order []string         // by age, the oldest first
	bytes int64
}

const verdictHeader = sha256.Size + 8

func openVerdicts(dir string, limit int64) (*verdictCache, error) {
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c := &verdictCache{dir: dir, limit: limit, sizes: map[string]int64{}}
	var files []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case len(e.Name()) != hex.EncodedLen(sha256.Size): // a write that was cut short
			_ = os.Remove(filepath.Join(dir, e.Name()))
		default:
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		c.add(f.Name(), f.Size())
	}
	return c, nil
}

// get returns the cached reply of a key, and the fuel that its call used.
func (c *verdictCache) get(key [sha256.Size]byte) (reply []byte, fuel int64, ok bool) {
	name := hex.EncodeToString(key[:])
	c.mu.Lock()
	_, known := c.sizes[name]
	c.mu.Unlock()
	if !known {
		return nil, 0, false
	}
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil || len(data) < verdictHeader {
		return nil, 0, false
	}
	if sum := sha256.Sum256(data[sha256.Size:]); sum != [sha256.Size]byte(data) {
		return nil, 0, false
	}
	return data[verdictHeader:], int64(binary.LittleEndian.Uint64(data[sha256.Size:])), true
}

// put caches a reply. If that fails, the next equal call takes longer, and nothing else
// happens.
func (c *verdictCache) put(key [sha256.Size]byte, reply []byte, fuel int64) {
	size := int64(verdictHeader + len(reply))
	if size > c.limit {
		return
	}
	name := hex.EncodeToString(key[:])
	used := binary.LittleEndian.AppendUint64(nil, uint64(fuel))
	h := sha256.New()
	h.Write(used)
	h.Write(reply)
	if writeWhole(filepath.Join(c.dir, name), h.Sum(nil), used, reply) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(name, size)
}

// add counts a file, and removes the oldest ones over the limit. The lock must
// be held.
func (c *verdictCache) add(name string, size int64) {
	if old, ok := c.sizes[name]; ok {
		c.bytes -= old
	} else {
		c.order = append(c.order, name)
	}
	c.sizes[name] = size
	c.bytes += size
	for c.bytes > c.limit {
		oldest := c.order[0]
		c.order = c.order[1:]
		c.bytes -= c.sizes[oldest]
		delete(c.sizes, oldest)
		_ = os.Remove(filepath.Join(c.dir, oldest))
	}
}
