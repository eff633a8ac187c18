package text_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/memory/text"
)

// The words of these texts, in all languages, as they are laid out by [text.Version].
const (
	layoutVersion = "1"
	layoutDigest  = "aa39fe27874be36204e78ce9f7baaed645a4b68be9203fbc938a9dabc4839d66"
)

// TestLayout: an index that was kept is read as it was written. If this fails because words, stems or
// the layout changed, raise [text.Version], so that programs make their indices again, and note the
// new digest here.
func TestLayout(t *testing.T) {
	texts := []string{
		"I was running to the harbour's offices, weren't you? In May 2026, max_retries=3 of getUserName.", "les chevaux continuaient à manger",
		"las canciones más bonitas", "новые книги лежали", "flickorna sprang", "hundene løp", "a házakban laktak", "東京の天気", "die Häuser der Straßen",
		"οι άνθρωποι διαβάζουν", "الكتب الجديدة", "kitapların sayfaları", "cărțile noastre", "as crianças correram", "i ragazzi mangiavano", "",
	}
	digest := ""
	for _, name := range text.LanguageNames() {
		x := text.New(text.LanguageOf(name), byNumber)
		for i, s := range texts {
			x.Put(uint32(i), texts[(i+1)%len(texts)], s)
		}
		for _, p := range x.Parts(nil) {
			digest = text.PartName(digest + name + p.Words)
		}
	}
	if text.Version != layoutVersion || digest != layoutDigest {
		t.Errorf("version %s, digest %s", text.Version, digest)
	}
}

// TestIndex_IsKept attaches what an index says of itself to another one, after random changes, and
// compares what they find.
func TestIndex_IsKept(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		x, kept := text.New(text.LanguageOf("english"), byNumber), map[string]bool{}
		for range 12 {
			for range rnd.IntN(40) {
				switch doc := rnd.Uint32N(60); rnd.IntN(4) {
				case 0:
					x.Remove(doc)
				default:
					x.Put(doc, fmt.Sprintf("title%d", doc%7), fmt.Sprintf("word%d and running, said %d words%d?", rnd.IntN(20), doc, rnd.IntN(9)))
				}
			}
			var live []uint32
			other := text.New(text.LanguageOf("english"), byNumber)
			for _, p := range x.Parts(func(name string) bool { return kept[name] }) {
				if !kept[p.Name] && slices.Contains(p.Docs, text.Gone) {
					t.Fatal("a part that wasn't kept has removed documents")
				}
				if kept[p.Name] = rnd.IntN(2) == 0; p.Name != text.PartName(p.Words) {
					t.Errorf("the part is named %s", p.Name)
				}
				live = append(live, slices.DeleteFunc(slices.Clone(p.Docs), func(doc uint32) bool { return doc == text.Gone })...)
				if err := other.Attach(p.Words, slices.Clone(p.Docs)); err != nil {
					t.Fatal(err)
				}
			}
			for _, query := range []string{"word3 running", "title2 words1", "wrod5", "when was 17?"} {
				want, got := x.Top(text.NewQuery(query, x), 20, nil), other.Top(text.NewQuery(query, other), 20, nil)
				if !slices.Equal(got, want) || other.Len() != x.Len() {
					t.Fatalf("seed %d, %q: %d documents find\n%v, want %d and\n%v", seed, query, other.Len(), got, x.Len(), want)
				}
			}
			for _, doc := range live {
				if x.Asks(doc) != other.Asks(doc) || x.SaysWhen(doc) != other.SaysWhen(doc) {
					t.Errorf("document %d has other traits", doc)
				}
			}
		}
	}
}

// A string that isn't laid out as a segment is refused, whatever is wrong with it.
func TestIndex_RefusesOtherStrings(t *testing.T) {
	p := in("english", "the cat sat on a mat", "cats and dogs").Parts(nil)[0]
	changed := func(at int, b byte) string { return p.Words[:at] + string(b) + p.Words[at+1:] }
	cases := map[string]string{
		"empty": "", "noise": strings.Repeat("noise", 40), "one byte more": p.Words + "x", "more documents": changed(0, 3),
		"more words": changed(4, 200), "more forms": changed(8, 1), "a huge list": changed(15, 255), "an end before the last": changed(40, 255),
		"a language that isn't there": strings.Replace(p.Words, "\x01\x01", "\x01\xff", 1),
	}
	for n := range p.Words {
		cases[fmt.Sprint("the first ", n)] = p.Words[:n]
	}
	for name, words := range cases {
		if x := in("english"); x.Attach(words, slices.Clone(p.Docs)) == nil || x.Len() != 0 {
			t.Errorf("%s is taken", name)
		}
	}
	if in("english").Attach(p.Words, []uint32{1}) == nil {
		t.Error("it is taken for one document, and has two")
	}
}
