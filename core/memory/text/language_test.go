package text_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

func in(language string, texts ...string) *text.Index {
	x := text.New(text.LanguageOf(language), byNumber)
	for i, s := range texts {
		x.Put(uint32(i), "", s)
	}
	x.Settle()
	return x
}

func TestWordsAreFoundInTheirForms(t *testing.T) {
	cases := []struct{ name, language, corpus, query, want string }{
		{"another form", "english", "she was running", "runs", "0"},
		{"not without a language", "none", "she was running", "runs", ""},
		{"accents left out by the writer", "english", "a resume", "résumé", "0"},
		{"accents left out by the seeker", "english", "a résumé", "resume", "0"},
		{"a stem without its accents", "french", "nous mangeâmes", "mangeames", "0"},
		{"French forms", "french", "les chevaux continuaient", "continuer", "0"},
		{"Spanish forms", "spanish", "las canciones", "canción", "0"},
		{"Russian forms", "russian", "новые книги", "новая книга", "0"},
		{"Swedish forms", "swedish", "flickorna", "flicka", "0"},
		{"Norwegian forms", "norwegian", "hundene", "hund", "0"},
		{"Hungarian forms", "hungarian", "a házakban", "ház", "0"},
		{"words of another script stay whole", "english", "книгами", "книга", ""},
		{"what has digits by its parts", "english", "v2beta1s", "v3beta1", "0"},
		{"stop words find nothing", "english", "to be or not to be", "to be", ""},
		{"stop words are a language's own", "french", "to be or not to be", "be", "0"},
		{"an identifier by its part", "english", "set max_retries to 3", "retry", "0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := in(c.language, c.corpus)
			if got := docs(x.Top(text.NewQuery(c.query, x), 5, nil)); got != c.want {
				t.Errorf("%q finds %q in %q, want %q", c.query, got, c.corpus, c.want)
			}
		})
	}
}

func TestExactFormsComeFirst(t *testing.T) {
	for query, corpus := range map[string][]string{
		"running":     {"runs", "running", "run"},
		"max_retries": {"retries at max", "max_retries", "max_retry"},
		"__init__x":   {"init x", "__init__x", "initx"},
	} {
		x := in("english", corpus...)
		found := x.Top(text.NewQuery(query, x), 5, nil)
		if len(found) < 2 || found[0].Doc != 1 || found[0].Score <= found[1].Score {
			t.Errorf("%q finds %v in %q", query, found, corpus)
		}
	}
}

// Forms of one word in a query are one word.
func TestFormsInAQueryCountOnce(t *testing.T) {
	x := in("english", "run", "jump")
	q, once := text.NewQuery("run running runs jump", x), text.NewQuery("run jump", x)
	if q.Whole() != once.Whole() || x.Scores(q, nil).Of[0] != x.Scores(once, nil).Of[0] {
		t.Errorf("%v of %v, want %v of %v", x.Scores(q, nil).Of[0], q.Whole(), x.Scores(once, nil).Of[0], once.Whole())
	}
}

// Each index is searched by its own language.
func TestLanguagesAreSearchedTogether(t *testing.T) {
	english, french := in("english", "the horses"), in("french", "les chevaux continuaient")
	q := text.NewQuery("horse continuer", english, french)
	if got := docs(english.Top(q, 5, nil)) + docs(french.Top(q, 5, nil)); got != "00" {
		t.Errorf("found %q", got)
	}
}

// TestStemsLeaveNoTrace takes out forms of a word one by one.
func TestStemsLeaveNoTrace(t *testing.T) {
	x := in("english", "résumés", "resume", "resumed")
	for i, want := range []string{"0 1 2", "1 2", "2", ""} {
		if i > 0 {
			x.Remove(uint32(i - 1))
		}
		fresh := in("english")
		for doc, s := range []string{"résumés", "resume", "resumed"} {
			if doc >= i {
				fresh.Put(uint32(doc), "", s)
			}
		}
		fresh.Settle()
		got, same := x.Top(text.NewQuery("résumé", x), 5, nil), fresh.Top(text.NewQuery("résumé", fresh), 5, nil)
		if len(got) != len(same) || x.Bytes() < fresh.Bytes() {
			t.Errorf("without the first %d: %v, a fresh index %v", i, got, same)
		}
		for n := range got {
			if got[n] != same[n] {
				t.Errorf("without the first %d: %v, a fresh index %v, want %s", i, got, same, want)
			}
		}
	}
}

func TestLanguagesOfNamespacesAreKnown(t *testing.T) {
	want := append(text.LanguageNames(), text.Auto)
	slices.Sort(want)
	if got := core.Languages(); !slices.Equal(got, want) {
		t.Errorf("a namespace may have %q, and the index has %q", got, want)
	}
	for _, name := range want {
		if got := text.LanguageOf(name).Name(); got != name {
			t.Errorf("%s is %s", name, got)
		}
	}
}
