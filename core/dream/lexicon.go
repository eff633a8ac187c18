package dream

import (
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core/memory/text"
)

// The guard's English words, written as people write them and kept in normal form. If a
// list lacks a word, at most a merge is missed, since an unknown word counts as another
// value.

// classWords are words that are facts of a class wherever they are.
var classWords = []struct{ class, words string }{
	{Number, "first second third fourth fifth sixth seventh eighth ninth tenth once twice thrice dozen double triple quarter single pair couple infinite"},
	{Unit, "minute hour week month year decade century foot inch yard mile gallon litre liter pound ounce ton acre dollar euro cent degree celsius" +
		" fahrenheit kelvin volt watt daily weekly monthly yearly hourly nightly quarterly annually annual fortnightly byte kilobyte megabyte gigabyte" +
		" terabyte millisecond microsecond percent meter kilometer gram kilogram centimeter calory"},
	{Date, "monday tuesday wednesday thursday friday saturday sunday weekday weekend january february april june july august september october november" +
		" december jan feb apr jun jul aug sep sept oct nov dec spring summer autumn fall winter yesterday today tomorrow tonight noon midnight midday" +
		" morning afternoon evening night dawn dusk ago christmas easter thanksgiving"},
	{Negation, "not no never none nobody nothing nowhere neither nor without hardly barely scarcely lack lacking"},
	{Exception, "except excepting excluding exclude besides apart aside unlike instead rather including include"},
	{Quantifier, "all every each any some most many much few several both either half enough only just solely merely least more less fewer lesser than exactly" +
		" precisely approximately roughly nearly almost always usually often sometimes rarely seldom frequently occasionally generally normally typically mostly" +
		" mainly largely partly partially entirely completely fully whole entire total everyone everybody everything someone somebody something anyone anybody" +
		" or anything anywhere everywhere somewhere constantly regularly ever too maximum minimum max min majority minority plenty lot limited unlimited"},
	{Condition, "if unless when whenever until till provided assuming assume otherwise whether depending depend while even once although though despite because since" +
		" conditionally wherever"},
	{Hedge, "might maybe perhaps possibly probably likely unlikely potentially presumably supposedly supposed allegedly apparently reportedly seemingly seem" +
		" appear think believe guess suppose hope want wish plan intend consider try attempt expect aim propose suggest doubt wonder claim suspect rumored" +
		" tentatively tend pretend imagine certain certainly definitely surely sure doubtful possible impossible probable"},
	{Modality, "must should shall can could would need ought required require optional optionally allowed allow forbidden forbid mandatory permitted permit" +
		" prohibited prohibit able unable recommended recommend obliged"},
}

