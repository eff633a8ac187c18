package text

import (
	"slices"
	"strings"
)

// contractions are those that no rule expands.
var contractions = map[string][]string{
	"cannot": {"can", "not"}, "can't": {"can", "not"}, "won't": {"will", "not"}, "shan't": {"shall", "not"}, "ain't": {"is", "not"},
	"let's": {"let", "us"}, "i'm": {"i", "am"}, "dont": {"do", "not"}, "doesnt": {"does", "not"}, "isnt": {"is", "not"},
	"didnt": {"did", "not"}, "arent": {"are", "not"}, "wasnt": {"was", "not"}, "werent": {"were", "not"}, "hasnt": {"has", "not"},
	"havent": {"have", "not"}, "hadnt": {"had", "not"}, "couldnt": {"could", "not"}, "shouldnt": {"should", "not"}, "wouldnt": {"would", "not"},
	"it's": {"it", "is"}, "he's": {"he", "is"}, "she's": {"she", "is"}, "that's": {"that", "is"}, "there's": {"there", "is"},
	"what's": {"what", "is"}, "who's": {"who", "is"}, "here's": {"here", "is"}, "where's": {"where", "is"}, "how's": {"how", "is"},
}

// expand returns the words of a contraction; a possessive loses its ending.
func expand(s string) []string {
	if list := contractions[s]; list != nil {
		return list
	}
	if !strings.Contains(s, "'") {
		return []string{s}
	}
	for _, e := range [...][2]string{{"n't", "not"}, {"'re", "are"}, {"'ve", "have"}, {"'ll", "will"}, {"'d", "would"}} {
		if word, is := strings.CutSuffix(s, e[0]); is && word != "" {
			return append(slices.Clone(expand(strings.ReplaceAll(word, "'", ""))), e[1])
		}
	}
	if word, is := strings.CutSuffix(s, "'s"); is && word != "" {
		s = word
	}
	return expand(strings.ReplaceAll(s, "'", ""))
}

// spellings are words that are written in two ways and that no rule joins.
var spellings = map[string]string{
	"grey": "gray", "tyre": "tire", "cheque": "check", "programme": "program", "licence": "license", "defence": "defense", "offence": "offense",
	"centre": "center", "metre": "meter", "litre": "liter", "fibre": "fiber", "theatre": "theater", "catalogue": "catalog", "dialogue": "dialog",
	"analogue": "analog", "ageing": "aging", "judgement": "judgment", "ok": "okay", "whilst": "while", "amongst": "among", "mould": "mold",
	"colour": "color", "behaviour": "behavior", "favour": "favor", "favourite": "favorite", "honour": "honor", "labour": "labor",
	"neighbour": "neighbor", "flavour": "flavor", "humour": "humor", "harbour": "harbor", "rumour": "rumor", "vapour": "vapor",
	"cancelled": "canceled", "cancelling": "canceling", "labelled": "labeled", "labelling": "labeling", "travelled": "traveled",
	"travelling": "traveling", "modelled": "modeled", "modelling": "modeling", "signalled": "signaled", "signalling": "signaling",
	"aluminium": "aluminum", "practise": "practice", "practised": "practiced", "practising": "practicing", "artefact": "artifact", "kerb": "curb", "cosy": "cozy",
	"enquiry": "inquiry", "enquiries": "inquiries", "enquire": "inquire", "counsellor": "counselor", "traveller": "traveler", "jeweller": "jeweler",
	"jewellery": "jewelry", "sceptical": "skeptical", "sceptic": "skeptic", "manoeuvre": "maneuver", "manoeuvres": "maneuvers", "plough": "plow",
	"fulfil": "fulfill", "enrol": "enroll", "enrolment": "enrollment", "fulfilment": "fulfillment", "instalment": "installment", "skilful": "skillful",
	"towards": "toward", "afterwards": "afterward", "upwards": "upward", "downwards": "downward", "forwards": "forward", "learnt": "learned", "spelt": "spelled", "burnt": "burned",
	"dreamt": "dreamed", "orientated": "oriented", "moustache": "mustache", "pyjamas": "pajamas", "maths": "math", "mum": "mom", "calibre": "caliber", "lustre": "luster",
	"meagre": "meager", "sombre": "somber", "spectre": "specter", "pretence": "pretense", "endeavour": "endeavor", "armour": "armor", "rigour": "rigor", "vigour": "vigor",
	"saviour": "savior", "parlour": "parlor", "odour": "odor", "tumour": "tumor", "candour": "candor", "splendour": "splendor", "valour": "valor",
	"anaesthetic": "anesthetic", "anaemia": "anemia", "oestrogen": "estrogen", "foetus": "fetus", "paediatric": "pediatric", "encyclopaedia": "encyclopedia",
	"leukaemia": "leukemia", "haemoglobin": "hemoglobin", "diarrhoea": "diarrhea", "orthopaedic": "orthopedic", "caesarean": "cesarean",
	"marvellous": "marvelous", "woollen": "woolen", "fuelled": "fueled", "fuelling": "fueling", "levelled": "leveled", "levelling": "leveling", "dialled": "dialed",
	"dialling": "dialing", "tunnelled": "tunneled", "channelled": "channeled", "marshalled": "marshaled", "marshalling": "marshaling", "totalled": "totaled",
	"unlabelled": "unlabeled", "equalled": "equaled", "initialled": "initialed", "panelled": "paneled", "bevelled": "beveled", "quarrelled": "quarreled",
	"analyse": "analyze", "analysed": "analyzed", "analysing": "analyzing", "analyses": "analyzes", "catalyse": "catalyze", "paralyse": "paralyze",
}

