package workflow

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// block reads a mapping key by key. Each method asks for one key, reports what
// is wrong with it, and gives the zero value where it is absent. The keys that
// were asked for are the ones that are known: done reports all others.
type block struct {
	*problems
	node  *node
	what  string
	known []string
}

// block begins to read a mapping. What isn't one is reported, and read as empty.
func (l *loader) block(n *node, what string) *block {
	if n == nil || n.kind != kindMapping {
		if n != nil {
			l.add(n.at, "", "%s must be a mapping, not %s", what, n.kind)
		}
		n = &node{kind: kindMapping}
	}
	return &block{problems: l.problems, node: n, what: what}
}

func (b *block) get(key string) *node {
	if !slices.Contains(b.known, key) {
		b.known = append(b.known, key)
	}
	return b.node.get(key)
}

// need is get for a key that must be there.
func (b *block) need(key string) *node {
	n := b.get(key)
	if n == nil && b.node.at.line > 0 {
		b.add(b.node.at, "", "%s needs the key %q", b.what, key)
	}
	return n
}

// done reports the keys that nobody asked for.
func (b *block) done() {
	slices.Sort(b.known)
	for _, e := range b.node.entries {
		if !slices.Contains(b.known, e.key) {
			b.add(e.at, didYouMean(e.key, b.known), "%s has no key %q", b.what, e.key)
		}
	}
}

// only reports a key that excludes another one that is there.
func (b *block) only(keys ...string) {
	var there []string
	for _, key := range keys {
		if b.get(key) != nil {
			there = append(there, key)
		}
	}
	if len(there) > 1 {
		b.add(b.node.get(there[1]).at, "", "%s takes only one of %s", b.what, strings.Join(there, " and "))
	}
}

// typed returns the key's value if it is of a kind.
func (b *block) typed(key string, want kind) *node {
	n := b.get(key)
	if n != nil && n.kind != want {
		b.add(n.at, "", "%s must be %s, not %s", key, want, n.kind)
		return nil
	}
	return n
}

func (b *block) text(key string) string {
	if n := b.typed(key, kindText); n != nil {
		return n.text
	}
	return ""
}

// name is text that must be there and have a form.
func (b *block) name(key string, form *regexp.Regexp, hint string) string {
	if b.need(key) == nil {
		return ""
	}
	n := b.typed(key, kindText)
	if n == nil {
		return ""
	}
	if !form.MatchString(n.text) {
		b.add(n.at, hint, "%q can't be the %s of %s", n.text, key, b.what)
	}
	return n.text
}

func (b *block) flag(key string) bool {
	n := b.typed(key, kindBool)
	return n != nil && n.text == "true"
}

// number is a number within bounds.
func (b *block) number(key string, least, most float64) float64 {
	n := b.typed(key, kindNumber)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err != nil || v < least || v > most:
		b.add(n.at, "", "%s must be %s, not %s", key, between(least, most), n.text)
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
	n := b.get(key)
	v := b.number(key, float64(least), float64(most))
	if v != math.Trunc(v) {
		b.add(n.at, "", "%s must be a whole number, not %s", key, n.text)
	}
	return int(v)
}

// duration is a time such as 30s, more than nothing.
func (b *block) duration(key string) time.Duration {
	n := b.get(key)
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.text)
	if n.kind != kindText || err != nil || d <= 0 {
		b.add(n.at, "write a number and a unit, such as 500ms, 30s or 2m", "%s must be a duration above zero", key)
		return 0
	}
	return d
}

// oneOf is text out of a list.
func (b *block) oneOf(key string, values ...string) string {
	n := b.typed(key, kindText)
	if n == nil {
		return ""
	}
	if !slices.Contains(values, n.text) {
		hint := ""
		if near := didYouMean(n.text, values); strings.HasPrefix(near, "did") {
			hint = near
		}
		b.add(n.at, hint, "%s must be one of %s, not %q", key, strings.Join(values, ", "), n.text)
		return ""
	}
	return n.text
}