// oppositePairs are words of which one denies the other, as left/right.
const oppositePairs = `enable/disable enabled/disabled increase/decrease increase/reduce raise/lower rise/fall grow/shrink open/close open/closed opened/closed
accept/reject accept/refuse accept/decline approve/reject approve/deny allow/deny allow/forbid allow/block permit/forbid grant/revoke grant/deny
old/new young/old fast/slow quick/slow high/low upper/lower higher/lower top/bottom big/small large/small long/short tall/short wide/narrow thick/thin deep/shallow
love/hate like/dislike like/hate enjoy/hate prefer/avoid pass/fail succeed/fail success/failure successful/failed encrypt/decrypt encode/decode
public/private internal/external local/remote local/global start/stop start/end start/finish begin/end begin/finish begin/stop before/after earlier/later early/late
up/down on/off in/out inside/outside into/onto buy/sell add/remove add/delete insert/delete create/delete create/destroy attach/detach mount/unmount
lock/unlock push/pull upload/download import/export read/write send/receive give/take give/receive borrow/lend teach/learn win/lose gain/lose find/lose
show/hide visible/hidden include/exclude including/excluding join/leave enter/exit enter/leave arrive/depart arrive/leave come/go left/right
north/south east/west northern/southern eastern/western hot/cold warm/cold warm/cool wet/dry full/empty heavy/light light/dark bright/dark hard/soft hard/easy
easy/difficult simple/complex good/bad good/evil better/worse best/worst right/wrong correct/wrong correct/incorrect true/false yes/no valid/invalid
safe/dangerous safe/unsafe clean/dirty rich/poor cheap/expensive strong/weak loud/quiet loud/silent alive/dead happy/sad happy/unhappy healthy/sick
active/inactive active/passive online/offline present/absent positive/negative maximum/minimum max/min more/less more/fewer most/least many/few
first/last next/previous next/last previous/following ascending/descending ascend/descend forward/backward forwards/backwards front/back above/below over/under
agree/disagree appear/disappear connect/disconnect expand/collapse install/uninstall subscribe/unsubscribe publish/unpublish follow/unfollow
keep/delete keep/remove keep/discard keep/drop save/discard commit/rollback upgrade/downgrade promote/demote accelerate/slow grow/decline
same/different similar/different equal/different permanent/temporary manual/automatic manually/automatically sync/async synchronous/asynchronous
static/dynamic mutable/immutable primary/secondary major/minor master/replica senior/junior male/female man/woman boy/girl mother/father brother/sister
husband/wife son/daughter day/night hire/fire employ/dismiss married/divorced married/single pro/con with/without for/against ally/enemy friend/enemy
import/ignore obey/ignore remember/forget allow/prevent cause/prevent help/hinder support/oppose support/drop love/fear trust/distrust even/odd
horizontal/vertical input/output client/server producer/consumer reader/writer sender/receiver host/guest buyer/seller winner/loser
cached/uncached mounted/unmounted signed/unsigned known/unknown stable/unstable deprecated/supported stale/fresh blocking/non-blocking
vegetarian/carnivore sober/drunk awake/asleep inhale/exhale smile/frown laugh/cry build/destroy build/demolish attack/defend hit/miss
arrived/cancelled delayed/punctual won/lost gained/lost admit/deny confirm/deny confirm/cancel accept/cancel continue/stop continue/cancel resume/pause
run/stop launch/stop expose/hide reveal/hide wake/sleep sit/stand ahead/behind near/far close/far here/there`

// irregularVerbs are verbs with their past tense and participle, if no ending shows them.
const irregularVerbs = `be/was/been have/had/had do/did/done go/went/gone say/said/said make/made/made get/got/gotten know/knew/known think/thought/thought
take/took/taken see/saw/seen come/came/come give/gave/given find/found/found tell/told/told become/became/become leave/left/left feel/felt/felt
bring/brought/brought begin/began/begun keep/kept/kept hold/held/held write/wrote/written stand/stood/stood hear/heard/heard mean/meant/meant
meet/met/met run/ran/run pay/paid/paid sit/sat/sat speak/spoke/spoken lead/led/led grow/grew/grown lose/lost/lost fall/fell/fallen send/sent/sent
build/built/built understand/understood/understood draw/drew/drawn break/broke/broken spend/spent/spent rise/rose/risen drive/drove/driven
buy/bought/bought wear/wore/worn choose/chose/chosen sleep/slept/slept sell/sold/sold teach/taught/taught catch/caught/caught fight/fought/fought
throw/threw/thrown eat/ate/eaten drink/drank/drunk sing/sang/sung swim/swam/swum fly/flew/flown forget/forgot/forgotten forgive/forgave/forgiven
freeze/froze/frozen hide/hid/hidden ride/rode/ridden ring/rang/rung shake/shook/shaken steal/stole/stolen swear/swore/sworn wake/woke/woken
win/won/won bend/bent/bent bind/bound/bound bite/bit/bitten blow/blew/blown breed/bred/bred deal/dealt/dealt dig/dug/dug feed/fed/fed flee/fled/fled
hang/hung/hung lay/laid/laid lend/lent/lent light/lit/lit seek/sought/sought shine/shone/shone shoot/shot/shot shrink/shrank/shrunk sink/sank/sunk
slide/slid/slid spin/spun/spun stick/stuck/stuck strike/struck/struck sweep/swept/swept swing/swung/swung tear/tore/torn weep/wept/wept
bear/bore/born beat/beat/beaten withdraw/withdrew/withdrawn overcome/overcame/overcome show/showed/shown prove/proved/proven rebuild/rebuilt/rebuilt
learn/learnt/learnt dream/dreamt/dreamt burn/burnt/burnt`

