package embed

import (
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// Model is the name of the vectors. Any change to how vectors are computed needs a new
// name.
const Model = "hashed-ngrams-1"

// Dims is how many dimensions the vectors have.
const Dims = 384

// The weights of features, fitted as the package comment says. Nearby values give the
// same results, within the noise.
const (
	wordWeight  = 1.0
	pieceWeight = 2.0 // of all pieces of a word together
	// minPiece and maxPiece are the lengths of pieces, in characters.
	minPiece, maxPiece = 3, 4
	// usualWordBytes is longer than nearly all words.
	usualWordBytes = 32
	// stopWeight is for words that say little, such as "the". Other words are weighted by
	// length, since rare words are longer: 1 at usualLength, and lengthWeight more or
	// less for each character, up to longest.
	stopWeight                         = 0.1
	lengthWeight, usualLength, longest = 0.1, 5, 10
	// ownWeight is for the text as a whole. Only an identical text shares this part, so
	// that two short texts with one common word aren't too similar.
	ownWeight = 3.0
	// ownPlaces is how many dimensions it uses, for an even spread.
	ownPlaces = 64
)

// Kinds of features, which keep the same letters in different roles apart.
const (
	wordFeature  = 'w'
	pieceFeature = 'p'
	ownFeature   = 't'
)

// Hashed is the local embedder. The zero value is ready, and safe for concurrent
// use.
type Hashed struct{}

var _ core.EmbedderWithWeight = Hashed{}

// Model implements [core.Embedder].
func (Hashed) Model() string { return Model }

// Weight implements [core.EmbedderWithWeight]: the pieces of words add little to the
// words themselves. Fitted on LoCoMo, see core/memory/search's quality test.
func (Hashed) Weight() float64 { return 0.2 }

// Embed implements [core.Embedder]. It fails only when the context ends.
func (Hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = embed(text)
	}
	return vectors, nil
}

func embed(s string) []float32 {
	words := slices.AppendSeq(make([]string, 0, 1+len(s)/usualLength), text.Words(s))
	slices.Sort(words)
	var v sums
	for len(words) > 0 {
		word, times := words[0], 1
		for times < len(words) && words[times] == word {
			times++
		}
		// Repetitions of a word count less and less.
		v.addWord(word, weight(word)*(1+math.Log(float64(times))))
		words = words[times:]
	}
	if v != (sums{}) {
		v.addOwn(s)
	}
	return v.unit()
}

// weight is how much a word says.
func weight(word string) float64 {
	if isStop(word) {
		return stopWeight
	}
	length := min(utf8.RuneCountInString(word), longest)
	return 1 + lengthWeight*float64(length-usualLength)
}

// sums are a vector before it is scaled.
type sums [Dims]float64

// addWord adds a word and its pieces: all pieces of the word, with its ends marked, that
// are shorter than the whole.
func (v *sums) addWord(word string, weight float64) {
	v.add(hash(wordFeature, word), wordWeight*weight)
	var buffer [2 * usualWordBytes]byte
	marked := append(append(append(buffer[:0], '^'), word...), '$')
	var places [2 * usualWordBytes]int
	starts := places[:0]
	for i := 0; i < len(marked); {
		starts = append(starts, i)
		_, size := utf8.DecodeRune(marked[i:])
		i += size
	}
	starts = append(starts, len(marked))
	length, count := len(starts)-1, 0
	for n := minPiece; n <= maxPiece && n < length; n++ {
		count += length - n + 1
	}
	each := pieceWeight * weight / math.Sqrt(float64(count))
	for n := minPiece; n <= maxPiece && n < length; n++ {
		for i := 0; i+n <= length; i++ {
			v.add(hash(pieceFeature, marked[starts[i]:starts[i+n]]), each)
		}
	}
}

// addOwn adds the text itself.
func (v *sums) addOwn(text string) {
	h := hash(ownFeature, text)
	for place := range uint64(ownPlaces) {
		v.add(mix(h+place), ownWeight/math.Sqrt(ownPlaces))
	}
}

// add adds a feature at the dimension and with the sign of its hash.
func (v *sums) add(hash uint64, weight float64) {
	if hash&1 == 0 {
		weight = -weight
	}
	v[hash>>1%Dims] += weight
}

// unit scales the vector to length 1. A zero vector stays zero.
func (v *sums) unit() []float32 {
	sum := 0.0
	for _, c := range v {
		sum += c * c
	}
	out := make([]float32, Dims)
	if sum == 0 {
		return out
	}
	scale := 1 / math.Sqrt(sum)
	for i, c := range v {
		out[i] = float32(c * scale)
	}
	return out
}

// hash is FNV-1a, mixed: the same everywhere and always.
func hash[text string | []byte](kind byte, s text) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(kind)) * prime
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return mix(h)
}

// mix spreads a number over all bits (the end of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
