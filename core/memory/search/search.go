package search

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/memory/top"
	"github.com/reflectory/reflectory/core/memory/vector"
)

// Query is what to search for.
type Query struct {
	Text string
	// Vector is the text's vector, made by Model; nil searches by words only.
	Vector []float32
	Model  string
	// VectorWeight is the weight of the cosine if there are words too, in (0,1); 0 is
	// [DefaultVectorWeight].
	VectorWeight float64
	// VectorsLast is whether vectors serve only where words find nothing.
	VectorsLast bool
	Filter      core.RecallFilter
	// Subject is who asks, and Own whether only its own turns count, as far as it has some.
	Subject string
	Own     bool
	// Among are the ids of which the found ones are; nil is all.
	Among map[string]bool
	// Supersedes reports whether a memory that has a link to what it supersedes takes its place:
	// one that can be recalled, or was purged. It is asked about those that aren't in the same
	// index; nil means that none does.
	Supersedes func(id string) (bool, error)
	// Known reports whether a memory was there at Filter.AsOf. It must be set if that is.
	Known func(id string) (bool, error)
	// Now is the moment from which the text's dates are seen; the zero value leaves relative ones out.
	Now time.Time
	// Nearest is k1, how many candidates vectors and words give each. Limit is k2, how many are
	// returned; up to Most, near ones that were used before aren't cut off.
	Nearest, Limit, Most int
	// Spare is whether one more is returned, which is marked.
	Spare bool
	// MinP is the least P of what is relevant; nil is what the settings of each namespace say: for prompts,
	// if ForPrompt is set.
	MinP      *float64
	ForPrompt bool
	// Prepared is the filter's scope; nil prepares it when the search begins.
	Prepared *Prepared
}

// Found is a document that was found, with the reasons for its rank.
type Found struct {
	Namespace string
	ID        string
	Score     float64
	Why       core.Reasons
	// P is how probably it is relevant, by its words and by how it did lately: calibrated, see make calibrate.
	P float64
	// Relevant is whether P is at least what the query or the namespace demands; or a model's vectors were
	// compared, which may know better.
	Relevant bool
	// SameAs are the documents with the same content that it represents.
	SameAs []string
	// Spare is whether it is the one more that the query asks for.
	Spare bool
	// Question is the document before it of its source, if that is a question.
	Question string

	candidate *candidate
	judgement judgement
}

// Search returns the documents that match a query best, the best first, equal ones by id.
// It loads namespaces that aren't loaded yet.
func (x *Index) Search(ctx context.Context, q *Query) ([]Found, error) {
	spaces, positions, loaded, err := x.scope(ctx, q.Filter.Namespace, q.Filter.Subtree, q.Prepared)
	if err != nil {
		return nil, err
	}
	s := scan{ctx: ctx, keeper: x.options.Keeper, query: q, spaces: spaces, contents: loaded}
	// Locked in the order of the namespaces, so that no two searches wait for each other.
	for _, c := range loaded {
		c.mu.RLock()
		defer c.mu.RUnlock()
	}
	defer s.free()
	candidates, err := s.candidates()
	if err != nil {
		return nil, err
	}
	found := x.rank(candidates, q, positions)
	for i := range found {
		c := found[i].candidate
		found[i].SameAs, found[i].Question = s.sameAs(c), s.question(c)
	}
	s.judge(found, candidates, positions)
	return found, s.failed
}

// scan is one search in locked contents.
type scan struct {
	ctx      context.Context
	keeper   Keeper
	query    *Query
	spaces   []*space
	contents []*contents
	words    *text.Query
	// scores are the scores by words of the documents of each contents, and most is the score of a document
	// that has all of the query's words, or of the best one; 0 if none has any.
	scores []*text.Scores
	most   float64
	// groups are the documents of contents that come several times, by their hash.
	groups map[uint64][]place
	// failed is the error of looking up what supersedes a document, or whether it was known.
	failed error
}

// place is a document in one of several spaces.
type place struct {
	space  int
	number uint32
}

// candidate is a document that may be returned.
type candidate struct {
	space  int
	number uint32
	doc    *doc
	name   string // of the namespace
	// nearRank and wordRank are the ranks by vector and by words, from 1; 0 means none.
	nearRank, wordRank int
	// cosine is nil if there is nothing to compare.
	cosine *float64
	// share is how much of the query's words the document has, in [0,1].
	share float64
	// fused combines both; see the package comment.
	fused float64
}

// candidates runs phase one.
func (s *scan) candidates() ([]*candidate, error) {
	s.score()
	worded := s.byWords()
	if len(worded) > 0 {
		s.most = max(s.words.Whole(), worded[0].score)
	}
	near, err := s.nearest()
	if err != nil {
		return nil, err
	}
	list := fuse(near, worded, s.query.Nearest)
	for _, c := range list {
		s.compare(c)
	}
	return list, nil
}

const (
	// expandedFrom is how many documents there are at least where the query is expanded by the words of the
	// best: they show which words go together.
	expandedFrom = 200
	examples     = 5
	// datedBytes is in how many bytes of a query dates are looked for, from its beginning: that takes half a
	// microsecond a byte.
	datedBytes = 4096
	// expandedDocs is how many documents of each contents are looked at for those words, the best ones.
	expandedDocs = 100
)

