package web

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core/run"
)

// A figure alone doesn't show whether things are getting better, so each figure is compared
// with the previous period of the same length. For some figures more is better, for others
// less.

// change is how a figure differs from the previous period.
type change struct {
	// Text is the difference with its sign and unit, and Is its meaning: better, worse or same.
	Text string `json:"text"`
	Is   string `json:"is"`
}

// Class is the colour of the change. Its words have the same meaning.
func (c *change) Class() string {
	return map[string]string{"better": "ok", "worse": "warn"}[c.Is]
}

// changeRule determines how a figure is compared.
type changeRule struct {
	// counts is how many things the figure is about in a period; a period with 0 isn't
	// compared. value is the figure.
	counts func(*run.Counts) int64
	value  func(*run.Counts) float64
	// less is whether a lower value is better.
	less bool
	// text is the difference with its sign and unit.
	text func(now, before float64) string
}

// changes are the rules of the overview's figures, in their order. A cost is compared per
// run: more runs cost more, which is neither good nor bad.
var changes = []changeRule{
	{ended, passRate, false, points("%+.1f pts")},
	{ended, correctedRate, false, points("%+.0f pts")},
	{passes, perPass, true, func(now, before float64) string { return fmt.Sprintf("%+.2f", now-before) }},
	{recalled, usedRate, false, points("%+.0f pts")},
	{costly, perRun, true, func(now, before float64) string { return fmt.Sprintf("%+.0f %% a run", 100*(now/before-1)) }},
}

func ended(c *run.Counts) int64    { return c.Ended() }
func passes(c *run.Counts) int64   { return c.Passed }
func recalled(c *run.Counts) int64 { return c.Recalled }
func costly(c *run.Counts) int64   { return c.CostNanos }

func passRate(c *run.Counts) float64 { return share(c.Passed, c.Ended()) }

// correctedRate is the share of runs that passed only after the first attempt.
func correctedRate(c *run.Counts) float64 { return share(c.Passed-c.First(), c.Ended()) }
func perPass(c *run.Counts) float64       { return share(c.Attempts, c.Passed) }
func usedRate(c *run.Counts) float64      { return share(c.Used, c.Recalled) }
func perRun(c *run.Counts) float64        { return share(c.CostNanos, c.Ended()) }

// share is the share of a in b; 0 if b is 0.
func share(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }

// points is the difference of two shares in percentage points.
func points(format string) func(now, before float64) string {
	return func(now, before float64) string { return fmt.Sprintf(format, 100*(now-before)) }
}

// of compares two periods; nil if the figure has no number in one of them.
func (r *changeRule) of(now, before *run.Counts) *change {
	if r.counts(now) == 0 || r.counts(before) == 0 {
		return nil
	}
	a, b := r.value(now), r.value(before)
	text := strings.Replace(r.text(a, b), "-", "−", 1)
	switch number, _, _ := strings.Cut(text, " "); {
	case strings.Trim(number, "+−0.") == "":
		return &change{"no change", "same"}
	case a < b == r.less:
		return &change{text, "better"}
	}
	return &change{text, "worse"}
}
