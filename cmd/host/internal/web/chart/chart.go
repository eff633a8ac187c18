// Package chart draws small charts as SVG, which a page shows without a script.
//
// A chart is never only a picture: it describes in a sentence what it shows, and has its
// numbers as a table. Its shapes have classes, such as "ok" and "bad", to which the style
// sheet gives colours, for light and for dark pages. Nobody has to understand a colour:
// each shape has a title that describes it.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Chart is a picture with its content in words and in numbers.
type Chart struct {
	// SVG is the picture. Every text in it is escaped.
	SVG template.HTML
	// Text describes what the picture shows.
	Text string
	// Head and Rows are its numbers.
	Head []string
	Rows [][]string
	// Key is what its colours mean.
	Key []Meaning
}

// Meaning is what a colour means.
type Meaning struct{ Text, Class string }

// Colours are the names of the classes that shapes can have.
const (
	OK     = "ok"
	Warn   = "warn"
	Bad    = "bad"
	Info   = "info"
	Violet = "violet"
	Accent = "accent"
	Mute   = "mute"
	Ink    = "ink"
)

// drawing is an SVG that is being written.
type drawing struct{ strings.Builder }

// add writes markup, in which the arguments of %s are escaped. Other verbs are for numbers.
func (d *drawing) add(format string, args ...any) {
	for i, a := range args {
		if s, is := a.(string); is {
			args[i] = template.HTMLEscapeString(s)
		}
	}
	fmt.Fprintf(d, format, args...)
}

// begin opens a picture of a size, for which text says what it shows.
func (d *drawing) begin(class string, width, height float64, text string) {
	d.add(`<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s">`, class, at(width), at(height), text)
}

// end closes the picture.
func (d *drawing) end() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String()) //nolint:gosec // add escaped every text in it
}

// at is a number of the picture, to a tenth.
func at(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		n = 0
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}

// number is a value as people read it.
func number(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", n), "0"), ".")
}

// finite is a number that can be drawn: 0 for what isn't one.
func finite(n float64) float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}

// ceiling is a round number that isn't below n, and the step of its grid.
func ceiling(n float64) (top, step float64) {
	if n <= 0 {
		return 1, 1
	}
	step = math.Pow(10, math.Floor(math.Log10(n)))
	for _, part := range []float64{0.2, 0.5, 1, 2, 5} {
		if n/(step*part) <= 4 {
			step *= part
			break
		}
	}
	return math.Ceil(n/step) * step, step
}
