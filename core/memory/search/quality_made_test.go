//go:build quality

package search

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

//go:embed testdata/talk.txt
var talkWords string

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// lexicon has lists of words that mean about the same, by their field.
type lexicon map[string][][]string

func readLexicon() lexicon {
	l := lexicon{}
	for line := range strings.Lines(talkWords) {
		if field, words, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			l[field] = append(l[field], strings.Split(words, " | "))
		}
	}
	return l
}

// fact is what somebody says of themselves: words of the lexicon, and which of each list; none for those
// that aren't said.
type fact struct {
	who, id                         string
	deed, thing, place, with, since []string
	said                            [5]int
}

// talk is a conversation of two people that is being made.
type talk struct {
	lexicon
	*rand.Rand
	corpus
	// titled is whether the speakers are the titles; otherwise their names are in the texts.
	titled bool
	people [2]string
	facts  []fact
	// session and at belong to the next turn.
	session int
	at      time.Time
}

// makeTalks makes conversations with questions, some of which have no answer.
func makeTalks(titled bool) (list []corpus) {
	const conversations, fewest, more, questions = 60, 30, 600, 40
	words, r := readLexicon(), rand.New(rand.NewPCG(7, 7))
	for range conversations {
		t := talk{lexicon: lexicon{}, Rand: r, titled: titled, at: time.Date(2023, 1, 1, 10, 0, 0, 0, time.UTC)}
		for _, field := range []string{"deed", "thing", "place", "with", "since"} { // each conversation has half of the subjects
			for _, i := range r.Perm(len(words[field]))[:len(words[field])/2+1] {
				t.lexicon[field] = append(t.lexicon[field], words[field][i])
			}
		}
		t.lexicon["filler"] = words["filler"]
		names := words["people"][0]
		two := r.Perm(len(names))
		t.people = [2]string{names[two[0]], names[two[1]]}
		for i := range fewest + r.IntN(more) {
			t.say(i)
		}
		for range min(questions, len(t.facts)) {
			t.ask()
		}
		list = append(list, t.corpus)
	}
	return list
}

// say adds the turn of that number.
func (t *talk) say(i int) {
	if t.IntN(20) == 0 {
		t.session++
		t.at = t.at.AddDate(0, 0, 1+t.IntN(20))
	}
	t.at = t.at.Add(time.Minute)
	who, other, id := t.people[i%2], t.people[1-i%2], fmt.Sprint("t", i)
	text := pick(t.Rand, t.lexicon["filler"][0])
	if t.IntN(3) > 0 {
		said := t.fact(who, id)
		text = pick(t.Rand, []string{"", "", "", text + " "}) + said
		if f := &t.facts[len(t.facts)-1]; t.titled && t.IntN(3) == 0 { // as an answer, with little of the question
			deed, _, _ := strings.Cut(f.deed[f.said[0]], "/")
			t.put(id, other, fmt.Sprintf(pick(t.Rand, []string{"What did you %s?", "And you, did you %s anything?", "Hey, what did you %s lately?"}), deed))
			id += "a"
			f.id, text = id, pick(t.Rand, []string{"The ", "Oh, the ", "Yes, the "})+f.rest()
		}
	}
	if t.titled && t.IntN(3) == 0 {
		text = pick(t.Rand, []string{"Hey ", "", "Well, ", "Thanks, "}) + other + pick(t.Rand, []string{"! ", ", "}) + text
	}
	t.put(id, who, text)
}

func (t *talk) put(id, who, text string) {
	t.at = t.at.Add(time.Second)
	d := &Doc{ID: id, State: core.StateOpen, Q: 0.5, Text: text, At: t.at}
	if t.titled {
		d.Title, d.Source = who, fmt.Sprint("session ", t.session)
	}
	t.docs = append(t.docs, d)
}

// fact adds a fact, and returns how it is said.
func (t *talk) fact(who, id string) string {
	r := t.Rand
	f := fact{who: who, id: id, deed: pick(r, t.lexicon["deed"]), thing: pick(r, t.lexicon["thing"])}
	for i, rest := range []*[]string{&f.place, &f.with, &f.since} {
		if r.IntN(2+min(i, 1)) == 0 {
			*rest = pick(r, t.lexicon[[]string{"place", "with", "since"}[i]])
		}
	}
	for i := range f.said {
		f.said[i] = r.IntN(3)
	}
	t.facts = append(t.facts, f)
	_, past, _ := strings.Cut(f.deed[f.said[0]], "/")
	said := fmt.Sprintf("I %s the %s", past, f.rest()) + pick(r, []string{".", ", it was fun.", "!", " last week.", ", can you imagine?"})
	if !t.titled {
		said = strings.ReplaceAll(strings.Replace(said, "I ", who+" ", 1), " my ", " the ")
	}
	return said
}

