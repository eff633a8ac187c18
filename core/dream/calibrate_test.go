package dream_test

import (
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/sdk"
)

// vectorsOf are vectors with given cosines between the two of each pair, and with another
// direction for each pair.
func vectorsOf(cosines []float64) (a, b [][]float32) {
	for i, c := range cosines {
		x, y := make([]float32, 2*len(cosines)), make([]float32, 2*len(cosines))
		x[2*i] = 1
		y[2*i], y[2*i+1] = float32(c), float32(math.Sqrt(1-c*c))
		a, b = append(a, x), append(b, y)
	}
	return a, b
}

func TestCalibrate_TakesTheLowestCosineThatMergesNothingWrong(t *testing.T) {
	var pairs []dream.LabelledPair
	var cosines []float64
	add := func(a, b string, same bool, cosine float64) {
		pairs, cosines = append(pairs, dream.LabelledPair{A: a, B: b, Same: same}), append(cosines, cosine)
	}
	for i := range 30 {
		add("we really deploy it", "we deploy it", true, .90+float64(i)/1000)
		add("it waits 30 s", "it waits 40 s", false, .99)
	}
	add("we really deploy this", "we deploy this", false, .905) // labelled so: the guard finds nothing
	add("nothing is like it", "something is like it", true, .1)
	a, b := vectorsOf(cosines)
	c, err := dream.Calibrate(pairs, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.DedupThreshold-.906) > 1e-5 || math.Abs(c.Found-24./31) > 1e-9 || c.Wrong != 0 || c.Pairs != 62 || math.Abs(c.NearButDifferent-30./31) > 1e-9 ||
		c.GuardVersion != dream.GuardVersion {
		t.Errorf("%+v", c)
	}
}

func TestCalibrate_Refuses(t *testing.T) {
	pair := func(same bool) dream.LabelledPair { return dream.LabelledPair{A: "really so", B: "so", Same: same} }
	var few, alike []dream.LabelledPair
	var cosines []float64
	for i := range 60 {
		few = append(few, pair(i > 2))
		alike = append(alike, pair(i%2 == 0))
		cosines = append(cosines, .95)
	}
	a, b := vectorsOf(cosines)
	for reason, pairs := range map[string][]dream.LabelledPair{"pairs_too_few": few, "calibration_failed": alike} {
		if c, err := dream.Calibrate(pairs, a, b); sdk.ReasonOf(err) != reason {
			t.Errorf("%s: %+v, %v", reason, c, err)
		}
	}
	for _, lines := range []string{"{", `{"a":"x"}`, `[]`} {
		if pairs, err := dream.LabelledPairs(strings.NewReader("\n" + lines)); sdk.ReasonOf(err) != "pairs_invalid" || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v, %v", lines, pairs, err)
		}
	}
}

// TestCalibrate_HashedVectorsFindLittle shows why the local embeddings merge nothing: a word
// of difference is as near as another way to say the same.
func TestCalibrate_HashedVectorsFindLittle(t *testing.T) {
	pairs, err := dream.LabelledPairs(nil)
	if err != nil {
		t.Fatal(err)
	}
	var a, b []string
	for _, p := range pairs {
		a, b = append(a, p.A), append(b, p.B)
	}
	va, errA := embed.Hashed{}.Embed(t.Context(), a)
	vb, errB := embed.Hashed{}.Embed(t.Context(), b)
	c, err := dream.Calibrate(pairs, va, vb)
	if errA != nil || errB != nil || err != nil {
		t.Fatal(errA, errB, err)
	}
	if c.Wrong > .01 || c.NearButDifferent < .1 {
		t.Errorf("%+v", c)
	}
	t.Logf("%+v", c)
}
