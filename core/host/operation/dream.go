package operation

import (
	"context"
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
			Name: "dream_dates", Method: "POST", Path: "/v1/dream/dates", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Show a text with its relative dates replaced by dates of the calendar.",
		}, onHost[DreamDates], dreamDates),
	}
}

// MaxDreamText is how long a text may be that housekeeping is tried on, in bytes: as long as
// a memory's content.
const MaxDreamText = 65_536

// DreamDates is a text whose relative dates are to be made absolute: see
// [dream.MakeDatesAbsolute].
type DreamDates struct {
	Text string `json:"text"`
	// At is the time that the text is seen from, in whose zone its days are: RFC 3339 with an
	// offset. The default is now.
	At string `json:"at,omitempty"`
	// KeepPhrase writes the date behind the phrase, and Ranges writes the first and the last
	// day of a week, month or year.
	KeepPhrase bool `json:"keep_phrase,omitempty"`
	Ranges     bool `json:"ranges,omitempty"`
}

func dreamDates(_ context.Context, c *Call, in *DreamDates) (*dream.DatedText, error) {
	if err := checkDreamText("text", in.Text); err != nil {
		return nil, err
	}
	at := c.Host.Now()
	if in.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, in.At); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "at_invalid", "at is %q, not RFC 3339 with an offset, such as 2026-04-15T12:00:00+02:00", core.Cut(in.At)).
				WithDetail("field", "at")
		}
	}
	dated := dream.MakeDatesAbsolute(in.Text, at, dream.DateOptions{KeepPhrase: in.KeepPhrase, Ranges: in.Ranges})
	return &dated, nil
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
