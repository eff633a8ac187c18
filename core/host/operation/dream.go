package operation

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/sdk"
)

// dreams are the operations of housekeeping.
func dreams() []Operation {
	return []Operation{
		define(Operation{
			Name: "dream_dates", main: true, Method: "POST", Path: "/v1/dream/dates", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Show a text with its relative dates replaced by calendar dates.",
		}, onHost[DreamDates], dreamDates),
		define(Operation{
			Name: "dream_compare", main: true, Method: "POST", Path: "/v1/dream/compare", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Say whether memories with two texts would be merged, and what differs.",
		}, onHost[DreamCompare], dreamCompare),
		define(Operation{
			Name: "dream_calibrate", main: true, Method: "POST", Path: "/v1/dream/calibrate", Scope: core.ScopeOperate, Idempotent: true, Long: true,
			Doc: "Measure the embedding model on labelled pairs, so that memories may be merged by their vectors.",
		}, inAll[DreamCalibrate], dreamCalibrate),
	}
}

// MaxDreamText is the longest text on which housekeeping can be tried, in bytes: as long as
// a memory's content.
const MaxDreamText = 65_536

// DreamDates has a text whose relative dates should become absolute: see
// [dream.MakeDatesAbsolute].
type DreamDates struct {
	Text string `json:"text"`
	// At is the time to which relative dates refer, whose zone determines the days: RFC 3339
	// with an offset. The default is now.
	At string `json:"at,omitempty"`
	// KeepPhrase writes the date after the phrase, and Ranges writes the first and the last
	// day of a week, month or year.
	KeepPhrase bool `json:"keep_phrase,omitempty"`
	Ranges     bool `json:"ranges,omitempty"`
}

func (in *DreamDates) at() (time.Time, error) {
	at, err := time.Parse(time.RFC3339, in.At)
	if err != nil {
		return at, sdk.Errorf(sdk.Invalid, "at_invalid", "at is %q, not RFC 3339 with an offset, such as 2026-04-15T12:00:00+02:00", core.Cut(in.At)).
			WithDetail("field", "at")
	}
	return at, nil
}

func (in *DreamDates) check() error {
	var wrong error
	if in.At != "" {
		_, wrong = in.at()
	}
	return core.JoinErrors(checkDreamText("text", in.Text), wrong)
}

func dreamDates(_ context.Context, c *Call, in *DreamDates) (*dream.DatedText, error) {
	at := c.Host.Config.Clock.Now()
	if in.At != "" {
		var err error
		if at, err = in.at(); err != nil {
			return nil, err
		}
	}
	options := dream.Options{KeepPhrase: in.KeepPhrase, Ranges: in.Ranges}.Or(c.Host.Config.Settings.Dream())
	dated := dream.MakeDatesAbsolute(in.Text, at, options.DateOptions())
	return &dated, nil
}

// DreamCompare has two texts to compare: see [dream.Compare].
type DreamCompare struct {
	A string `json:"a"`
	B string `json:"b"`
}

func (in *DreamCompare) check() error {
	return core.JoinErrors(checkDreamText("a", in.A), checkDreamText("b", in.B))
}

func dreamCompare(ctx context.Context, c *Call, in *DreamCompare) (*dream.Comparison, error) {
	return c.Host.Dreams.Compare(ctx, in.A, in.B)
}

// MaxLabelledPairs is how many pairs a calibration may have: embedding each text may cost
// money.
const MaxLabelledPairs = 5_000

// DreamCalibrate has labelled pairs to measure the host's embedding model on.
type DreamCalibrate struct {
	// Pairs are at most [MaxLabelledPairs]; without them the host's own are used.
	Pairs []dream.LabelledPair `json:"pairs,omitempty"`
}

func (in *DreamCalibrate) check() error {
	if n := len(in.Pairs); n > MaxLabelledPairs {
		return sdk.Errorf(sdk.Invalid, "pairs_invalid", "%d labelled pairs (limit %d)", n, MaxLabelledPairs).
			WithDetail("field", "pairs").WithDetail("most", MaxLabelledPairs).WithDetail("got", n)
	}
	var problems []error
	for i := range in.Pairs {
		for n, text := range []string{in.Pairs[i].A, in.Pairs[i].B} {
			field := []string{"a", "b"}[n]
			if err := checkDreamText(field, text); err != nil && len(problems) < maxPairProblems {
				problems = append(problems, sdk.Errorf(sdk.Invalid, "pairs_invalid", "pair %d: %w", i+1, err).
					WithDetail("pair", i+1).WithDetail("field", fmt.Sprintf("pairs[%d].%s", i, field)))
			}
		}
	}
	return core.JoinErrors(problems...)
}

// maxPairProblems is how many wrong texts a refusal names.
const maxPairProblems = 64

func dreamCalibrate(ctx context.Context, c *Call, in *DreamCalibrate) (*dream.Calibration, error) {
	return c.Host.Dreams.Calibrate(ctx, in.Pairs)
}

// checkDreamText refuses a text that no memory could have.
func checkDreamText(field, text string) error {
	switch {
	case text == "":
		return sdk.Errorf(sdk.Invalid, field+"_invalid", "%s is missing", field).WithDetail("field", field)
	case len(text) > MaxDreamText:
		return sdk.Errorf(sdk.Invalid, field+"_invalid", "%s has %d bytes (limit %d)", field, len(text), MaxDreamText).
			WithDetail("field", field).WithDetail("most", MaxDreamText).WithDetail("got", len(text))
	case !utf8.ValidString(text):
		return sdk.Errorf(sdk.Invalid, field+"_invalid", "%s is not UTF-8 text", field).WithDetail("field", field)
	}
	return nil
}
