package dream

import (
	"strings"

	"github.com/reflectory/reflectory/core/memory/text"
)

// alignment is two texts word by word: pairs that are the same word, and gaps where they
// differ, in the order of the texts.
type alignment struct {
	same [][2]*word
	gaps []gap
	// reordered is whether both have the same words in another order.
	reordered bool
}

// gap is the words of each text in a place where they differ; one of them may have none.
type gap struct{ a, b []word }

// maxTable limits the table of an alignment, and with it the work: if more differs, the
// texts are one gap.
const maxTable = 1 << 18

// align aligns two texts by a longest common subsequence of their words.
func align(a, b []word) alignment {
	var out alignment
	match := func(x, y *word) { out.same = append(out.same, [2]*word{x, y}) }
	start := 0
	for start < len(a) && start < len(b) && a[start].base == b[start].base {
		match(&a[start], &b[start])
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1].base == b[endB-1].base {
		endA, endB = endA-1, endB-1
		match(&a[endA], &b[endB])
	}
	middleA, middleB := a[start:endA], b[start:endB]
	if len(middleA) == 0 && len(middleB) == 0 {
		return out
	}
	out.reordered = len(onlyIn(middleA, middleB)) == 0 && len(onlyIn(middleB, middleA)) == 0
	if len(middleA)*len(middleB) > maxTable {
		out.gaps = []gap{{middleA, middleB}}
		return out
	}
	out.middle(middleA, middleB, match)
	return out
}

// middle aligns what is between the words that both texts begin and end with.
func (out *alignment) middle(a, b []word, match func(x, y *word)) {
	width := len(b) + 1
	common := make([]uint16, (len(a)+1)*width) // of the rest of both from a place on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].base == b[j].base {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var g gap
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i].base == b[j].base:
			if len(g.a)+len(g.b) > 0 {
				out.gaps, g = append(out.gaps, g), gap{}
			}
			match(&a[i], &b[j])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			g.a = append(g.a, a[i])
			i++
		default:
			g.b = append(g.b, b[j])
			j++
		}
	}
	if len(g.a)+len(g.b) > 0 {
		out.gaps = append(out.gaps, g)
	}
}

// difference is the difference that the alignment shows, or nil.
func (out *alignment) difference() *difference {
	if d := out.otherTense(); d != nil {
		return d
	}
	if d := out.otherBreak(); d != nil {
		return d
	}
	if d := out.otherDash(); d != nil {
		return d
	}
	if len(out.gaps) == 0 {
		return nil
	}
	if out.reordered {
		return out.gaps[0].as(Order)
	}
	for _, look := range []func(gap) (class string){personOf, nameOf} {
		for _, g := range out.gaps {
			if class := look(g); class != "" {
				return g.as(class)
			}
		}
	}
	onlyA, onlyB := true, true
	for _, g := range out.gaps {
		onlyA, onlyB = onlyA && len(g.b) == 0, onlyB && len(g.a) == 0
	}
	if onlyA || onlyB {
		return out.gaps[0].as(SaysMore)
	}
	for _, g := range out.gaps {
		if len(g.a) > 0 && len(g.b) > 0 {
			return g.as(Value)
		}
	}
	return out.gaps[0].as(Value)
}

// as is a gap as a difference. Long ones are cut: a report names what differs.
func (g gap) as(class string) *difference {
	return &difference{class, [2]string{phraseOf(g.a), phraseOf(g.b)}}
}

func phraseOf(list []word) string {
	const most = 8
	var words []string
	for i := range list[:min(most, len(list))] {
		words = append(words, list[i].Word)
	}
	if len(list) > most {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

// otherTense finds a verb in another tense: another form of the same word, or only the
// words that make a tense added or replaced. It also finds words that have no more in
// common than a stem.
func (out *alignment) otherTense() *difference {
	for _, p := range out.same {
		x, y := p[0], p[1]
		if x.tense != y.tense {
			return &difference{Tense, [2]string{x.Word, y.Word}}
		}
		if x.Form == y.Form && x.Word != y.Word && x.Kind == text.Word && !text.Plural(x.Word, y.Word) {
			return &difference{Value, [2]string{x.Word, y.Word}} // plan and plane have one stem
		}
	}
	l := lexicon()
	for _, g := range out.gaps {
		if out.reordered {
			break
		}
		tenses, other := 0, 0
		for _, list := range [][]word{g.a, g.b} {
			for i := range list {
				switch {
				case l.tenses[list[i].base]:
					tenses++
				case !l.grammar[list[i].Form]:
					other++
				}
			}
		}
		if tenses > 0 && (other == 0 || len(g.a) > 0 && len(g.b) > 0 && tenseOf(l, g.a) != tenseOf(l, g.b)) {
			return g.as(Tense)
		}
	}
	return nil
}

// tenseOf is the tense words of a list.
func tenseOf(l *wordLists, list []word) string {
	s := ""
	for i := range list {
		if l.tenses[list[i].base] {
			s += " " + list[i].Form
		}
	}
	return s
}

// otherBreak finds a comma or an end of a sentence that changes the meaning: after a negation ("No,
// restart it"), or where each text has one that the other lacks ("Ship it. On Friday rest" and
// "Ship it on Friday. Rest").
func (out *alignment) otherBreak() *difference {
	var onlyA, onlyB *word
	for _, p := range out.same {
		x, y := p[0], p[1]
		switch {
		case (x.Break == "") == (y.Break == ""):
		case x.class == Negation:
			return &difference{Negation, [2]string{x.Word + x.Break, y.Word + y.Break}}
		case x.Break != "":
			onlyA = x
		default:
			onlyB = y
		}
	}
	if onlyA != nil && onlyB != nil {
		return &difference{Order, [2]string{onlyA.Word + onlyA.Break, onlyB.Word + onlyB.Break}}
	}
	return nil
}

// otherDash finds a dash that changes the meaning: a man-eating fish isn't a man eating fish. Before
// other words than those that end in -ing, a dash says what the words say without it.
func (out *alignment) otherDash() *difference {
	for _, p := range out.same {
		if x, y := p[0], p[1]; x.Dash != y.Dash && strings.HasSuffix(x.Word, "ing") {
			return &difference{Value, [2]string{x.Word, y.Word}}
		}
	}
	return nil
}

// personOf is [Person] if a gap has a pronoun in both texts, or only a pronoun in one.
func personOf(g gap) string {
	l := lexicon()
	count := func(list []word) (pronouns, other int) {
		for i := range list {
			switch {
			case l.pronouns[list[i].Form]:
				pronouns++
			case !l.grammar[list[i].Form]:
				other++
			}
		}
		return pronouns, other
	}
	inA, otherA := count(g.a)
	inB, otherB := count(g.b)
	if inA > 0 && inB > 0 || inA+inB > 0 && otherA+otherB == 0 {
		return Person
	}
	return ""
}

// nameOf is [Name] if a gap has a name in both texts.
func nameOf(g gap) string {
	has := func(list []word) bool {
		for i := range list {
			w := &list[i]
			if w.Capital && (!w.First || !strings.HasSuffix(w.Word, "s") && len(list) == 1) || w.Kind == text.Exact && w.class == "" {
				return true
			}
		}
		return false
	}
	if has(g.a) && has(g.b) {
		return Name
	}
	return ""
}
