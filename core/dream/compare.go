package dream

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/sdk"
)

// GuardVersion is the version of [Compare]: it is raised with each change after which at
// least one pair of texts has another answer.
const GuardVersion = 2

// Comparison shows whether two texts say the same, and if not, what differs.
type Comparison struct {
	// Merge is whether two memories of these texts would be merged.
	Merge bool `json:"merge"`
	// By is what made them candidates: [ByForm] or [ByVectors]; "" if nothing does.
	By string `json:"by,omitempty"`
	// Class is what differs, one of [Classes]; "" if the guard finds no difference.
	Class string `json:"class,omitempty"`
	// Hard is whether the class is one that no judge may overrule.
	Hard bool `json:"hard,omitempty"`
	// Words are what differs, in the first and in the second text; either may be "".
	Words *[2]string `json:"words,omitempty"`
	// Forms are the normal forms.
	Forms [2]string `json:"forms"`
}

// Compare compares two texts: they merge if their normal forms are equal and the guard
// finds no difference. The guard also compares texts with different forms: a pair of
// [ByVectors] needs its answer, see [Decide]. The answer for (b, a) differs only in the
// order of Words and Forms. The time is proportional to the length of the texts.
func Compare(a, b string) Comparison {
	ta, tb := text.Active(text.Tokens(a)), text.Active(text.Tokens(b))
	c := Comparison{Forms: [2]string{text.Form(ta), text.Form(tb)}}
	turned := slices.CompareFunc(ta, tb, func(x, y text.Token) int { return strings.Compare(x.Word, y.Word) }) > 0
	if turned { // the guard has one answer for both orders
		ta, tb = tb, ta
	}
	if d := guard(ta, tb); d != nil {
		if turned {
			d.words[0], d.words[1] = d.words[1], d.words[0]
		}
		c.Class, c.Hard, c.Words = d.class, isHard(d.class), &d.words
	}
	if c.Forms[0] == c.Forms[1] && c.Forms[0] != "" {
		c.By = ByForm
		c.Merge = c.Class == ""
	}
	return c
}

// Judge decides whether two texts say the same if the guard finds only a soft difference.
// It is an evaluator that gets both texts. Nothing is decided about a pair for which its error
// has the reason [core.ReasonNoVerdict].
type Judge interface {
	Same(ctx context.Context, a, b string) (bool, error)
}

// remembered asks a judge once about each pair of texts: an answer may cost a call of a model,
// and a pair that isn't merged is looked at again for a conflict.
type remembered struct {
	judge   Judge
	answers map[[2]string]bool
}

// Same implements [Judge].
func (r remembered) Same(ctx context.Context, a, b string) (bool, error) {
	pair := [2]string{min(a, b), max(a, b)}
	if same, asked := r.answers[pair]; asked {
		return same, nil
	}
	same, err := r.judge.Same(ctx, a, b)
	if err == nil {
		r.answers[pair] = same
	}
	return same, err
}

// Decide decides about a candidate pair of two texts. A pair of [ByForm] merges where the
// guard finds nothing that differs; a pair of [ByVectors] too, if its model is calibrated,
// and else it is refused as [Uncalibrated]. The judge, if there is one, is asked about a pair
// of [ByVectors] with a soft difference, and may overrule it. An error is the judge's.
func Decide(ctx context.Context, by string, calibrated bool, a, b string, judge Judge) (Comparison, error) {
	c := Compare(a, b)
	if by != ByVectors || c.By == ByForm {
		return c, nil
	}
	c.By = ByVectors
	switch {
	case c.Class == "" && calibrated:
		c.Merge = true
	case c.Class == "":
		c.Class = Uncalibrated
	case !c.Hard && judge != nil:
		same, err := judge.Same(ctx, a, b)
		if err != nil && sdk.ReasonOf(err) != core.ReasonNoVerdict {
			return c, err
		}
		c.Merge = same
	}
	return c, nil
}
