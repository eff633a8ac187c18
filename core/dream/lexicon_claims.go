package dream

import (
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/memory/text"
)

// The words by which claims are read, in the forms that people write.

const (
	// markerWords begin a phrase. A conjunction also ends the clause of the main verb.
	markerWords = `at in on from to with without by for as into onto over under after before during within until till since than per every each via
		through against between among above below inside outside behind near`
	conjunctionWords = `if when while unless until till because since that which who where before after although though`
	auxiliaryWords   = `be have do will would can could must should shall may might`
	// verbWords are verbs that state facts. Others are found by their endings, if at all.
	verbWords = `accept add affect agree allow answer apply arrive ask authenticate backup begin belong bind block break build buy cache call carry change
		charge check close come commit connect consume contain convert cost count cover create cut default delete depart depend deploy deny die do drink
		drive drop earn eat emit enable enjoy encode encrypt end enforce enter exclude exit expect expire export expose fail fall favor feed fetch finish
		fix follow forbid format forward generate get give go grow handle happen hate have help hide hold host ignore implement import include indent
		install join keep know land last launch lead learn leave lend let like limit listen live load lock log love maintain make manage map mean measure
		meet merge migrate monitor mount move name need notify occur offer open order own parse pass pay persist pin play point poll prefer prevent print
		process produce prohibit provide publish pull purge push quote read receive redirect refuse reject release rely remain render replace report
		require reset resolve restart retry return rotate run save say scale scan see sell send serve set ship show sign sit sleep sort speak spend squash
		stand start stay stop store study subscribe support switch sync take talk teach tell test throw time tolerate train travel treat trigger trust
		turn update upload use validate visit wait wake walk want warn watch wear weigh work wrap write`
	// multipleVerbs may hold of many things at once.
	multipleVerbs = `like love enjoy hate have own buy eat drink speak read play visit support know wear watch include contain offer accept sell need see
		affect cover handle call import export learn teach help fix ask`
	// stanceVerbs exclude their opposites. Others have opposites that are done in turn: opens and closes.
	stanceVerbs = `love hate like dislike enjoy accept reject refuse decline allow forbid deny block permit prevent approve include exclude support ignore
		obey trust distrust agree disagree pass fail prefer avoid enable disable show hide`
	choiceVerbs = `prefer favor choose use pick`
	// onceVerbs are what happens to a thing once.
	onceVerbs = `bear found release launch create publish sign die establish invent introduce construct discover`
	// scheduleVerbs happen at one time, or regularly at the same.
	scheduleVerbs = `start begin end finish open close run happen occur meet deploy release ship expire leave arrive depart land launch take`
	// singleValues are verbs and participles of which one value at a time is true, with the
	// prepositions before it; a dash is none. Those with is- are participles only.
	singleValues = `be:in,at,on,from,under,behind live:in,at,with reside:in,at dwell:in stay:in,at work:at,for,as listen:on,at bind:to run:on,at,in,under prefer:-
		favor:- cost:- weigh:- measure:- last:- default:to point:to resolve:to map:to redirect:to belong:to report:to connect:to write:to,in
		log:to,in,with deploy:to,on,via,with ship:from save:to,in,on store:in,on,at keep:in,on,at hold:in host:in,on,at,by locate:in,at,on base:in,on,at
		come:from study:at sit:in,on,at sleep:in,on end:with,in begin:with,in start:with,in indent:with,by is-name:- is-call:- name:after,with quote:with format:with,by
		sort:by order:by sign:with,by encrypt:with authenticate:with,via,by build:with,by serve:from,on,at,by license:under make:of own:by assign:to maintain:by
		manage:by lead:by mount:at,on publish:at,on,to set:to back:by,up protect:by send:to,from,via,over route:to,through,via forward:to cache:in,on
		mirror:to move:to bear:in,on found:in,by write:by track:in measure:in count:in fetch:from read:from load:from pull:from install:in,on,with via:- return:-
		expire:in,after retry:after meet:in,at happen:in,at place:in,at register:at,with,in found:by live:under configure:in,with,via,by document:in,at,on
		define:in declare:in implement:in manage:with,in,via test:with monitor:with,by,in render:with,by validate:with,by parse:with,by pay:by,in,with bill:in`
	// attributeWords are what a thing has one of, and uniqueWords make anything that.
	attributeWords = `name owner lead leader manager maintainer boss head color colour size theme mode language locale currency timezone zone region format
		encoding algorithm license branch capital address url endpoint host hostname domain port path priority severity level provider vendor registry
		database shell editor framework formatter linter runtime engine backend broker store password surname nickname title id identifier key email phone
		birthday hometown nationality profession job occupation diet breed gender religion species brand model material type kind style font surface
		background shape status state version release number role team department contact username account alias codename prefix suffix separator delimiter
		strategy policy protocol method category group system platform distribution wife husband mother father spouse doctor dentist employer school`
	uniqueWords  = `favorite favourite default preferred primary main current official standard maximum minimum max min only sole first last next best`
	currentWords = `now currently still already yet presently nowadays today anymore`
	unsureWords  = `might may maybe perhaps possibly probably likely potentially think believe guess suppose hope wish consider try attempt aim propose suggest
		doubt wonder claim suspect rumored could would tentatively apparently allegedly supposedly ?`
	// pointerWords need what was said before, unless they are of the place where all of it is said.
	pointerWords = `this that these those it he she they his her its their him them other another such`
	placeWords   = `project repo repository team company workspace codebase user namespace organization organisation`
	// numberedWords have a number that says which one, as in chapter 3.
	numberedWords = `chapter room ticket issue step line phase page section item question exercise episode season table task story sprint round level lesson
		stage building gate floor track bus flight route bed row bay slot port module unit part volume appendix figure rule article bug case lane dock truck`
	adjectiveWords = `slow fast quick new old big small large long short high low good bad nice late early safe easy hard busy cheap clean clear close cold cool
		dark deep dirty dry fine free fresh full great happy heavy hot important kind light loud nice poor quiet ready rich sad sharp simple soft strict
		strong tall thin tired warm weak wet wide wrong young`
)

