package workflow

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// block is a mapping reader with methods that only workflows need.
type block struct{ *document.Reader }

func (l *loader) block(n *document.Node, what string) *block {
	return &block{l.Mapping(n, what)}
}

// only reports a key that can't be combined with another one that is present.
func (b *block) only(keys ...string) {
	var there []string
	for _, key := range keys {
		if b.Get(key) != nil {
			there = append(there, key)
		}
	}
	if len(there) > 1 {
		b.Add(b.Node.Get(there[1]).At, "", "%s takes only one of %s", b.What, strings.Join(there, " and "))
	}
}

// name is a required text of a given form.
func (b *block) name(key string, form *regexp.Regexp, hint string) string {
	if b.Need(key) == nil {
		return ""
	}
	n := b.Typed(key, document.Text)
	if n == nil {
		return ""
	}
	if !form.MatchString(n.Text) {
		b.Add(n.At, hint, "%q can't be the %s of %s", core.Cut(n.Text), key, b.What)
	}
	return n.Text
}

// number is a number within bounds.
func (b *block) number(key string, least, most float64) float64 {
	n := b.Typed(key, document.Number)
	if n == nil {
		return 0
	}
	text := string(n.JSON(nil))
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < least || v > most {
		b.Add(n.At, "", "%s must be %s, not %s", key, between(least, most), text)
		return least
	}
	return v
}

func between(least, most float64) string {
	text := strconv.FormatFloat(least, 'f', -1, 64)
	if most == math.MaxFloat64 || most == math.MaxInt32 {
		return "at least " + text
	}
	return "from " + text + " to " + strconv.FormatFloat(most, 'f', -1, 64)
}

// integer is a whole number within bounds.
func (b *block) integer(key string, least, most int) int {
	n := b.Get(key)
	v := b.number(key, float64(least), float64(most))
	if v != math.Trunc(v) {
		b.Add(n.At, "", "%s must be a whole number, not %s", key, n.JSON(nil))
	}
	return int(v)
}

// duration is a duration such as 30s, above zero.
func (b *block) duration(key string) time.Duration {
	n := b.Get(key)
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.Text)
	if n.Kind != document.Text || err != nil || d <= 0 {
		b.Add(n.At, "write a number and a unit, such as 500ms, 30s or 2m", "%s must be a duration above zero", key)
		return 0
	}
	return d
}

// oneOf is a text from a list.
func (b *block) oneOf(key string, values ...string) string {
	n := b.Get(key)
	if n == nil {
		return ""
	}
	if n.Kind != document.Text {
		b.Add(n.At, "", "%s must be one of %s, not %s", key, strings.Join(values, ", "), n.Kind)
		return ""
	}
	if !slices.Contains(values, n.Text) {
		b.Add(n.At, sdk.DidYouMean(n.Text, values, ""), "%s must be one of %s, not %q", key, strings.Join(values, ", "), core.Cut(n.Text))
		return ""
	}
	return n.Text
}
