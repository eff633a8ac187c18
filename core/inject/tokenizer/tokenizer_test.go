package tokenizer

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// TestCount_IsThatOfOpenAI: the numbers come from OpenAI's guide "How to count tokens with tiktoken",
// and of lines that hold only spaces, which some counters get wrong.
func TestCount_IsThatOfOpenAI(t *testing.T) {
	for text, want := range map[string][2]int{
		"":                             {0, 0},
		"tiktoken is great!":           {6, 6},
		"antidisestablishmentarianism": {6, 6},
		"2 + 2 = 4":                    {7, 7},
		"お誕生日おめでとう":                    {9, 8},
		"a\n \n \nb":                   {4, 4},
	} {
		if got := [2]int{Named(CL100K).Count(text), Named(O200K).Count(text)}; got != want {
			t.Errorf("%q has %v tokens, not %v", text, got, want)
		}
	}
	if Named("chars4") != nil {
		t.Error("an estimate has a vocabulary")
	}
}

// TestVocabulary_IsOpenAIs: written as OpenAI publishes it, a vocabulary has the SHA-256 that
// tiktoken checks.
func TestVocabulary_IsOpenAIs(t *testing.T) {
	for name, want := range map[string]string{
		CL100K: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
		O200K:  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
	} {
		ranks := Named(name).ranks
		tokens := make([]string, len(ranks))
		for token, rank := range ranks {
			tokens[rank] = token
		}
		sum := sha256.New()
		for rank, token := range tokens {
			fmt.Fprintf(sum, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != want {
			t.Errorf("%s: %d tokens, %s", name, len(tokens), got)
		}
	}
}

// TestFirst_IsABeginning: of whole characters, with no more tokens than asked for, and all of the text in
// the end.
func TestFirst_IsABeginning(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	r := rand.New(rand.NewPCG(1, 9))
	for range 12 {
		text := randomText(r)
		for _, name := range []string{CL100K, O200K} {
			all := Named(name).Count(text)
			before := -1
			for n := range all + 1 {
				first := Named(name).First(text, n)
				if !strings.HasPrefix(text, first) || !utf8.ValidString(first) || len(first) < before {
					t.Fatalf("%s: the first %d tokens of %q are %q", name, n, text, first)
				}
				before = len(first)
			}
			if Named(name).First(text, all) != text || Named(name).First(text, all+1) != text {
				t.Fatalf("%s: %q doesn't have %d tokens", name, text, all)
			}
		}
	}
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString([]string{"a", "é", "😀", " ", "\n", "<", "word ", "12345", "'ll", "字", "\t", strings.Repeat("x", 200)}[r.IntN(12)])
	}
	return b.String()
}

// TestParts_AreBounded: merging takes time by the square of a run, so no run is longer than its limit, and
// what is no such run is one part.
func TestParts_AreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		parts int
	}{
		"nothing":             {"", 0},
		"words":               {strings.Repeat("some words, and more\n", 1000), 1},
		"letters":             {strings.Repeat("a", 10*maxRun), 10},
		"spaces":              {strings.Repeat(" \n", 5*maxRun) + "x", 10},
		"signs":               {strings.Repeat("'=", 5*maxRun) + "1", 11},
		"a run and then some": {strings.Repeat("é", maxRun) + " " + strings.Repeat("é", maxRun), 1},
	} {
		joined, n := "", 0
		for part := range parts(c.text) {
			joined += part
			n++
		}
		if n != c.parts || joined != c.text {
			t.Errorf("%s: %d parts, not %d", name, n, c.parts)
		}
	}
}