// score scores all documents by words.
func (s *scan) score() {
	indices, documents := make([]*text.Index, len(s.contents)), 0
	for i, c := range s.contents {
		indices[i] = c.words
		documents += len(c.numbers)
	}
	s.words = text.NewQuery(s.query.Text, indices...)
	periods := dream.Periods(s.query.Text[:min(len(s.query.Text), datedBytes)], s.query.Now)
	s.scores = make([]*text.Scores, len(s.contents))
	for i, c := range s.contents {
		s.scores[i] = c.words.Scores(s.words, s.wanted(i, periods))
		c.adjust(s.scores[i], s.scores[i].Titled, s.words, periods)
	}
	if documents < expandedFrom {
		return
	}
	found, sum := s.bestWords(examples), 0.0
	for _, h := range found {
		sum += h.score
	}
	if sum == 0 {
		return
	}
	typical := make([]text.Example, len(found))
	for i, h := range found {
		typical[i] = text.Example{In: indices[h.space], Doc: h.number, Share: h.score / sum}
	}
	best := make([][]uint32, len(s.contents))
	for i, c := range s.contents {
		for _, h := range c.words.Best(s.scores[i], expandedDocs, nil) {
			best[i] = append(best[i], h.Doc)
		}
	}
	for i, more := range s.words.Expand(typical).Scores(best) {
		s.contents[i].adjust(more, s.scores[i].Titled, s.words, periods)
		s.scores[i].AddAll(more)
	}
}

// wanted is which scores a search needs; nil for all: where neighbours lend each other some, a model's vectors
// may choose any document, or each look at one reads the store.
func (s *scan) wanted(space int, periods []dream.Period) *text.Wanted {
	c, q := s.contents[space], s.query
	if len(c.sources) > 0 || len(q.Vector) > 0 && !q.VectorsLast || !q.Filter.AsOf.IsZero() {
		return nil
	}
	w := &text.Wanted{Best: expandedDocs, Kept: q.Nearest, Keep: func(n uint32) bool { return s.wants(space, n) }, Factor: titleFactor}
	if s.words.AsksWhen() {
		w.Factor *= datedFactor
	}
	if len(periods) > 0 {
		w.Factor *= periodFactor
	}
	return w
}

// free gives the memory of the scores back.
func (s *scan) free() {
	for _, scores := range s.scores {
		scores.Free()
	}
}

// nearest returns the candidates by vector, the nearest first.
func (s *scan) nearest() ([]hit, error) {
	if !s.compares() {
		return nil, nil
	}
	var all []hit
	for i, c := range s.contents {
		keep := func(n uint32) bool { return s.wants(i, n) }
		x := c.vectors[s.query.Model]
		if x == nil {
			hits, err := s.alike(i, keep)
			if err != nil {
				return nil, err
			}
			all = append(all, hits...)
			continue
		}
		hits, err := x.Top(s.query.Vector, s.query.Nearest, keep)
		if err != nil {
			return nil, err
		}
		all = append(all, s.hits(i, hits)...)
	}
	return best(all, s.query.Nearest), nil
}

const (
	// examined is how many documents contents have at most of which all vectors are read, in 5 ms.
	examined = 1000
	// alikeFactor is of how many documents for each candidate the vectors are read otherwise.
	alikeFactor = 4
)

// alike returns the candidates by vector of contents that don't hold vectors of the query's model: of
// all documents if there are few, and otherwise of those with words that look like the query's.
func (s *scan) alike(space int, keep func(n uint32) bool) ([]hit, error) {
	c := s.contents[space]
	if s.keeper == nil || c.holds == nil || c.holds(s.query.Model) {
		return nil, nil // there are none
	}
	var found []top.Hit
	if len(c.numbers) > examined {
		found = c.words.Alike(s.query.Text, alikeFactor*s.query.Nearest, keep)
	} else {
		for _, n := range c.numbers {
			if keep(n) {
				found = append(found, top.Hit{Doc: n})
			}
		}
	}
	list := s.hits(space, found)
	ids := make([]string, len(list))
	for i, h := range list {
		ids[i] = h.doc.id
	}
	err := s.keeper.Vectors(s.ctx, ids, func(i int, model string, v []float32) {
		if model == s.query.Model {
			cosine := max(0, vector.Cosine(v, s.query.Vector))
			list[i].cosine, list[i].score = &cosine, cosine
		}
	})
	list = slices.DeleteFunc(list, func(h hit) bool { return h.cosine == nil })
	return best(list, s.query.Nearest), err
}

// compares reports whether vectors are compared.
func (s *scan) compares() bool {
	return len(s.query.Vector) > 0 && (s.most == 0 || !s.query.VectorsLast)
}

// byWords returns the candidates by words, the best first.
func (s *scan) byWords() []hit { return s.bestWords(s.query.Nearest) }

func (s *scan) bestWords(k int) []hit {
	var all []hit
	for i, c := range s.contents {
		all = append(all, s.hits(i, c.words.Best(s.scores[i], k, func(n uint32) bool { return s.wants(i, n) }))...)
	}
	return best(all, k)
}

// compare computes both similarities of a candidate to the query, however it was found.
func (s *scan) compare(c *candidate) {
	in := s.contents[c.space]
	if x := in.vectors[s.query.Model]; x != nil && s.compares() {
		if cosine, has := x.Similarity(c.number, s.query.Vector); has {
			cosine = max(0, cosine)
			c.cosine = &cosine
		}
	}
	if s.most > 0 {
		c.share = core.Rounded(s.scores[c.space].Of[c.number] / s.most)
	}
	switch {
	case c.cosine == nil:
		c.fused = c.share
	case s.most == 0:
		c.fused = *c.cosine
	default:
		w := cmp.Or(s.query.VectorWeight, DefaultVectorWeight)
		c.fused = core.Rounded(float64(w**c.cosine) + float64((1-w)*c.share))
	}
}

// byID is the order of equal ones.
func byID(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.doc.id, b.doc.id), cmp.Compare(a.name, b.name))
}
