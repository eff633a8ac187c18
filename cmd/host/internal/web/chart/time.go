package chart

import (
	"fmt"
)

// Span is a stretch of time.
type Span struct {
	// Group and Name say what it was: the group is written where it changes.
	Group, Name string
	// From and To are in seconds.
	From, To float64
	// Label is written next to it, and Class is its colour.
	Label, Class string
}

// maxSpans is how many spans a timeline draws: the table has all.
const maxSpans = 80

// Timeline is spans one below another.
func Timeline(what string, spans []Span) Chart {
	const left, right, tall = 96.0, 834.0, 31.0
	c := Chart{Head: []string{"", "", "from", "to", ""}}
	end := 0.0
	for _, s := range spans {
		end = max(end, finite(s.To))
		c.Rows = append(c.Rows, []string{s.Group, s.Name, seconds(s.From), seconds(s.To), s.Label})
	}
	c.Text = fmt.Sprintf("%s: %d steps in %s", what, len(spans), seconds(end))
	drawn := spans[:min(len(spans), maxSpans)]
	if len(drawn) < len(spans) {
		c.Text += fmt.Sprintf("; the first %d are drawn", len(drawn))
	}
	scale := (right - left) / max(end, 0.001)
	height := 28 + tall*float64(len(drawn))
	var d drawing
	d.begin("chart", 870, height, c.Text)
	_, step := ceiling(max(end, 0.001))
	for t := 0.0; t <= end+step/100; t += step {
		x := left + scale*t
		d.add(`<line class="gridl" x1="%s" x2="%s" y1="20" y2="%s"/><text x="%s" y="12" text-anchor="middle">%s</text>`, at(x), at(x), at(height-2), at(x), seconds(t))
	}
	for i, s := range drawn {
		y := 30 + tall*float64(i)
		x, wide := left+scale*finite(s.From), max(scale*(finite(s.To)-finite(s.From)), 5)
		d.add(`<g><title>%s %s: %s, from %s to %s</title>`, s.Group, s.Name, s.Label, seconds(s.From), seconds(s.To))
		if i == 0 || drawn[i-1].Group != s.Group {
			if i > 0 {
				d.add(`<line class="gridl" x1="0" x2="860" y1="%s" y2="%s"/>`, at(y-7), at(y-7))
			}
			d.add(`<text class="strong" x="0" y="%s">%s</text>`, at(y+12), cut(s.Group, 4))
		}
		d.add(`<text x="18" y="%s">%s</text><rect class="f-%s" x="%s" y="%s" width="%s" height="17" rx="4"/>`, at(y+12), cut(s.Name, 13), s.Class, at(x), at(y), at(wide))
		if s.Label != "" {
			d.label(cut(s.Label, 40), x, wide, y+12)
		}
		d.WriteString("</g>")
	}
	c.SVG = d.end()
	return c
}

// label writes the label of a span: after its bar, or before it where there is no room after it, or
// else on the end of the bar, which then takes nearly the whole width.
func (d *drawing) label(text string, x, wide, y float64) {
	const right, left, letter = 620.0, 96.0, 6.5
	class, side, from := "", "start", x+wide+8
	if from > right {
		side, from = "end", x-8
		if from-left < letter*float64(len(text)) {
			class, from = "strong", x+wide-8
		}
	}
	d.add(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, at(from), at(y), side, text)
}

// seconds is a time in seconds.
func seconds(s float64) string {
	if s > 0 && s < 1 {
		return fmt.Sprintf("%.0f ms", s*1000)
	}
	return number(s) + " s"
}