// baseForm is a word in one spelling, and what of it the normal form has. A word that would
// become a number, a unit, a month or a contraction without its endings keeps them.
func baseForm(word string) (form, spelled string) {
	spelled = joinSpelling(word)
	form = Stem(spelled)
	for range 2 { // an ending may have hidden a spelling
		joined := joinSpelling(form)
		if joined == form {
			break
		}
		form = Stem(joined)
	}
	if form != word && readOtherwise[form] {
		return word, word
	}
	return form, spelled
}

// readOtherwise are words that by themselves are more than a word.
var readOtherwise = func() map[string]bool {
	set := map[string]bool{"the": true, "an": true, "a": true, "please": true}
	for word := range small {
		set[word] = true
	}
	for word := range tens {
		set[word] = true
	}
	for word := range scales {
		set[word] = true
	}
	for word := range months {
		set[word] = true
	}
	for word := range contractions {
		set[word] = true
	}
	for word, unit := range units {
		if unit != word {
			set[word] = true
		}
	}
	return set
}()

// keepIse are words that end in -ise in every spelling.
var keepIse = map[string]bool{
	"advise": true, "arise": true, "comprise": true, "compromise": true, "concise": true, "demise": true, "devise": true, "disguise": true,
	"enterprise": true, "exercise": true, "expertise": true, "franchise": true, "improvise": true, "merchandise": true, "otherwise": true,
	"precise": true, "premise": true, "promise": true, "raise": true, "revise": true, "supervise": true, "surprise": true, "televise": true,
	"likewise": true, "paradise": true, "praise": true, "noise": true, "cruise": true, "bruise": true, "treatise": true, "advertise": true,
}

// joinSpelling writes a word as it is in American English.
func joinSpelling(s string) string {
	if to := spellings[s]; to != "" {
		return to
	}
	if word, is := strings.CutSuffix(s, "s"); is {
		if to := spellings[word]; to != "" {
			return to + "s"
		}
	}
	if !strings.Contains(s, "is") {
		return s
	}
	for _, e := range [...][3]string{
		{"isation", "ization", "ise"}, {"isations", "izations", "ise"}, {"ising", "izing", "ise"}, {"ised", "ized", "ise"}, {"ises", "izes", "ise"},
		{"ise", "ize", "ise"}, {"iser", "izer", "ise"}, {"isers", "izers", "ise"},
	} {
		if word, is := strings.CutSuffix(s, e[0]); is && len(word) >= 3 && !keepIse[word+e[2]] {
			return word + e[1]
		}
	}
	return s
}

