package chart

import (
	"fmt"
	"math"
	"slices"
)

// Turned is a value at a turn.
type Turned struct {
	Turn  int64
	Value float64
}

// Band is a range of values from a lower end on, up to the next band.
type Band struct {
	Name, Class string
	From        float64
}

// Score is a value by turn, over the bands that it may be in, the highest first. Below the last
// one there is no band.
func Score(what string, points []Turned, bands []Band) Chart {
	const width, left, right, top, bottom = 360.0, 40.0, 350.0, 14.0, 124.0
	c := Chart{Head: []string{"", what}}
	low, high := 0.0, 0.0
	for _, b := range bands {
		low, high = min(low, finite(b.From)), max(high, 1.25*finite(b.From))
		c.Rows = append(c.Rows, []string{b.Name + " from", share(b.From)})
	}
	for _, p := range points {
		low, high = min(low, finite(p.Value)), max(high, 1.1*finite(p.Value))
		c.Rows = append(c.Rows, []string{fmt.Sprintf("turn %d", p.Turn), fmt.Sprintf("%.3f", finite(p.Value))})
	}
	if high <= low {
		high = low + 1
	}
	y := func(v float64) float64 { return bottom - (bottom-top)*(min(max(finite(v), low), high)-low)/(high-low) }
	c.Text = what + ": no turn has counted yet"
	if len(points) > 0 {
		first, last := points[0], points[len(points)-1]
		c.Text = fmt.Sprintf("%s: %s at turn %d, %s at turn %d", what, share(first.Value), first.Turn, share(last.Value), last.Turn)
	}
	for _, b := range bands {
		c.Text += fmt.Sprintf("; %s from %s", b.Name, share(b.From))
	}
	var d drawing
	d.begin("chart small score", width, 150, c.Text)
	above := top - 6
	for _, b := range bands {
		d.add(`<rect class="f-%ssoft" x="%s" y="%s" width="%s" height="%s"/>`, b.Class, at(left), at(above), at(right-left), at(max(y(b.From)-above, 0)))
		above = y(b.From)
	}
	d.add(`<line class="base" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(left), at(right), at(y(0)), at(y(0)))
	label := math.Inf(-1)
	for _, b := range bands {
		// The names are in their bands, and the numbers left of them, not on top of each other.
		label = max(y(b.From)+4, label+12)
		d.add(`<line class="thr" x1="%s" x2="%s" y1="%s" y2="%s"/><text x="%s" y="%s" text-anchor="end">%s</text><text class="tiny" x="%s" y="%s">%s</text>`,
			at(left), at(right), at(y(b.From)), at(y(b.From)), at(left-6), at(label), share(b.From), at(left+4), at(y(b.From)-5), b.Name)
	}
	d.turned(points, left, right, y)
	c.SVG = d.end()
	return c
}

// turned draws the line of a score, with its last value.
func (d *drawing) turned(points []Turned, left, right float64, y func(float64) float64) {
	if len(points) == 0 {
		return
	}
	from, to := points[0].Turn, points[len(points)-1].Turn
	x := func(turn int64) float64 {
		if to == from {
			return (left + right) / 2
		}
		return left + 8 + (right-left-16)*float64(turn-from)/float64(to-from)
	}
	var line []point
	for _, p := range points {
		line = append(line, point{x(p.Turn), y(p.Value)})
	}
	d.add(`<polyline class="ln s-accent" points="%s"/>`, join(line))
	for i, p := range points {
		if len(points) <= 40 || i == len(points)-1 {
			d.add(`<g><title>turn %d: %s</title><circle class="f-accent" cx="%s" cy="%s" r="%s"/></g>`, p.Turn, share(p.Value), at(line[i].x), at(line[i].y), at(dot(i == len(points)-1)))
		}
	}
	last := line[len(line)-1]
	labelY := last.y - 9
	if slices.ContainsFunc(line, func(p point) bool { return p.x > last.x-36 && p.x < last.x && p.y < last.y-4 }) { // the line comes from above
		labelY = last.y + 17
	}
	d.add(`<text class="strong" x="%s" y="%s" text-anchor="end">%s</text>`, at(last.x+4), at(labelY), share(points[len(points)-1].Value))
	d.add(`<text x="%s" y="144">turn %d</text>`, at(left), from)
	if to != from {
		d.add(`<text x="%s" y="144" text-anchor="end">turn %d</text>`, at(right), to)
	}
}

// dot is the radius of a mark: the last one is what counts now.
func dot(last bool) float64 {
	if last {
		return 4.5
	}
	return 2.2
}