// regionWords are places that have other places in them.
const regionWords = `europe asia africa america oceania germany france italy spain portugal switzerland austria poland czechia hungary norway sweden denmark finland
	iceland ireland england scotland wales britain uk netherlands belgium greece turkey russia ukraine romania bulgaria croatia serbia china japan korea india
	pakistan indonesia thailand vietnam singapore malaysia australia canada mexico brazil argentina chile peru colombia egypt morocco nigeria kenya ethiopia
	israel iran iraq usa california texas florida bavaria catalonia tuscany scandinavia`

// kindLines are words that exclude each other, a kind a line: what is of one kind is one of its
// words.
const kindLines = `red blue green yellow purple violet cyan orange pink brown black white gray beige turquoise magenta teal maroon navy
oak pine beech walnut birch maple steel aluminum plastic glass wood wooden copper brass leather cotton wool linen silk nylon concrete brick stone marble
npm yarn pnpm bun
vim neovim emacs nano vscode intellij sublime
tab space
snake_case camelcase pascalcase kebab-case kebabcase screaming_case
debug info warn warning error trace fatal
postgres postgresql mysql mariadb sqlite oracle cockroachdb
kafka rabbitmq nats sqs pulsar activemq
aws gcp azure hetzner
jest vitest mocha jasmine
pytest unittest nose
black ruff yapf autopep8 prettier
mit gpl apache bsd mpl agpl
married single divorced widowed engaged
vegetarian vegan pescatarian omnivore carnivore
dog cat horse rabbit hamster parrot
open closed pending draft published archived
merged unmerged abandoned
go rust python java kotlin scala ruby php typescript javascript elixir haskell perl swift
json yaml toml xml ini
git mercurial svn subversion perforce
make bazel gradle maven cmake ninja meson
docker podman containerd
nginx apache caddy traefik haproxy envoy
windows linux macos freebsd
left-handed right-handed lefthanded righthanded
hourly daily nightly weekly biweekly fortnightly monthly quarterly yearly annually
manual automatic
monolith microservice serverless
small medium large
bronze silver gold platinum
react vue svelte angular preact solidjs ember
english german french spanish italian portuguese dutch polish turkish chinese japanese korean russian arabic hindi swedish danish norwegian finnish czech greek`

// dimensionLines are units by their dimension, in units of the first, as unit=factor.
const dimensionLines = `time second=1 nanosecond=1e-9 microsecond=1e-6 millisecond=1e-3 minute=60 hour=3600 day=86400 week=604800 month=2592000 year=31536000 decade=315360000
data byte=1 kilobyte=1e3 megabyte=1e6 gigabyte=1e9 terabyte=1e12 kibibyte=1024 mebibyte=1048576 gibibyte=1073741824 tebibyte=1099511627776 bit=.125 megabit=125e3 gigabit=125e6
length meter=1 millimeter=1e-3 centimeter=1e-2 kilometer=1e3 inch=.0254 foot=.3048 yard=.9144 mile=1609.344
mass gram=1 milligram=1e-3 kilogram=1e3 ton=1e6 pound=453.6 ounce=28.35
volume liter=1 litre=1 gallon=3.785
share percent=1
temperature °C=1 °F=1 celsius=1 fahrenheit=1 kelvin=1
currency dollar=1 euro=1 cent=1 $=1 €=1 £=1
rate hertz=1 kilohertz=1e3 megahertz=1e6 gigahertz=1e9
clock am=60 pm=60`

