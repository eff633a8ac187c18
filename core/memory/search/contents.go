package search

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/memory/vector"
)

// Doc is a searchable memory or knowledge entry.
type Doc struct {
	ID      string
	AgentID string
	Kind    core.MemoryKind
	State   core.MemoryState
	Tags    []string
	Depth   int
	Q       float64
	// Uses counts the turns that used it.
	Uses int64
	// Window is what happened to it lately.
	Window core.Window
	// Content identifies equal documents: a search returns one document of each content.
	// "" equals no other.
	Content string
	// SupersededBy are the memories that supersede it, whatever their state.
	SupersededBy []string
	// Title and Text are the texts whose words are searched.
	Title, Text string
	// At is when the described event happened, or else when it was written.
	At time.Time
	// Source names where it comes from, such as a conversation; "" is none. What one source has next
	// to it, by At, is found with it.
	Source string
	// Model names the model of its vector; "" if it has none.
	Model  string
	Vector []float32
}

// contents are the documents of one namespace, numbered. Only apply changes them; a
// search holds mu for reading.
type contents struct {
	mu sync.RWMutex
	// language is the name of the language of the words.
	language string
	// holds reports whether vectors of a model are held; nil holds all.
	holds   func(model string) bool
	numbers map[string]uint32
	// traits are what documents have in common, by their [traits.key].
	traits map[string]*traits
	docs   []doc
	// near are the neighbours of each document: all that is looked at of most.
	near    []neighbours
	free    []uint32
	words   *text.Index
	vectors map[string]*vector.Index
	// same are the last documents of each content, by its hash; a document's twin is the next one.
	same map[uint64]uint32
	// sources are the documents of each source, by its hash, in the order of their times.
	sources map[uint64][]uint32
	// superseded are the memories that supersede a document, by its id.
	superseded map[string][]string
	damaged    int
}

// doc is what is held of a [Doc], without words and vector.
type doc struct {
	*traits
	id     string
	q      float64
	uses   int64
	window core.Window
	// content is a hash; 0 equals no other. twin is another document with it, or none.
	content uint64
	// text is a hash, which shows whether the words have to be indexed again.
	text uint64
	// at is when it was, in milliseconds, and day the day of that, in the zone in which it was given,
	// both since 1970.
	at  int64
	day int32
	// source is a hash; 0 is none.
	source uint64
	twin   uint32
}

// neighbours are the numbers of the documents before and after one of the same source, or none.
type neighbours struct{ before, after uint32 }

var alone = neighbours{none, none}

// traits are what many documents have in common, which is held once.
type traits struct {
	agent string
	kind  core.MemoryKind
	state core.MemoryState
	tags  []string
	depth int
	model string
}

// key tells traits apart.
func (t *traits) key(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.depth)) //nolint:gosec // not below 0
	for _, s := range []string{t.agent, string(t.kind), string(t.state), t.model} {
		b = append(append(b, s...), 0)
	}
	for _, s := range t.tags {
		b = append(append(b, s...), 0)
	}
	return b
}

// common are equal traits that documents share.
func (c *contents) common(t traits) *traits {
	var buffer [256]byte
	key := t.key(buffer[:0])
	if known := c.traits[string(key)]; known != nil {
		return known
	}
	// The texts may share the memory of a whole record, which shouldn't be kept alive.
	own := &traits{
		agent: strings.Clone(t.agent), kind: core.MemoryKind(strings.Clone(string(t.kind))), state: core.MemoryState(strings.Clone(string(t.state))),
		tags: make([]string, len(t.tags)), depth: t.depth, model: strings.Clone(t.model),
	}
	for i, tag := range t.tags {
		own.tags[i] = strings.Clone(tag)
	}
	c.traits[string(key)] = own
	return own
}

// noTraits are the traits of a number without a document.
var noTraits = &traits{}

// hashed is a hash that is the same in every program; 0 for "".
func hashed(parts ...string) uint64 {
	text := parts[0]
	if len(parts) > 1 {
		text = strings.Join(parts, "\x00")
	}
	if text == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(text))
	return max(1, binary.LittleEndian.Uint64(sum[:]))
}

// none is the number of no document.
const none = ^uint32(0)

