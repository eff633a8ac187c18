package workflow

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// block is a mapping reader with methods that only workflows need. Which keys it may have, and the
// words and bounds of their values, are in the tables of keys.
type block struct {
	*document.Reader
	keys    []Key
	ignored bool
}

// block begins to read a mapping that may have the keys of some blocks.
func (l *loader) block(n *document.Node, what string, names ...string) *block {
	b := &block{Reader: l.Mapping(n, what)}
	b.has(names...)
	return b
}

// has adds the keys of blocks to the keys that the mapping may have.
func (b *block) has(names ...string) {
	for _, name := range names {
		b.keys = append(b.keys, blocks()[name].Keys...)
	}
}

// key is a key's row in the tables.
func (b *block) key(name string) Key {
	for _, k := range b.keys {
		if k.Name == name {
			return k
		}
	}
	panic("workflow: no table has the key " + name + " of " + b.What)
}

// Ignore accepts any keys.
func (b *block) Ignore() { b.ignored = true }

// Done notes the keys that the mapping can't have.
func (b *block) Done() {
	if b.ignored {
		return
	}
	names := make([]string, len(b.keys))
	for i, k := range b.keys {
		names[i] = k.Name
	}
	slices.Sort(names)
	b.Known(b.Node, b.What, slices.Compact(names)...)
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

// name reads a required text of a given form.
func (b *block) name(key, hint string) string {
	if b.Need(key) == nil {
		return ""
	}
	n := b.Typed(key, document.Text)
	if n == nil {
		return ""
	}
	if !b.key(key).Form().MatchString(n.Text) {
		b.Add(n.At, hint, "%q can't be the %s of %s", core.Cut(n.Text), key, b.What)
	}
	return n.Text
}

// number reads a number within its bounds.
func (b *block) number(key string) float64 {
	least, most := b.key(key).Least, b.key(key).Most
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

// integer reads a whole number within its bounds.
func (b *block) integer(key string) int {
	n := b.Get(key)
	v := b.number(key)
	if v != math.Trunc(v) {
		b.Add(n.At, "", "%s must be a whole number, not %s", key, n.JSON(nil))
	}
	return int(v)
}

// duration reads a duration above zero, such as 30s.
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

// oneOf reads one of a key's words.
func (b *block) oneOf(key string) string { return b.among(key, b.key(key).Values) }

// among reads a text that must be in a list.
func (b *block) among(key string, values []string) string {
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

// texts reads a list of texts: words of the key, if it has any.
func (b *block) texts(key string) {
	n, words := b.Typed(key, document.List), b.key(key).Values
	if n == nil {
		return
	}
	for _, item := range n.Items {
		switch {
		case item.Kind != document.Text || item.Text == "":
			b.Add(item.At, "", "%s must hold texts, not %s", key, item.Kind)
		case words != nil && !slices.Contains(words, item.Text):
			b.Add(item.At, sdk.DidYouMean(item.Text, words, ""), "%s must hold some of %s, not %q", key, strings.Join(words, ", "), core.Cut(item.Text))
		}
	}
}
