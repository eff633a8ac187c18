package tokenizer

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/dlclark/regexp2"
)

// vocabularies are the lists of tokens, by rank, each after its length: 1.5 MB. As tables
// of Go they make the program 7 MB larger.
//
//go:embed cl100k_base.gz o200k_base.gz
var vocabularies embed.FS

// patterns split a text into the pieces within which bytes are merged, as OpenAI publishes them.
var patterns = map[string]string{
	CL100K: `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
	O200K: `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
}

// read makes the tokenizer of a name from what the program holds.
func read(name string) *Tokenizer {
	packed, err := vocabularies.ReadFile(name + ".gz")
	must(err)
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	must(err)
	raw, err := io.ReadAll(unpacked)
	must(err)
	t := &Tokenizer{split: regexp2.MustCompile(patterns[name], regexp2.None), ranks: make(map[string]uint32, 200_000)}
	for all := string(raw); all != ""; { // tokens are parts of one string
		n, digits := binary.Uvarint(raw[len(raw)-len(all):])
		end := digits + int(n)
		t.ranks[all[digits:end]] = uint32(len(t.ranks))
		all = all[end:]
	}
	return t
}

// must is for what only fails if the program was built wrong, which its tests would show.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// tokens are the lengths of a text's tokens, in bytes.
func (t *Tokenizer) tokens(text string) (lengths []int) {
	match, err := t.split.FindStringMatch(text)
	for ; match != nil && err == nil; match, err = t.split.FindNextMatch(match) {
		piece := match.String()
		if _, whole := t.ranks[piece]; whole {
			lengths = append(lengths, len(piece))
			continue
		}
		ends := t.merge(piece)
		for i := range len(ends) - 1 {
			lengths = append(lengths, ends[i+1]-ends[i])
		}
	}
	return lengths // no limit of time is set, the only reason for an error
}

// merge begins with the bytes of a piece, and joins the two neighbours whose whole has the lowest
// rank, until none is a token. It returns where the tokens begin, and the piece's length.
func (t *Tokenizer) merge(piece string) []int {
	starts := make([]int, len(piece)+1)
	for i := range starts {
		starts[i] = i
	}
	rank := func(i int) uint32 { // of the token that i and its neighbour would be
		if i+2 < len(starts) {
			if r, ok := t.ranks[piece[starts[i]:starts[i+2]]]; ok {
				return r
			}
		}
		return math.MaxUint32
	}
	ranks := make([]uint32, len(starts))
	for i := range ranks {
		ranks[i] = rank(i)
	}
	for {
		i := slices.Index(ranks, slices.Min(ranks))
		if ranks[i] == math.MaxUint32 {
			return starts
		}
		starts, ranks = slices.Delete(starts, i+1, i+2), slices.Delete(ranks, i+1, i+2)
		ranks[i] = rank(i)
		if i > 0 {
			ranks[i-1] = rank(i - 1)
		}
	}
}