// rest is what a fact says after its deed.
func (f *fact) rest() string {
	text := f.thing[f.said[1]]
	if f.place != nil {
		text += " at the " + f.place[f.said[2]]
	}
	if f.with != nil {
		text += " with my " + f.with[f.said[3]]
	}
	if f.since != nil {
		text += " because " + f.since[f.said[4]]
	}
	return text
}

// form is a question about a fact: %[1]s is who, %[2]s the deed, %[3]s the thing and %[4]s the place. Its
// answer depends on the deed and the thing as it says.
type form struct {
	text        string
	deed, thing bool
}

// form picks a question that the fact answers.
func (t *talk) form(f *fact) form {
	list := []form{
		{"When did %[1]s %[2]s the %[3]s?", true, true}, {"What happened to the %[3]s of %[1]s?", false, true},
		{"How does %[1]s feel about the %[3]s?", false, true}, {"Did %[1]s ever %[2]s anything?", true, false},
	}
	if f.place != nil {
		list = append(list, form{"What did %[1]s %[2]s at the %[4]s?", true, false}, form{"Where did %[1]s %[2]s the %[3]s?", true, true})
	}
	if f.with != nil {
		list = append(list, form{"Who was with %[1]s for the %[3]s?", false, true})
	}
	if f.since != nil {
		list = append(list, form{"Why did %[1]s %[2]s the %[3]s?", true, true})
	}
	return pick(t.Rand, list)
}

// ask adds a question about a fact, and the same about the other one, if there is no such fact.
func (t *talk) ask() {
	f := &t.facts[t.IntN(len(t.facts))]
	same := t.Float64() // how often the question has the words of the fact
	word := func(of []string, said int) string {
		if of == nil {
			return ""
		}
		if t.Float64() < same {
			return of[said]
		}
		return pick(t.Rand, of)
	}
	deed, _, _ := strings.Cut(word(f.deed, f.said[0]), "/")
	thing, place, how := word(f.thing, f.said[1]), word(f.place, f.said[2]), t.form(f)
	asked := func(who string) string { return fmt.Sprintf(how.text, who, deed, thing, place) }
	own, others := question{text: asked(f.who)}, false
	for i := range t.facts {
		g := &t.facts[i]
		deed, thing := &g.deed[0] == &f.deed[0], &g.thing[0] == &f.thing[0]
		if g.who == f.who && deed && thing {
			own.evidence = append(own.evidence, g.id)
		}
		others = others || g.who != f.who && (deed || !how.deed) && (thing || !how.thing)
	}
	t.questions = append(t.questions, own)
	if other := t.people[0]; !others {
		if other == f.who {
			other = t.people[1]
		}
		t.questions = append(t.questions, question{text: asked(other), kind: noAnswer})
	}
}

// identifierWords are what identifiers are made of.
const identifierWords = `max min retry count user name file path batch size queue limit time out token cache
key index host port read write open close log level buffer page item parse load save send fetch merge split
node edge task job worker event stream state policy rule score rank source target base root temp last first`

// makeIdentifiers makes notes on settings, each asked about in another style than it is written in.
func makeIdentifiers() []corpus {
	const notes = 500
	r := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields(identifierWords)
	title := func(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
	styles := []func(parts []string) string{
		func(p []string) string { return strings.Join(p, "_") },
		func(p []string) string { return strings.Join(p, "-") },
		func(p []string) string { return strings.ToUpper(strings.Join(p, "_")) },
		func(p []string) string {
			for i := range p {
				p[i] = title(p[i])
			}
			return strings.Join(p, "")
		},
		func(p []string) string {
			for i := range p[1:] {
				p[i+1] = title(p[i+1])
			}
			return strings.Join(p, "")
		},
	}
	var c corpus
	known := map[string]bool{}
	for len(c.docs) < notes {
		parts := make([]string, 2+r.IntN(3))
		for i := range parts {
			parts[i] = pick(r, words)
		}
		if r.IntN(5) == 0 {
			parts = append(parts, fmt.Sprint(r.IntN(10)))
		}
		if known[strings.Join(parts, "")] {
			continue
		}
		known[strings.Join(parts, "")] = true
		two := r.Perm(len(styles))
		written, asked := styles[two[0]](append([]string{}, parts...)), styles[two[1]](append([]string{}, parts...))
		id := fmt.Sprint("note ", len(c.docs))
		c.docs = append(c.docs, &Doc{ID: id, State: core.StateOpen, Q: 0.5, Text: fmt.Sprintf(pick(r, []string{
			"Set %s to %d before the release.", "With %s at %d the service answers in time.", "We keep %s at %d since the incident.",
		}), written, r.IntN(1000))})
		c.questions = append(c.questions, question{text: fmt.Sprintf(pick(r, []string{
			"What should %s be?", "Why do we set %s?", "Where is %s used, and with which value?",
		}), asked), evidence: []string{id}})
	}
	return []corpus{c}
}
