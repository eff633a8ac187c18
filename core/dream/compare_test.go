package dream_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
)

func scaled(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func TestCompare_SaysWhatDiffers(t *testing.T) {
	for _, c := range []struct{ a, b, class, wordA, wordB string }{
		{"JWT tokens expire after 1 hour", "JWT tokens expire after 24 hours", dream.Number, "1 hour", "24 hour"},
		{"The light is purple", "The light is cyan", dream.Value, "purple", "cyan"},
		{"Anna likes X", "Anna does not like X", dream.Negation, "", "not"},
		{"PR #260", "PR #480", dream.Identifier, "#260", "#480"},
		{"A calls B", "B calls A", dream.Order, "", ""},
		{"The site is down", "The site was down", dream.Tense, "is", "was"},
		{"No, restart it", "No restart it", dream.Negation, "no,", "no"},
		{"Ship it. On Friday rest", "Ship it on Friday. Rest", dream.Order, "", ""},
		{"We bought it", "We sold it", dream.Antonym, "bought", "sold"},
		{"Tests pass", "Tests passed", dream.Tense, "pass", "passed"},
	} {
		got := dream.Compare(c.a, c.b)
		if got.Merge || got.Class != c.class || got.Words == nil {
			t.Errorf("%q and %q: %+v, want %s", c.a, c.b, got, c.class)
			continue
		}
		if c.wordB != "" && *got.Words != [2]string{c.wordA, c.wordB} {
			t.Errorf("%q and %q: %q, want %q and %q", c.a, c.b, *got.Words, c.wordA, c.wordB)
		}
	}
	for _, pair := range [][2]string{
		{"The plane is late", "The plan is late"}, {"The tease is old", "The tea is old"}, {"Use the past form", "Use the paste form"},
		{"Python 3.10 is installed", "Python 3.1 is installed"}, {"Go 1.2", "Go 1.20"}, {"Agent 007 called", "Agent 7 called"},
		{"Take vitamin a", "Take vitamin"}, {"Anna will re-sign", "Anna will resign"}, {"It was in the 1990s", "It was 1990 s"}, {"Send it to US", "Send it to us"},
		{"A calls Tom", "Calls Tom"}, {"Wait 5 M", "Wait 5 m"}, {"It is -5", "It is 5"}, {"Planned it", "Planed it"},
		{"Never quit smoking", "Quit never smoking"}, {"Anna may quit", "Anna may"},
	} {
		if got := dream.Compare(pair[0], pair[1]); got.Merge || got.Class == "" {
			t.Errorf("%q: %+v", pair, got)
		}
	}
	for _, pair := range [][2]string{
		{"The caches are full", "the cache is full"}, {"Two boxes", "2 box"}, {"The policies apply", "The policy applies"}, {"Children play", "The child plays"},
		{"It takes 1.50 hours", "It takes 1.5 h"}, {"It costs $5.00", "it costs $5"}, {"Use plan A", "use plan A."}, {"He goes home", "They go home"},
	} {
		if got := dream.Compare(pair[0], pair[1]); got.Merge != (pair[0][0] != 'H') {
			t.Errorf("%q: %+v", pair, got)
		}
	}
	if got := dream.Compare("", "the"); got.Merge || got.Class != "" {
		t.Errorf("two texts without words: %+v", got)
	}
}

type judge struct {
	same  bool
	err   error
	asked int
}

func (j *judge) Same(context.Context, string, string) (bool, error) {
	j.asked++
	return j.same, j.err
}

func TestDecide(t *testing.T) {
	const soft, hard = "Anna plays the piano", "Anna doesn't play the violin"
	for _, c := range []struct {
		name       string
		by, a, b   string
		calibrated bool
		judge      *judge
		merge      bool
		class      string
		asked      int
	}{
		{"equal forms need no model", dream.ByForm, "It waits 30 s", "it waits thirty seconds", false, &judge{}, true, "", 0},
		{"equal forms in another tense", dream.ByForm, "It waits", "It waited", true, &judge{same: true}, false, dream.Tense, 0},
		{"near, nothing differs", dream.ByVectors, "Anna really sings", "Anna sings", true, &judge{}, true, "", 0},
		{"near by a model that says nothing", dream.ByVectors, "Anna really sings", "Anna sings", false, &judge{same: true}, false, dream.Uncalibrated, 0},
		{"soft, without a judge", dream.ByVectors, "Anna plays the violin", soft, true, nil, false, dream.Value, 0},
		{"soft, a judge says no", dream.ByVectors, "Anna plays the violin", soft, true, &judge{}, false, dream.Value, 1},
		{"soft, a judge says yes", dream.ByVectors, "Anna plays the violin", soft, true, &judge{same: true}, true, dream.Value, 1},
		{"soft, not near", dream.ByForm, "Anna plays the violin", soft, true, &judge{same: true}, false, dream.Value, 0},
		{"hard, no judge is asked", dream.ByVectors, "Anna plays the violin", hard, true, &judge{same: true}, false, dream.Negation, 0},
	} {
		var j dream.Judge
		if c.judge != nil {
			j = c.judge
		}
		got, err := dream.Decide(t.Context(), c.by, c.calibrated, c.a, c.b, j)
		if err != nil || got.Merge != c.merge || got.Class != c.class || c.judge != nil && c.judge.asked != c.asked {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	failing := &judge{err: errors.New("no answer")}
	if got, err := dream.Decide(t.Context(), dream.ByVectors, true, "Anna plays the violin", soft, failing); err == nil || got.Merge {
		t.Errorf("a judge that fails: %+v, %v", got, err)
	}
}

// TestCompare_LongTexts is about work: texts that differ everywhere aren't aligned word by
// word, and so take no table of a million by a million.
func TestCompare_LongTexts(t *testing.T) {
	a, b := strings.Repeat("alpha beta gamma delta ", 20_000), strings.Repeat("delta gamma epsilon alpha ", 20_000)
	if got := dream.Compare(a, b); got.Merge || got.Class != dream.Value {
		t.Errorf("%v %s", got.Merge, got.Class)
	}
	if got := dream.Compare(a, a+"."); !got.Merge {
		t.Errorf("%s", got.Class)
	}
}
