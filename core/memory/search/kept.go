package search

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// Keeper keeps what an index holds of namespaces from one program to the next. What it keeps may be lost
// at any time.
type Keeper interface {
	// Kept returns what is kept of a namespace as of one moment, the earliest parts first; nil if
	// nothing is.
	Kept(ctx context.Context, namespace string) (*Kept, error)
	// Keep calls take, which returns the parts of a namespace as of a moment after the call, and keeps
	// them instead of those before. Parts whose names kept knows needn't be written again. If a memory
	// is purged meanwhile, whose words might be in the parts, some of them aren't kept. What is kept
	// with other settings is dropped.
	Keep(ctx context.Context, namespace, settings string, take func(kept func(name string) bool) ([]Part, error)) error
	// Missing is [Source.Load] of the documents whose ids known doesn't know.
	Missing(ctx context.Context, namespace string, known func(id string) bool, fn func(*Doc) error) error
	// Vectors calls fn with the vector and the model of each of ids that has one. The vector is valid
	// only during fn.
	Vectors(ctx context.Context, ids []string, fn func(i int, model string, vector []float32)) error
}

// Kept is what is kept of a namespace.
type Kept struct {
	// Settings are what it depends on: it is of no use with others.
	Settings string
	// Whole is whether all documents are in the parts that there were at their moments.
	Whole bool
	Parts []Part
}

// Part is some documents of a namespace, with their words.
type Part struct {
	// Name is the digest of Words.
	Name string
	// Seq is a number of an entry of the namespace's stream. Docs has what every entry up to it changed.
	Seq uint64
	// First and Last are the first and the last of the ids, in the order of texts.
	First, Last string
	// Words are as package text lays them out, and Docs as encodeDocs does.
	Words, Docs string
}

// docsVersion names the layout of encodeDocs and what it depends on, such as the hashes.
const docsVersion = "1"

// settings are what kept contents depend on.
func settings(language string) string { return text.Version + "." + docsVersion + " " + language }

// parts are the contents as they can be kept, at an entry of the stream.
func (c *contents) parts(seq uint64, kept func(name string) bool) []Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	words := c.words.Parts(kept)
	list := make([]Part, len(words))
	for i, p := range words {
		list[i] = Part{Name: p.Name, Seq: seq, Words: p.Words, Docs: c.encodeDocs(p.Docs)}
		for _, n := range p.Docs {
			if n == text.Gone {
				continue
			}
			if id := c.docs[n].id; list[i].First == "" {
				list[i].First, list[i].Last = id, id
			} else {
				list[i].First, list[i].Last = min(list[i].First, id), max(list[i].Last, id)
			}
		}
	}
	return list
}

// encodeDocs lays out some documents. Numbers are varints unless a size is given, and texts follow their
// lengths:
//
//	how many traits there are, and for each: agent, kind, state, model, depth, how many tags, and the tags
//	how many documents there are, and for each: the length of its id, 0 for one that was removed
//	the ids
//	for each that wasn't removed:
//	    its traits, by their place
//	    flags: 1 for a source, 2 for superseders
//	    q (8), the hash of the content (8), the hash of the texts (8), and of the source (8) if it has one
//	    at, and by how many days day is after the day of at
//	    uses, window
//	    how many superseders it has, and their ids, if it has any
func (c *contents) encodeDocs(docs []uint32) string {
	var head, rows docWriter
	places := map[*traits]uint64{}
	var ids []byte
	for _, n := range docs {
		if n == text.Gone {
			continue
		}
		d := &c.docs[n]
		place, known := places[d.traits]
		if !known {
			place = uint64(len(places))
			places[d.traits] = place
			head.traits(d.traits)
		}
		ids = append(ids, d.id...)
		rows.row(d, place, c.superseded[d.id])
	}
	all := docWriter{binary.AppendUvarint(nil, uint64(len(places)))}
	all.b = append(all.b, head.b...)
	all.number(uint64(len(docs)))
	for _, n := range docs {
		length := 0
		if n != text.Gone {
			length = len(c.docs[n].id)
		}
		all.number(uint64(length)) //nolint:gosec // a length
	}
	return string(append(append(all.b, ids...), rows.b...))
}

const (
	hasSource = 1 << iota
	hasSuperseders
)

type docWriter struct{ b []byte }

func (w *docWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *docWriter) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *docWriter) fixed(n uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, n) }

func (w *docWriter) traits(t *traits) {
	for _, s := range []string{t.agent, string(t.kind), string(t.state), t.model} {
		w.text(s)
	}
	w.number(uint64(t.depth)) //nolint:gosec // not below 0
	w.texts(t.tags)
}

func (w *docWriter) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

func (w *docWriter) row(d *doc, traits uint64, superseders []string) {
	flags := byte(0)
	if d.source != 0 {
		flags |= hasSource
	}
	if len(superseders) > 0 {
		flags |= hasSuperseders
	}
	w.number(traits)
	w.b = append(w.b, flags)
	w.fixed(math.Float64bits(d.q))
	w.fixed(d.content)
	w.fixed(d.text)
	if d.source != 0 {
		w.fixed(d.source)
	}
	w.b = binary.AppendVarint(w.b, d.at)
	w.b = binary.AppendVarint(w.b, int64(d.day)-int64(dayOf(time.UnixMilli(d.at).UTC())))
	w.number(uint64(d.uses)) //nolint:gosec // not below 0
	w.text(string(d.window))
	if len(superseders) > 0 {
		w.texts(superseders)
	}
}

// docReader reads what a docWriter wrote. Once something is wrong, it reads nothing.
type docReader struct {
	s     string
	wrong bool
}