// stems are words whose form no rule gives, or must not change.
var stems = map[string]string{
	"does": "do", "did": "did", "has": "have", "are": "is", "am": "is", "were": "was", "used": "use", "using": "use", "uses": "use", "is": "is", "was": "was", "this": "this", "its": "its",
	"us": "us", "always": "always", "perhaps": "perhaps", "unless": "unless", "evening": "evening", "morning": "morning", "during": "during",
	"nothing": "nothing", "something": "something", "anything": "anything", "everything": "everything", "hundred": "hundred", "news": "news",
	"lens": "lens", "series": "series", "species": "species", "children": "child", "men": "man", "women": "woman", "people": "person",
	"knives": "knife", "shelves": "shelf", "wolves": "wolf", "thieves": "thief", "wives": "wife", "geese": "goose", "oxen": "ox", "loaves": "loaf", "mice": "mouse", "feet": "foot", "teeth": "tooth", "indices": "index", "indexes": "index", "matrices": "matrix", "vertices": "vertex",
	"criteria": "criterion", "analysis": "analysis", "dns": "dns", "https": "https", "tls": "tls", "aws": "aws", "sms": "sms", "gps": "gps",
	"ios": "ios", "macos": "macos", "kubernetes": "kubernetes", "redis": "redis", "postgres": "postgres", "less": "less", "as": "as", "yes": "yes",
	"canvas": "canvas", "alias": "alias", "aliases": "alias", "bias": "bias", "atlas": "atlas", "status": "status", "statuses": "status",
	"goes": "go", "going": "go", "lying": "lie", "dying": "die", "tying": "tie", "wednesday": "wednesday", "united": "united", "sometimes": "sometimes",
}

// Plural reports whether two words differ only by a plural, or the third person of a verb, in
// either direction. It expects lower case and one spelling.
func Plural(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if b == a+"s" || b == a+"es" || strings.HasSuffix(a, "y") && b == a[:len(a)-1]+"ies" {
		return true
	}
	to := func(s string) string {
		if stem := stems[s]; stem != "" {
			return stem
		}
		return s
	}
	return to(a) == to(b)
}

// Stem cuts a word's plural and the endings -ed and -ing, as often as there are any, so that embed
// and embedded are one. It expects lower case, and leaves words with letters other than a to z
// unchanged.
func Stem(s string) string {
	for {
		cut := stemOnce(s)
		if cut == s {
			return s
		}
		s = cut
	}
}

func stemOnce(s string) string {
	if to := stems[s]; to != "" {
		return to
	}
	if len(s) < 4 {
		return s
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return s
		}
	}
	s = cutPlural(s)
	if to := stems[s]; to != "" {
		return to
	}
	s = cutEnding(s)
	if len(s) > 4 && s[len(s)-1] == 'e' && s[len(s)-2] != 'e' {
		s = s[:len(s)-1] // configure, as in configured
	}
	return s
}

// cutPlural cuts -s, and writes -ies as -y.
func cutPlural(s string) string {
	switch {
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "shes"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "zzes"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ss"), strings.HasSuffix(s, "us"), strings.HasSuffix(s, "is"):
		return s
	case strings.HasSuffix(s, "s"):
		return s[:len(s)-1]
	}
	return s
}

// cutEnding cuts -ed and -ing if a word is left.
func cutEnding(s string) string {
	var word string
	switch {
	case strings.HasSuffix(s, "eed"):
		return s
	case strings.HasSuffix(s, "ied") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ed"):
		word = s[:len(s)-2]
	case strings.HasSuffix(s, "ing"):
		word = s[:len(s)-3]
	default:
		return s
	}
	n := len(word)
	if n < 3 || !strings.ContainsAny(word, "aeiouy") {
		return s
	}
	last, before := word[n-1], word[n-2]
	switch {
	case last == before && !strings.ContainsRune("aeiouylsz", rune(last)):
		return word[:n-1] // stopped
	case n == 3 && !vowel(word[0]) && vowel(before) && !vowel(last) && !strings.ContainsRune("wxy", rune(last)):
		return word + "e" // rated
	}
	return word
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
