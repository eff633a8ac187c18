package chart

import (
	"fmt"
	"slices"
	"strings"
)

// Sparkline is values in their order, as small as a word. what names them, such as "score".
func Sparkline(what string, values []float64, class string) Chart {
	const width, height, edge = 96.0, 24.0, 3.0
	c := Chart{Head: []string{"", what}}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = number(v)
		c.Rows = append(c.Rows, []string{fmt.Sprint(i + 1), texts[i]})
	}
	shown := texts
	if len(shown) > 12 {
		shown = slices.Concat(texts[:5], []string{"…"}, texts[len(texts)-5:])
	}
	c.Text = what + " " + strings.Join(shown, ", ")
	var d drawing
	d.add(`<svg class="spark" viewBox="0 0 %s %s" preserveAspectRatio="none" role="img" aria-label="%s">`, at(width), at(height), c.Text)
	if points := spread(values, 2, width-2, height-edge, edge); len(points) > 0 {
		last := points[len(points)-1]
		d.add(`<polygon class="f-soft" points="2,%s %s %s,%s"/>`, at(height), join(points), at(last.x), at(height))
		d.add(`<polyline class="ln s-%s" points="%s"/>`, class, join(points))
	}
	c.SVG = d.end()
	return c
}

type point struct{ x, y float64 }

// spread puts values next to each other from left to right, the lowest at bottom and the
// highest at top. A single value is a line.
func spread(values []float64, left, right, bottom, top float64) []point {
	if len(values) == 0 {
		return nil
	}
	if len(values) == 1 {
		values = []float64{values[0], values[0]}
	}
	low, high := finite(slices.Min(values)), finite(slices.Max(values))
	points := make([]point, len(values))
	for i, v := range values {
		points[i].x = left + (right-left)*float64(i)/float64(len(values)-1)
		points[i].y = bottom
		if high > low {
			points[i].y = bottom - (bottom-top)*(finite(v)-low)/(high-low)
		}
	}
	return points
}

func join(points []point) string {
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = at(p.x) + "," + at(p.y)
	}
	return strings.Join(texts, " ")
}

// Step is a value from 0 to 1 with its name.
type Step struct {
	Name  string
	Value float64
	// Class is its colour, "" for the usual one.
	Class string
}

// Steps are values from 0 to 1 in their order, each with its number: up to 60 are marked.
func Steps(what string, steps []Step) Chart {
	const width, height, left, right, bottom, top = 344.0, 158.0, 44.0, 316.0, 128.0, 24.0
	c := Chart{Head: []string{"", what}}
	var points []point
	var texts []string
	for i, s := range steps {
		x := (left + right) / 2
		if len(steps) > 1 {
			x = left + (right-left)*float64(i)/float64(len(steps)-1)
		}
		points = append(points, point{x, bottom - (bottom-top)*min(max(finite(s.Value), 0), 1)})
		texts = append(texts, fmt.Sprintf("%.2f", finite(s.Value)))
		c.Rows = append(c.Rows, []string{s.Name, texts[i]})
	}
	c.Text = what + ": " + cut(strings.Join(texts, ", "), 300)
	var d drawing
	d.begin("chart small", width, height, c.Text)
	for i, n := range []string{"0.0", "0.5", "1.0"} {
		y := bottom - (bottom-top)*float64(i)/2
		d.add(`<line class="gridl" x1="28" x2="336" y1="%s" y2="%s"/><text x="0" y="%s">%s</text>`, at(y), at(y), at(y+4), n)
	}
	if len(points) > 0 {
		d.add(`<polygon class="f-soft" points="%s,128 %s %s,128"/><polyline class="ln s-accent" points="%s"/>`,
			at(points[0].x), join(points), at(points[len(points)-1].x), join(points))
	}
	each := 1 + len(steps)/6 // names that would run into each other are left out
	for i, p := range points {
		if len(points) > 60 && i < len(points)-1 {
			continue
		}
		s := steps[i]
		fill, stroke := "panel", Accent
		if s.Class != "" {
			fill, stroke = s.Class, s.Class
		}
		d.add(`<g><title>%s: %s</title><circle class="f-%s s-%s" stroke-width="2" cx="%s" cy="%s" r="%s"/>`, s.Name, texts[i], fill, stroke, at(p.x), at(p.y), at(radius(len(points))))
		if i%each == 0 || i == len(points)-1 {
			side, x, y := "start", p.x+9, p.y-8
			if p.x > 250 {
				side, x, y = "end", p.x-10, p.y+18
			}
			d.add(`<text class="strong" x="%s" y="%s" text-anchor="%s">%s</text><text x="%s" y="150" text-anchor="middle">%s</text>`, at(x), at(y), side, texts[i], at(p.x), cut(s.Name, 12))
		}
		d.WriteString("</g>")
	}
	c.SVG = d.end()
	return c
}

// radius is the radius of the marks for a number of points.
func radius(points int) float64 {
	if points > 20 {
		return 2.5
	}
	return 5
}
