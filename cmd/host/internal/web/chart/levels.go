package chart

import (
	"fmt"
	"math"
	"strings"
)

// Level is a number from 0 to 1, with the limits that counted.
type Level struct {
	Name  string
	Value float64
	// Note describes where the value is from, on a short line; "" if nothing has to be said.
	Note string
	// Class is the colour of its bar.
	Class  string
	Limits []Limit
}

// Limit is a number from 0 to 1 with which a level is compared.
type Limit struct {
	// Op is how: at least, at most, and so on, as a sign.
	Op    string
	Value float64
	// Met is whether the comparison holds.
	Met bool
}

// The measures of levels, in units of the picture.
const (
	levelRight, levelWide = 392.0, 440.0
	levelHigh             = 70.0
)

// Levels are bars from 0 to 1 below each other, each with its number and its limits.
func Levels(what string, levels []Level) Chart {
	c := Chart{Head: []string{"", "value", "limits", "from"}}
	var said []string
	for _, l := range levels {
		limits := make([]string, len(l.Limits))
		for i, n := range l.Limits {
			limits[i] = n.String() + map[bool]string{true: " (holds)", false: " (doesn’t hold)"}[n.Met]
		}
		text := l.Name + " " + share(l.Value)
		if len(limits) > 0 {
			text += " against " + strings.Join(limits, ", ")
		}
		said = append(said, text)
		c.Rows = append(c.Rows, []string{l.Name, share(l.Value), strings.Join(limits, ", "), l.Note})
	}
	c.Text = what + ": " + strings.Join(said, "; ")
	var d drawing
	d.begin("chart small levels", levelWide, levelHigh*float64(len(levels)), c.Text)
	for i, l := range levels {
		d.level(&l, levelHigh*float64(i)+32, said[i])
	}
	c.SVG = d.end()
	return c
}

// String is the limit as it is written at its mark.
func (l Limit) String() string { return l.Op + " " + share(l.Value) }

// level draws a level whose bar begins at a height.
func (d *drawing) level(l *Level, y float64, title string) {
	x := func(v float64) float64 { return levelRight * min(max(finite(v), 0), 1) }
	name := y - 7
	if len(l.Limits) > 0 { // above their labels
		name = y - 21
	}
	d.add(`<g><title>%s</title><text class="strong" x="0" y="%s">%s</text>`, title, at(name), cut(l.Name, 48))
	d.add(`<rect class="f-mutesoft" x="0" y="%s" width="%s" height="10" rx="5"/>`, at(y), at(levelRight))
	if l.Value > 0 {
		d.add(`<rect class="f-%s" x="0" y="%s" width="%s" height="10" rx="5"/>`, l.Class, at(y), at(max(x(l.Value), 4)))
	}
	d.add(`<text class="strong" x="%s" y="%s" text-anchor="end">%s</text>`, at(levelWide-2), at(y+9), share(l.Value))
	var taken []float64 // where labels are, which mustn't cover each other
	for _, n := range l.Limits {
		d.add(`<line class="gap" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(x(n.Value)), at(x(n.Value)), at(y), at(y+10))
		d.add(`<line class="thr" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(x(n.Value)), at(x(n.Value)), at(y-5), at(y+15))
		// A label is on the side on which its comparison holds.
		anchor, label, middle := "start", x(n.Value)-1, x(n.Value)+16
		if strings.HasPrefix(n.Op, "<") || strings.HasPrefix(n.Op, "≤") {
			anchor, label, middle = "end", x(n.Value)+1, x(n.Value)-16
		}
		free := true
		for _, other := range taken {
			free = free && math.Abs(other-middle) > 34
		}
		if free {
			taken = append(taken, middle)
			d.add(`<text class="tiny" x="%s" y="%s" text-anchor="%s">%s</text>`, at(label), at(y-8), anchor, n.String())
		}
	}
	if l.Note != "" {
		d.add(`<text class="tiny" x="0" y="%s">%s</text>`, at(y+25), cut(l.Note, 64))
	}
	d.WriteString("</g>")
}

// share is a number around 0 to 1, to two places.
func share(n float64) string {
	if n = finite(n); n <= -0.005 {
		return "−" + share(-n)
	}
	return strings.TrimPrefix(fmt.Sprintf("%.2f", math.Abs(n)), "0")
}