// sameWords are words that mean the same in every text; the first replaces the others.
const sameWords = `start/begin/commence buy/purchase big/large help/assist child/kid use/utilize/utilise fast/quick/rapid car/automobile movie/film mother/mom/mum
father/dad television/tv telephone/phone bicycle/bike photo/photograph sick/ill answer/reply gym/gymnasium refrigerator/fridge advertisement/ad`

// Words that can be left out, words that form tenses, pronouns, and words that say little
// by themselves.
const (
	fillerWords  = `really very quite actually basically simply indeed truly also kindly`
	tenseWords   = `be is was been being will have had do did get got gotten go already yet still now currently formerly previously anymore soon`
	pronounWords = `i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself they them
		their theirs themselves one's oneself`
	grammarWords = `is was been being be will have had do did that this these those it its there to of and so as then which who whose get got as
		am are were has does going`
)

// wordLists are the guard's words in normal form.
type wordLists struct {
	classes   map[string]string
	opposites map[string][]string
	// irregular are the inflected forms of irregular verbs, and same the words that are
	// replaced by another.
	irregular                          map[string]inflected
	same                               map[string]string
	fillers, tenses, pronouns, grammar map[string]bool
	claimWords
}

// lexicon is read at the first use.
var lexicon = sync.OnceValue(func() *wordLists {
	l := &wordLists{
		classes: map[string]string{}, opposites: map[string][]string{}, irregular: map[string]inflected{}, same: map[string]string{"is": "be"},
		fillers: wordSet(fillerWords), tenses: formSet(tenseWords), pronouns: formSet(pronounWords), grammar: formSet(grammarWords),
	}
	for _, c := range classWords {
		for form := range formSet(c.words) {
			l.classes[form] = c.class
		}
	}
	for _, p := range strings.Fields(oppositePairs) {
		a, b, _ := strings.Cut(p, "/")
		a, b = text.Normal(a), text.Normal(b)
		l.opposites[a], l.opposites[b] = append(l.opposites[a], b), append(l.opposites[b], a)
	}
	for _, v := range strings.Fields(irregularVerbs) {
		forms := strings.Split(v, "/")
		for i, tense := range []inflection{past, participle}[:len(forms)-1] {
			if form := forms[i+1]; form != forms[0] && l.irregular[form].base == "" {
				l.irregular[form] = inflected{text.Normal(forms[0]), tense}
			}
		}
	}
	l.irregular["were"] = l.irregular["was"]
	l.irregular["be"] = inflected{"be", infinitive}
	for _, s := range strings.Fields(sameWords) {
		list := strings.Split(s, "/")
		for _, other := range list[1:] {
			l.same[text.Normal(other)] = text.Normal(list[0])
		}
	}
	l.claimWords = newClaimWords(l.base)
	return l
})

// base is the base of a word as people write it.
func (l *wordLists) base(word string) string {
	if tokens := text.Tokens(word); len(tokens) == 1 && tokens[0].Kind == text.Word {
		return l.inflection(&tokens[0]).base
	}
	return strings.ToLower(word)
}

// wordSet are words in their written form: quite says nothing, but quit, which has the same
// normal form, does.
func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func formSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[text.Normal(w)] = true
	}
	return set
}

// inflected is a verb's base and its tense.
type inflected struct {
	base  string
	tense inflection
}

// inflection is the base and the tense of a word.
func (l *wordLists) inflection(t *text.Token) inflected {
	w, irregular := l.irregular[t.Word]
	if !irregular {
		w.base = t.Form
		switch {
		case t.Word == t.Form:
		case strings.HasSuffix(t.Word, "ed"):
			w.tense = past
		case strings.HasSuffix(t.Word, "ing"):
			w.tense = going
		}
	}
	if same := l.same[w.base]; same != "" {
		w.base = same
	}
	return w
}

// canonical is what a word of a class says: each is every.
func (l *wordLists) canonical(form string) string {
	if form == "each" {
		return "every"
	}
	return form
}
