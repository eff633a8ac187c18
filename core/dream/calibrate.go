package dream

import (
	"cmp"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
)

// A cosine means little by itself: one model gives two texts about other things .1, another
// .8. A threshold is measured for each model, on pairs that people labelled, and only a
// model with one may merge by its vectors.

// Calibration describes how well a model's vectors find texts that say the same, measured on
// labelled pairs.
type Calibration struct {
	Model string `json:"model"`
	// DedupThreshold is the cosine from which on two texts are near.
	DedupThreshold float64 `json:"dedup_threshold"`
	// Found is the share of the pairs that say the same which are near, and that the guard
	// lets through.
	Found float64 `json:"found"`
	// Wrong is the share of pairs that say something else among all that are near and that
	// the guard lets through: what would be merged wrongly.
	Wrong float64 `json:"wrong"`
	// NearButDifferent is the share of the pairs that say something else which are near:
	// what a merge by the cosine alone would do.
	NearButDifferent float64 `json:"near_but_different"`
	// Pairs is how many pairs were measured.
	Pairs int `json:"pairs"`
	// GuardVersion is the guard that they were measured with.
	GuardVersion int       `json:"guard_version"`
	At           time.Time `json:"at"`
}

const (
	// minCalibrationPairs is the least number of pairs of each label.
	minCalibrationPairs = 20
	// maxWrong is the most that may be merged wrongly, as a share.
	maxWrong = .01
	// unrelatedShare is the share of texts of different pairs that must be below a threshold.
	unrelatedShare = .999
	// maxUnrelated is how many texts are compared with each other for that.
	maxUnrelated = 1_000
)

// Calibrate measures a model: a and b are the vectors of the texts of the pairs. The threshold
// is the lowest cosine of a pair that says the same at which at most 1 % of what the guard
// lets through is wrong, and which 999 of 1,000 pairs of unrelated texts stay below.
// Model and At are left to the caller.
func Calibrate(pairs []LabelledPair, a, b [][]float32) (*Calibration, error) {
	same := 0
	for _, p := range pairs {
		if p.Same {
			same++
		}
	}
	if same < minCalibrationPairs || len(pairs)-same < minCalibrationPairs {
		return nil, sdk.Errorf(sdk.Invalid, "pairs_too_few", "%d pairs that say the same and %d that don't (at least %d of each)", same, len(pairs)-same, minCalibrationPairs).
			WithHint("label more pairs, or leave them out: the host has its own")
	}
	cosines, passed := make([]float64, len(pairs)), make([]bool, len(pairs))
	var thresholds []float64
	least := unrelated(a, b)
	for i, p := range pairs {
		cosines[i] = vector.Cosine(a[i], b[i])
		passed[i] = Compare(p.A, p.B).Class == ""
		if p.Same && cosines[i] >= least {
			thresholds = append(thresholds, cosines[i])
		}
	}
	slices.Sort(thresholds)
	for _, t := range thresholds {
		c := &Calibration{DedupThreshold: t, Pairs: len(pairs), GuardVersion: GuardVersion}
		if c.measure(pairs, cosines, passed, same); c.Wrong <= maxWrong && c.Found > 0 {
			return c, nil
		}
	}
	return nil, sdk.Errorf(sdk.Invalid, "calibration_failed", "no cosine of this model tells the pairs that say the same from others").
		WithHint("keep it out of merging: equal normal forms are merged without any model")
}

// measure counts what a threshold finds.
func (c *Calibration) measure(pairs []LabelledPair, cosines []float64, passed []bool, same int) {
	found, wrong, near := 0, 0, 0
	for i, p := range pairs {
		if cosines[i] < c.DedupThreshold {
			continue
		}
		switch {
		case p.Same && passed[i]:
			found++
		case !p.Same:
			near++
			if passed[i] {
				wrong++
			}
		}
	}
	c.Found = float64(found) / float64(same)
	c.NearButDifferent = float64(near) / float64(len(pairs)-same)
	c.Wrong = float64(wrong) / float64(max(1, found+wrong))
}

// unrelated is the cosine that nearly all texts of different pairs stay below.
func unrelated(a, b [][]float32) float64 {
	var cosines []float64
	for i := range a[:min(len(a), maxUnrelated)] {
		for j := range i {
			cosines = append(cosines, vector.Cosine(a[i], b[j]))
		}
	}
	slices.SortFunc(cosines, cmp.Compare[float64])
	if len(cosines) == 0 {
		return 0
	}
	return cosines[int(float64(len(cosines)-1)*unrelatedShare)]
}