// unit is how much of its dimension a unit is.
type unit struct {
	name          string
	scale, offset float64
}

// frequency is how often something holds, 1 to [always], and whether its word may be anywhere
// in a sentence.
type frequency struct {
	level  int
	adverb bool
}

// always is the level of what holds in each case.
const always = 5

// frequencyWords are the levels, the lowest first: determiners, then adverbs.
var frequencyWords = [always][2]string{{"few", "rarely seldom hardly"}, {"some", "sometimes occasionally"}, {"many", "often frequently"}, {"most", "usually mostly normally generally typically"}, {"all every each", "always"}}

// claimWords are the word lists by which claims are read, in normal form.
type claimWords struct {
	markers, conjunctions, auxiliaries, verbs, multiple, stances, choices, once, schedules       map[string]bool
	single, attributes, unique, current, unsure, pointers, places, numbered, adjectives, regions map[string]bool
	kinds                                                                                        map[string]int
	dimensions                                                                                   map[string]unit
	frequencies                                                                                  map[string]frequency
}

func newClaimWords(base func(word string) string) claimWords {
	bases := func(words string) map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(words) {
			set[base(w)] = true
		}
		return set
	}
	c := claimWords{
		markers: bases(markerWords), conjunctions: bases(conjunctionWords), auxiliaries: bases(auxiliaryWords), verbs: bases(verbWords),
		multiple: bases(multipleVerbs), stances: bases(stanceVerbs), choices: bases(choiceVerbs), once: bases(onceVerbs), schedules: bases(scheduleVerbs),
		single: map[string]bool{}, attributes: bases(attributeWords), unique: bases(uniqueWords), current: wordSet(currentWords), unsure: bases(unsureWords),
		pointers: wordSet(pointerWords), places: bases(placeWords), numbered: bases(numberedWords), adjectives: bases(adjectiveWords), regions: bases(regionWords),
		kinds: map[string]int{}, dimensions: map[string]unit{}, frequencies: map[string]frequency{},
	}
	for _, s := range strings.Fields(singleValues) {
		verb, markers, _ := strings.Cut(s, ":")
		verb, passive := strings.CutPrefix(verb, "is-")
		if verb = base(verb); passive {
			verb = "is-" + verb
		}
		for m := range strings.SplitSeq(markers, ",") {
			c.single[verb+" "+strings.TrimPrefix(m, "-")] = true
		}
	}
	for i, line := range strings.Split(kindLines, "\n") {
		for w := range bases(line) {
			c.kinds[w] = i + 1
		}
	}
	for line := range strings.SplitSeq(dimensionLines, "\n") {
		fields := strings.Fields(line)
		for _, f := range fields[1:] {
			name, factor, _ := strings.Cut(f, "=")
			u := unit{name: fields[0], scale: factorOf(factor)}
			if name == "pm" {
				u.offset = 12 * 60
			}
			c.dimensions[name], c.dimensions[base(name)] = u, u
		}
	}
	for i, words := range frequencyWords {
		for w := range bases(words[0]) {
			c.frequencies[w] = frequency{level: i + 1}
		}
		for w := range bases(words[1]) {
			c.frequencies[w] = frequency{level: i + 1, adverb: true}
		}
	}
	return c
}

// kindOf is the kind of words that a value belongs to, 0 for none.
func (c *claimWords) kindOf(value []word) int {
	if len(value) != 1 {
		return 0
	}
	if kind := c.kinds[value[0].base]; kind != 0 {
		return kind
	}
	return c.kinds[strings.ToLower(value[0].Form)]
}

// adjective reports whether a value is surely a quality: a thing has many.
func (c *claimWords) adjective(value []word) bool {
	w := &value[len(value)-1]
	if w.Kind != text.Word || w.Capital {
		return false
	}
	for _, end := range []string{"able", "ible", "ful", "less", "ous", "ive", "ed"} {
		if strings.HasSuffix(w.Word, end) {
			return true
		}
	}
	return c.adjectives[w.base]
}

func factorOf(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err) // of this file
	}
	return f
}