func (r *docReader) take(n uint64) (s string) {
	if n > uint64(len(r.s)) {
		r.s, r.wrong = "", true
		return ""
	}
	s, r.s = r.s[:n], r.s[n:]
	return s
}

func (r *docReader) number() (n uint64) {
	for i := range min(len(r.s), binary.MaxVarintLen64) {
		b := r.s[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
	}
	r.take(math.MaxUint64)
	return 0
}

func (r *docReader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1) //nolint:gosec // as binary.Varint does
}

// count is a number of things that take at least a byte each.
func (r *docReader) count() int {
	n := r.number()
	if n > uint64(len(r.s)) {
		r.take(math.MaxUint64)
		return 0
	}
	return int(n) //nolint:gosec // at most a length
}

func (r *docReader) text() string { return r.take(r.number()) }

func (r *docReader) texts() (list []string) {
	for range r.count() {
		list = append(list, strings.Clone(r.text()))
	}
	return list
}

func (r *docReader) fixed() uint64 {
	s := r.take(8)
	if r.wrong {
		return 0
	}
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

var errKept = errors.New("what is kept of the index can't be read")

// attach adds the documents of a part. If an earlier part may have had some of them, that is dropped.
func (c *contents) attach(p *Part, again bool) error {
	r := docReader{s: p.Docs}
	shared := make([]*traits, 0, r.count())
	for range cap(shared) {
		t := traits{agent: r.text(), kind: core.MemoryKind(r.text()), state: core.MemoryState(r.text()), model: r.text()}
		t.depth = int(r.number()) //nolint:gosec // as it was written
		t.tags = r.texts()
		shared = append(shared, c.common(t))
	}
	lengths := make([]uint64, r.count())
	all := uint64(0)
	for i := range lengths {
		lengths[i] = r.number()
		if all += lengths[i]; lengths[i] > uint64(len(r.s)) {
			return errKept
		}
	}
	// A copy, so that the ids don't keep the rest alive.
	ids := docReader{s: strings.Clone(r.take(all))}
	docs := make([]uint32, len(lengths))
	for i, length := range lengths {
		if docs[i] = text.Gone; length == 0 {
			continue
		}
		place, d := r.number(), doc{id: ids.take(length), twin: none}
		if place >= uint64(len(shared)) || r.wrong {
			return errKept
		}
		d.traits = shared[place]
		superseders := r.row(&d)
		if r.wrong {
			return errKept
		}
		if again {
			c.remove(d.id)
		}
		docs[i] = c.number()
		c.take(docs[i], &d, superseders)
	}
	if r.wrong || r.s != "" {
		return errKept
	}
	return c.words.Attach(p.Words, docs)
}

// row reads what a docWriter's row wrote, but for the traits, and returns the superseders.
func (r *docReader) row(d *doc) (superseders []string) {
	flags := r.take(1)
	if r.wrong {
		return nil
	}
	d.q, d.content, d.text = math.Float64frombits(r.fixed()), r.fixed(), r.fixed()
	if flags[0]&hasSource != 0 {
		d.source = r.fixed()
	}
	d.at = r.signed()
	d.day = int32(r.signed()) + dayOf(time.UnixMilli(d.at).UTC())              //nolint:gosec // as it was written
	d.uses, d.window = int64(r.number()), core.Window(strings.Clone(r.text())) //nolint:gosec // as it was written
	if flags[0]&hasSuperseders != 0 {
		superseders = r.texts()
	}
	return superseders
}

// take makes a document one of the contents, but for its words and its vector.
func (c *contents) take(n uint32, d *doc, superseders []string) {
	c.docs[n] = *d
	c.numbers[d.id] = n
	c.joinSource(n)
	c.joinSame(n)
	c.supersede(d.id, superseders)
}

// restore makes contents of what is kept of a namespace, with everything that it lacks but for the
// changes since an entry of the stream. They are nil if nothing is kept that is of use.
func (x *Index) restore(ctx context.Context, namespace, language string) (c *contents, seq uint64, whole bool) {
	k, err := x.options.Keeper.Kept(ctx, namespace)
	if err != nil || k == nil || k.Settings != settings(language) || len(k.Parts) == 0 {
		return nil, 0, false
	}
	size := 0
	for i := range k.Parts {
		size += text.PartDocs(k.Parts[i].Words)
	}
	c, seq = newContents(language, x.options.Holds, size), k.Parts[0].Seq
	again := !k.Whole || slices.ContainsFunc(k.Parts, func(p Part) bool { return p.Seq != seq })
	for i := range k.Parts {
		if c.attach(&k.Parts[i], again) != nil {
			return nil, 0, false
		}
		seq = min(seq, k.Parts[i].Seq)
		k.Parts[i] = Part{}
	}
	if !k.Whole {
		known := func(id string) bool { _, here := c.numbers[id]; return here }
		err = x.options.Keeper.Missing(ctx, namespace, known, func(d *Doc) error {
			if d == nil {
				c.damaged++
			} else {
				c.put(d)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, 0, false
		}
		c.words.Settle()
	}
	if err := x.restoreVectors(ctx, c); err != nil {
		return nil, 0, false
	}
	return c, seq, k.Whole
}

// restoreVectors reads the vectors that contents hold.
func (x *Index) restoreVectors(ctx context.Context, c *contents) error {
	held := func(t *traits) bool { return t.model != "" && (c.holds == nil || c.holds(t.model)) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(c.traits)), held) {
		return nil
	}
	var ids []string
	for id, n := range c.numbers {
		d := &c.docs[n]
		if x := c.vectors[d.model]; held(d.traits) && (x == nil || !x.Has(n)) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return x.options.Keeper.Vectors(ctx, ids, func(i int, model string, v []float32) {
		if n := c.numbers[ids[i]]; c.docs[n].model == model {
			c.putVector(n, model, v)
		}
	})
}
