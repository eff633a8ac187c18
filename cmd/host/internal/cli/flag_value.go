package cli

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Flags whose values aren't texts read them while the command line is parsed, so that all wrong
// flags are reported together.

// parsed is a flag that isn't a plain text or number.
type parsed struct {
	kind  string // its type in help pages, such as int
	text  string // as it was given; "" if it wasn't
	parse func(text string) error
}

// Set implements [pflag.Value].
func (p *parsed) Set(text string) error {
	p.text = text
	return p.parse(text)
}

// String implements [pflag.Value].
func (p *parsed) String() string { return p.text }

// Type implements [pflag.Value].
func (p *parsed) Type() string { return p.kind }

// optional adds a flag for a number that is nil if the flag isn't given.
func optional[T int | float64](c *cobra.Command, into **T, name, usage string) {
	var kind string
	var parse func(string) error
	switch into := any(into).(type) {
	case **int:
		kind, parse = "int", func(text string) error {
			n, err := strconv.ParseInt(text, 0, strconv.IntSize)
			*into = new(int(n))
			return err
		}
	case **float64:
		kind, parse = "float64", func(text string) error {
			x, err := strconv.ParseFloat(text, 64)
			*into = &x
			return err
		}
	}
	c.Flags().Var(&parsed{kind: kind, parse: parse}, name, usage)
}

// repeated adds a flag for words of a named kind, which may be given several times.
func repeated[T ~string](c *cobra.Command, into *[]T, name, usage string) {
	c.Flags().Var(&parsed{kind: "stringArray", parse: func(text string) error {
		*into = append(*into, T(text))
		return nil
	}}, name, usage)
}

// metadataFlag adds the flag for a memory's or a link's metadata.
func metadataFlag(c *cobra.Command, into *json.RawMessage) {
	c.Flags().Var(&parsed{kind: "string", parse: func(text string) error {
		if *into = nil; text == "" {
			return nil
		}
		if !json.Valid([]byte(text)) {
			return sdk.Errorf(sdk.Invalid, "usage", "--metadata is not JSON: %w", json.Unmarshal([]byte(text), new(any))).
				WithHint(`write an object, such as --metadata '{"ticket": 17}'`)
		}
		*into = json.RawMessage(text)
		return nil
	}}, "metadata", "a `JSON` object")
}

// timeFlag adds a flag for a time: a date, a time, or how long ago it was.
func timeFlag(c *cobra.Command, into *time.Time, name, usage string) {
	c.Flags().Var(&parsed{kind: "string", parse: func(text string) (err error) {
		*into, err = parseSince("--"+name, text, core.SystemClock{}.Now())
		return err
	}}, name, usage+" `time`: a date, a time, or a duration such as 72h or 7d")
}

// sinceFlag adds the flag that leaves out what is older than a time.
func sinceFlag(c *cobra.Command, into *time.Time, what string) {
	timeFlag(c, into, "since", "leave out "+what+" from before this")
}

// parseSince reads a time: a date, a time with its zone, or how long ago it was. "" is the zero time.
func parseSince(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	ago, isDays := strings.CutSuffix(text, "d")
	if days, err := strconv.ParseUint(ago, 10, 16); isDays && err == nil {
		return now.Add(-time.Duration(days) * 24 * time.Hour), nil //nolint:gosec // 16 bits
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, sdk.Errorf(sdk.Invalid, "usage", "%s %q isn't a time", flag, core.Cut(text)).
		WithHint("write %s 7d, or 72h; a date such as %s; or a time such as 2026-11-21T08:00:00Z", flag, now.Format(time.DateOnly))
}

// wordFlag adds a flag for one of a few words.
func wordFlag(c *cobra.Command, into *string, name, usage string, words []string) {
	c.Flags().Var(&parsed{kind: "string", parse: func(text string) error {
		if *into = text; text == "" || slices.Contains(words, text) {
			return nil
		}
		return sdk.Errorf(sdk.Invalid, "usage", "--%s %q is not one of %s", name, core.Cut(text), strings.Join(words, ", ")).
			WithHint("%s", sdk.DidYouMean(text, words, ""))
	}}, name, usage)
}
