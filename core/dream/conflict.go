package dream

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/sdk"
)

// Strategy determines which of two memories that contradict each other is kept.
type Strategy string

// The strategies.
const (
	KeepNewest            Strategy = "keep_newest"
	KeepHighestImportance Strategy = "keep_highest_importance" // of equal ones the newest
	EvidenceWeighted      Strategy = "evidence_weighted"       // the one whose uses went better, of equal ones the newest
	MergeConflicts        Strategy = "merge"                   // the newest, into which the other is merged
	Manual                Strategy = "manual"                  // both: people decide
)

// Strategies lists every strategy.
func Strategies() []Strategy {
	return []Strategy{KeepNewest, KeepHighestImportance, EvidenceWeighted, MergeConflicts, Manual}
}

func (s Strategy) valid() bool { return s == "" || slices.Contains(Strategies(), s) }

// names are the names of choices, for messages.
func names[T ~string](choices []T) string {
	var names []string
	for _, c := range choices {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// Conflict is a pair that says different things about one subject.
type Conflict struct {
	// Newer and Older are ids.
	Newer string `json:"newer"`
	Older string `json:"older"`
	// Class is how they differ.
	Class string `json:"class"`
}

const (
	// conflictShare is the least share of the longer text's words that two texts have in common
	// to be compared.
	conflictShare = .6
	// conflictCosine is the cosine of the vectors of a calibrated model from which two texts are
	// compared.
	conflictCosine = .8
	// lowImportance is the limit below which the importance of both memories must be for a
	// decision without people.
	lowImportance = .3
)

// conflicts finds contradictions, and decides those between memories of low importance. An
// error comes from the judge or the context.
func (p *planner) conflicts(ctx context.Context) error {
	var free []*draft
	for _, d := range p.drafts {
		if d.free() {
			free = append(free, d)
		}
	}
	for _, pair := range p.lookingAlike(free) {
		newer, older := free[pair[0]], free[pair[1]]
		if !newer.free() || !older.free() || newer.AgentID != older.AgentID || newer.distinct(older) || newer.OccurredAt != nil && older.OccurredAt != nil || linked(newer, older) {
			continue
		}
		class := contradiction(newer.Content, older.Content)
		if class == "" || otherSubject(&newer.Memory, &older.Memory, p.Title) {
			continue
		}
		if !isHard(class) && p.Judge != nil { // which may find that they say the same
			same, err := p.Judge.Same(ctx, newer.Content, older.Content)
			if err != nil && sdk.ReasonOf(err) != core.ReasonNoVerdict {
				return err
			}
			if err != nil || same {
				continue
			}
		}
		if newer.Importance >= lowImportance || older.Importance >= lowImportance || p.Options.Strategy == Manual {
			p.plan.Conflicts = append(p.plan.Conflicts, Conflict{newer.ID, older.ID, class})
			continue
		}
		p.decide(newer, older, class)
	}
	return ctx.Err()
}

// lookingAlike finds the pairs of memories that may be about one subject, sorted, as positions
// in a list that begins with the newest. They share most of their words, or their vectors, of a
// calibrated model, are near. One of each pair is new.
func (p *planner) lookingAlike(free []*draft) [][2]int {
	words := make([][]string, len(free))
	records, near := make([]Record, len(free)), map[string]float64{}
	for model := range p.Near {
		near[model] = conflictCosine
	}
	for i, d := range free {
		words[i] = contentWords(d.Content)
		// A record without a form is paired by its vector alone. Kinds don't matter here, agents do.
		records[i] = Record{ID: d.ID, Kind: d.AgentID, At: Anchor(&d.Memory), Model: d.EmbeddingModel, Vector: d.vector, New: d.fresh}
	}
	pairs := sharing(words, func(i, j int) bool { return free[i].fresh || free[j].fresh })
	for _, pair := range Candidates(records, CandidateOptions{Near: near}) {
		pairs = append(pairs, [2]int{pair.Newer, pair.Older})
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return slices.Compact(pairs)
}

// contentWords are the words of a text by which candidates are found, each once and sorted: those
// that a claim has, without articles, negations and how often it holds.
func contentWords(s string) (list []string) {
	l := lexicon()
	for _, w := range readWords(text.Tokens(s)) {
		if w.class != Negation && w.base != "do" && l.frequencies[w.base].level == 0 && !l.current[w.Word] {
			list = append(list, w.base)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// linked reports whether a link already shows how two memories are related.
func linked(a, b *draft) bool {
	return slices.ContainsFunc(a.links, func(l LinkRef) bool {
		return l.Other == b.ID && (l.Relation == core.RelationContradicts || l.Relation == core.RelationSupersedes || l.Relation == core.RelationReflectsOn)
	})
}

// decide adds the step that decides a contradiction.
func (p *planner) decide(newer, older *draft, class string) {
	winner, loser := newer, older
	strategy := cmp.Or(p.Options.Strategy, KeepNewest)
	switch strategy {
	case KeepHighestImportance:
		if older.Importance > newer.Importance {
			winner, loser = older, newer
		}
	case EvidenceWeighted:
		if worth(&older.Signals) > worth(&newer.Signals) {
			winner, loser = older, newer
		}
	case MergeConflicts:
		if len(Kept(&newer.Memory, &older.Memory, p.Title).Tags) <= maxTags && newer.Kind == older.Kind {
			p.merge(newer, older, string(MergeConflicts), map[string]string{"class": class})
			return
		}
	}
	s := p.step(StepConflict, string(strategy), map[string]string{
		"class": class, "valid_until": Anchor(&winner.Memory).Format(time.RFC3339Nano),
	}, winner, loser)
	s.move(loser, core.StateArchived)
	link(winner, core.RelationContradicts, loser)
}

// worth is the share of a memory's uses that went well, reduced if there are few.
func worth(s *core.Signals) float64 {
	return (float64(s.Successes) + float64(.5*float64(s.Partials)) + 1) / float64(s.Uses()+2)
}

// sharing finds the pairs of sets of words, each in order, that have most of their words in
// common. Such a pair has one of its rarest words in common, so only those are looked up.
func sharing(sets [][]string, wanted func(i, j int) bool) (pairs [][2]int) {
	count := map[string]int{}
	for _, set := range sets {
		for _, w := range set {
			count[w]++
		}
	}
	by := map[string][]int{}
	for j, set := range sets {
		rare := slices.Clone(set)
		slices.SortFunc(rare, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) })
		rare = rare[:len(rare)-needed(len(rare))+min(1, len(rare))]
		met := map[int]bool{}
		for _, w := range rare {
			for _, i := range by[w] {
				if !met[i] && wanted(i, j) && common(sets[i], set) >= needed(max(len(sets[i]), len(set))) {
					pairs = append(pairs, [2]int{i, j})
				}
				met[i] = true
			}
			by[w] = append(by[w], j)
		}
	}
	return pairs
}

// needed is how many words of a set another must have.
func needed(n int) int { return int(math.Ceil(float64(conflictShare*float64(n)) - 1e-9)) }

// common counts the words of two sets in order that both have.
func common(a, b []string) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