// newContents makes empty contents, for about so many documents.
func newContents(language string, holds func(model string) bool, size int) *contents {
	c := &contents{
		language: language, holds: holds, numbers: make(map[string]uint32, size), traits: map[string]*traits{}, docs: make([]doc, 0, size), near: make([]neighbours, 0, size),
		vectors: map[string]*vector.Index{}, same: make(map[uint64]uint32, size), sources: map[uint64][]uint32{}, superseded: map[string][]string{},
	}
	c.words = text.New(text.LanguageOf(language), c.order)
	return c
}

// order is the order of ids.
func (c *contents) order(a, b uint32) int { return cmp.Compare(c.docs[a].id, c.docs[b].id) }

// apply sets a document's new state: nil if it can't be found any more.
func (c *contents) apply(id string, d *Doc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d == nil {
		c.remove(id)
	} else {
		c.put(d)
	}
}

// documents is the number of documents.
func (c *contents) documents() int {
	n, _ := c.count()
	return n
}

// count is the number of documents, and how many more couldn't be read.
func (c *contents) count() (documents, damaged int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.numbers), c.damaged
}

// put adds or replaces a document. If its vector can't be held, it is found by its words.
func (c *contents) put(d *Doc) {
	if n, reworded := c.place(d); reworded {
		c.words.Put(n, d.Title, d.Text)
	}
}

// settle makes what was put in findable.
func (c *contents) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words.Settle()
}

// place does what put does, except for the words, and reports whether these have to be
// indexed.
func (c *contents) place(d *Doc) (n uint32, reworded bool) {
	n, known := c.numbers[d.ID]
	if !known {
		n = c.number()
		// The id may share the memory of a whole record, which shouldn't be kept alive.
		c.docs[n].id = strings.Clone(d.ID)
		c.numbers[c.docs[n].id] = n
	}
	hash := hashed(d.Title, d.Text)
	before := c.docs[n]
	c.leaveSource(n)
	c.leaveSame(n)
	c.docs[n] = doc{
		traits: c.common(traits{d.AgentID, d.Kind, d.State, d.Tags, d.Depth, d.Model}), id: before.id, q: d.Q, uses: d.Uses,
		window: core.Window(strings.Clone(string(d.Window))), content: hashed(d.Content), text: hash,
		at: d.At.UnixMilli(), day: dayOf(d.At), source: hashed(d.Source), twin: none,
	}
	c.joinSource(n)
	c.joinSame(n)
	c.supersede(before.id, d.SupersededBy)
	if before.model != d.Model || len(d.Vector) == 0 {
		c.removeVector(n, before.model)
	}
	c.putVector(n, d.Model, d.Vector)
	return n, !known || before.text != hash
}

func (c *contents) putVector(n uint32, model string, v []float32) {
	if model == "" || len(v) == 0 || c.holds != nil && !c.holds(model) {
		return
	}
	x := c.vectors[model]
	if x == nil {
		var err error
		if x, err = vector.New(len(v), c.order); err != nil {
			return
		}
	}
	if err := x.Put(n, v); err != nil {
		c.removeVector(n, model)
		return
	}
	c.vectors[model] = x
}

func (c *contents) removeVector(n uint32, model string) {
	if x := c.vectors[model]; x != nil {
		if x.Remove(n); x.Len() == 0 {
			delete(c.vectors, model)
		}
	}
}

// remove removes a document, if it is here.
func (c *contents) remove(id string) {
	n, known := c.numbers[id]
	if !known {
		return
	}
	c.words.Remove(n)
	c.removeVector(n, c.docs[n].model)
	c.leaveSource(n)
	c.leaveSame(n)
	c.docs[n] = doc{traits: noTraits}
	delete(c.superseded, id)
	delete(c.numbers, id)
	c.free = append(c.free, n)
}

func (c *contents) number() uint32 {
	if last := len(c.free) - 1; last >= 0 {
		n := c.free[last]
		c.free = c.free[:last]
		return n
	}
	c.docs, c.near = append(c.docs, doc{traits: noTraits}), append(c.near, alone)
	return uint32(len(c.docs) - 1)
}

// bytes estimates the memory that the contents take. It must not run while they change.
func (c *contents) bytes() int64 {
	const perDoc, perTraits = 220, 300
	sum := perDoc*int64(len(c.docs)) + perTraits*int64(len(c.traits)) + c.words.Bytes()
	for _, x := range c.vectors {
		sum += x.Bytes()
	}
	return sum
}
