package search

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

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
	seed     maphash.Seed
	numbers  map[string]uint32
	docs     []doc
	free     []uint32
	words    *text.Index
	vectors  map[string]*vector.Index
	// same are the documents of each content, by its hash.
	same map[uint64][]uint32
	// sources are the documents of each source, by its hash, in the order of their times.
	sources map[uint64][]uint32
	// superseded are the memories that supersede a document, by its id.
	superseded map[string][]string
	damaged    int
}

// doc is what is kept of a [Doc], without words and vector.
type doc struct {
	id     string
	agent  string
	kind   core.MemoryKind
	state  core.MemoryState
	tags   []string
	depth  int
	q      float64
	uses   int64
	window core.Window
	// content is a hash; 0 equals no other.
	content uint64
	// text is a hash, which shows whether the words have to be indexed again.
	text  uint64
	model string
	// at is when it was, in milliseconds, and day the day of that, in the zone in which it was given,
	// both since 1970.
	at  int64
	day int32
	// source is a hash; 0 is none. before and after are the numbers of its neighbours there, or none.
	source        uint64
	before, after uint32
}

// none is the number of no document.
const none = ^uint32(0)

// newContents makes empty contents. All contents of one index share a seed, so that equal
// texts in two namespaces have the same hash.
func newContents(seed maphash.Seed, language string) *contents {
	c := &contents{
		language: language, seed: seed, numbers: map[string]uint32{},
		vectors: map[string]*vector.Index{}, same: map[uint64][]uint32{}, sources: map[uint64][]uint32{}, superseded: map[string][]string{},
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
	hash := maphash.String(c.seed, d.Title+"\x00"+d.Text)
	before := c.docs[n]
	c.leaveSource(n)
	c.docs[n] = doc{
		id: before.id, agent: intern(d.AgentID), kind: core.MemoryKind(intern(string(d.Kind))),
		state: core.MemoryState(intern(string(d.State))), tags: interned(d.Tags),
		depth: d.Depth, q: d.Q, uses: d.Uses, window: core.Window(strings.Clone(string(d.Window))),
		content: c.hashContent(d.Content), text: hash, model: intern(d.Model),
		at: d.At.UnixMilli(), day: dayOf(d.At), before: none, after: none,
	}
	c.joinSource(n, d.Source)
	c.resame(n, before.content)
	c.supersede(before.id, d.SupersededBy)
	if before.model != d.Model || len(d.Vector) == 0 {
		c.removeVector(n, before.model)
	}
	c.putVector(n, d)
	return n, !known || before.text != hash
}

func (c *contents) putVector(n uint32, d *Doc) {
	if d.Model == "" || len(d.Vector) == 0 {
		return
	}
	x := c.vectors[d.Model]
	if x == nil {
		var err error
		if x, err = vector.New(len(d.Vector), c.order); err != nil {
			return
		}
	}
	if err := x.Put(n, d.Vector); err != nil {
		c.removeVector(n, d.Model)
		return
	}
	c.vectors[d.Model] = x
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
	before := c.docs[n]
	c.docs[n] = doc{}
	c.resame(n, before.content)
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
	c.docs = append(c.docs, doc{})
	return uint32(len(c.docs) - 1)
}

// bytes estimates the memory that the contents take. It must not run while they change.
func (c *contents) bytes() int64 {
	const perDoc = 380
	sum := perDoc*int64(len(c.docs)) + c.words.Bytes()
	for _, x := range c.vectors {
		sum += x.Bytes()
	}
	return sum
}

// intern returns one shared copy of a text that many documents have.
func intern(s string) string { return unique.Make(s).Value() }

func interned(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = intern(out[i])
	}
	return out
}
