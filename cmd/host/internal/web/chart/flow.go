package chart

import (
	"fmt"
	"strings"
)

// State is a stage through which things move.
type State struct {
	Name string
	// Count is how many are in it, More whether there may be others, and Class its colour.
	Count int64
	More  bool
	Class string
	// URL leads to them; "" is nowhere.
	URL string
}

// counted is how many are in a state.
func (s *State) counted() string {
	if s.More {
		return fmt.Sprintf("%d+", s.Count)
	}
	return fmt.Sprint(s.Count)
}

// Flow is states from left to right, with how many are in each.
func Flow(what string, states []State) Chart {
	const step, width, height = 126.0, 94.0, 60.0
	c := Chart{Head: []string{"", "now"}}
	var said []string
	for _, s := range states {
		said = append(said, s.counted()+" "+s.Name)
		c.Rows = append(c.Rows, []string{s.Name, s.counted()})
	}
	c.Text = what + ": " + strings.Join(said, ", ")
	var d drawing
	// Not an image: its states are links.
	d.add(`<svg class="chart graph" viewBox="0 0 %s 84" role="group" aria-label="%s">`, at(step*float64(len(states))-step+width+6), c.Text)
	for i, s := range states {
		x := 1 + step*float64(i)
		if i > 0 {
			d.add(`<path class="edge" d="M%s 42h20"/><path class="tip" d="M%s 37.5l8 4.5-8 4.5z"/>`, at(x-step+width+2), at(x-11))
		}
		if s.URL != "" {
			d.add(`<a href="%s">`, s.URL)
		}
		d.add(`<rect class="node f-%ssoft" x="%s" y="12" width="94" height="60" rx="10"/><text class="big" x="%s" y="40">%s</text><text class="lab" x="%s" y="59">%s</text>`, s.Class, at(x), at(x+13), s.counted(), at(x+13), cut(s.Name, 12))
		if s.URL != "" {
			d.WriteString("</a>")
		}
	}
	c.SVG = d.end()
	return c
}
