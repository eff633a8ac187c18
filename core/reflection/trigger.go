package reflection

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Due is whether a reflection on a namespace is due, and why or why not.
type Due struct {
	Due    bool   `json:"due"`
	Reason string `json:"reason"`
	// Importance and Observations are what was observed since the last completed reflection,
	// and Hours is how long ago it ended, in the units of the thresholds.
	Importance   float64 `json:"importance"`
	Observations int64   `json:"observations"`
	Hours        float64 `json:"hours"`
}

// ReadDue reads whether a reflection on a namespace is due, by the namespace's settings.
func ReadDue(r core.Reader, namespace string, g *core.Governance, now time.Time) (*Due, error) {
	c, err := readCount(r, namespace)
	if err != nil {
		return nil, err
	}
	s, err := ReadState(r, namespace)
	if err != nil {
		return nil, err
	}
	d := due(&c, &s, g.Reflection, now)
	return &d, nil
}

// due compares what was observed since the last reflection with the thresholds, in a fixed
// order. A value equal to a threshold reaches it.
func due(c *count, s *State, t core.ReflectionThresholds, now time.Time) Due {
	since := c.minus(s.Taken)
	d := Due{Importance: float64(since.Importance) / 1000, Observations: since.Observations, Hours: hours(c, s, now)}
	switch {
	case t.Importance > 0 && float64(since.Importance) >= math.Round(t.Importance*1000):
		d.Due = true
		d.Reason = fmt.Sprintf("accumulated_importance (%.1f) >= threshold (%.1f)", d.Importance, t.Importance)
	case t.Observations > 0 && float64(since.Observations) >= t.Observations:
		d.Due = true
		d.Reason = fmt.Sprintf("observations_since (%d) >= threshold (%s)", since.Observations, plain(t.Observations))
	case t.Hours > 0 && d.Hours >= t.Hours && c.Observations > s.Seen:
		d.Due = true
		d.Reason = fmt.Sprintf("hours_since_last (%.1f) >= threshold (%s)", d.Hours, plain(t.Hours))
	case t.Hours > 0 && d.Hours >= t.Hours:
		d.Reason = "no observations since the last reflection"
	default:
		d.Reason = "no trigger conditions met"
	}
	return d
}

// hours is how long ago the last reflection ended. Before the first reflection, it is how
// long ago the first observation was. It is 0 if the clock was set back.
func hours(c *count, s *State, now time.Time) float64 {
	last := s.At
	if last == nil {
		if c.Observations == 0 {
			return 0
		}
		last = &c.FirstAt
	}
	return max(0, now.Sub(*last).Hours())
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

const (
	// firstRest is how long observations queue nothing after a reflection that failed;
	// each further failure doubles it, up to maxRest.
	firstRest = 10 * time.Minute
	maxRest   = 24 * time.Hour
)

// rest is how long nothing is queued after a number of failures in a row.
func rest(failures int) time.Duration {
	wait := firstRest
	for range min(failures-1, 30) {
		if wait *= 2; wait >= maxRest {
			return maxRest
		}
	}
	return wait
}

// Failed records that a reflection failed: observations queue no reflection for a while.
func Failed(tx core.Tx, namespace string, now time.Time) error {
	s, err := ReadState(tx, namespace)
	if err != nil {
		return err
	}
	s.Failures++
	until := now.UTC().Round(0).Add(rest(s.Failures))
	s.RestUntil = &until
	return putState(tx, namespace, &s)
}
