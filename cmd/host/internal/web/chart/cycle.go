package chart

import (
	"fmt"
	"strings"
)

// GridState is a state at a place of a grid.
type GridState struct {
	State
	// Col and Row are counted from 0.
	Col, Row int
}

// Move is how things go from one state to another.
type Move struct {
	From, To string
	// Text is what makes them go, and Count how many went; 0 is none, or not known.
	Text  string
	Count int64
	// Rare is drawn as a dashed line.
	Rare bool
}

// The measures of a cycle, in units of the picture.
const (
	boxWide, boxHigh = 132.0, 62.0
	stepX, stepY     = 236.0, 138.0
	aboveAll         = 48.0 // for the arcs above the first row
)

// x, y are the left upper corner of the state's box.
func (p *GridState) x() float64 { return 2 + stepX*float64(p.Col) }
func (p *GridState) y() float64 { return aboveAll + stepY*float64(p.Row) }

// Cycle is states at their places with the moves between them, there and back. Moves between
// neighbours are straight lines, side by side where they go both ways; moves that pass over
// others are arcs, forward ones above the first row and backward ones below it. A move to or
// from another row is for neighbours in a column.
func Cycle(what string, states []GridState, moves []Move) Chart {
	c := Chart{Head: []string{"", "now", "moved"}}
	places, cols, rows := map[string]*GridState{}, 0, 0
	var said []string
	for i := range states {
		s := &states[i]
		places[s.Name] = s
		cols, rows = max(cols, s.Col), max(rows, s.Row)
		said = append(said, s.counted()+" "+s.Name)
		c.Rows = append(c.Rows, []string{s.Name, s.counted(), ""})
	}
	c.Text = what + ": " + strings.Join(said, ", ")
	said = nil
	ways := map[[2]string]bool{}
	for _, m := range moves {
		ways[[2]string{m.From, m.To}] = true
		c.Rows = append(c.Rows, []string{m.From + " → " + m.To + ": " + m.Text, "", fmt.Sprint(m.Count)})
		if m.Count > 0 {
			said = append(said, fmt.Sprintf("%d %s, from %s to %s", m.Count, m.Text, m.From, m.To))
		}
	}
	if len(said) > 0 {
		c.Text += "; moved: " + strings.Join(said, ", ")
	}
	var d drawing
	// Not an image: its states are links.
	d.add(`<svg class="chart graph cycle" viewBox="0 0 %s %s" role="group" aria-label="%s">`, at(stepX*float64(cols)+boxWide+4), at(aboveAll+stepY*float64(rows)+boxHigh+4), c.Text)
	for _, m := range moves {
		if from, to := places[m.From], places[m.To]; from != nil && to != nil {
			d.move(m, from, to, ways[[2]string{m.To, m.From}])
		}
	}
	for i := range states {
		d.box(&states[i])
	}
	c.SVG = d.end()
	return c
}

// box draws a state.
func (d *drawing) box(p *GridState) {
	x, y := p.x(), p.y()
	if p.URL != "" {
		d.add(`<a href="%s">`, p.URL)
	}
	d.add(`<rect class="node f-%ssoft" x="%s" y="%s" width="132" height="62" rx="12"/><text class="big" x="%s" y="%s">%s</text><text class="lab" x="%s" y="%s">%s</text>`,
		p.Class, at(x), at(y), at(x+16), at(y+29), p.counted(), at(x+16), at(y+48), cut(p.Name, 16))
	if p.URL != "" {
		d.WriteString("</a>")
	}
}

// move draws a move. both is whether there is one back.
func (d *drawing) move(m Move, from, to *GridState, both bool) {
	class, text := "edge", m.Text
	if m.Rare {
		class += " dash"
	}
	if m.Count > 0 {
		class, text = class+" hot", fmt.Sprintf("%d %s", m.Count, m.Text)
	}
	label := func(x, y float64, anchor string) {
		d.add(`<text class="tiny" x="%s" y="%s" text-anchor="%s">%s</text>`, at(x), at(y), anchor, text)
	}
	side := func(apart float64) float64 { // of lines that go both ways
		if both {
			return apart
		}
		return 0
	}
	middle := from.y() + boxHigh/2
	switch cols := to.Col - from.Col; {
	case from.Row != to.Row:
		down := to.Row > from.Row
		x, y, end := from.x()+boxWide/2-side(16), from.y()+boxHigh+2, to.y()-3
		if !down {
			x, y, end = from.x()+boxWide/2+side(16), from.y()-2, to.y()+boxHigh+3
		}
		d.arrow(class, fmt.Sprintf("M%s %sV%s", at(x), at(y), at(end)), x, end, 0, map[bool]float64{true: 1, false: -1}[down])
		if down {
			label(x-8, max(y, end)-10, "end")
		} else {
			label(x+8, max(y, end)-10, "start")
		}
	case cols == 1:
		y, end := middle-side(9), to.x()-3
		d.arrow(class, fmt.Sprintf("M%s %sH%s", at(from.x()+boxWide+2), at(y), at(end)), end, y, 1, 0)
		label((from.x()+boxWide+to.x())/2, y-8, "middle")
	case cols == -1:
		y, end := middle+side(9), to.x()+boxWide+3
		d.arrow(class, fmt.Sprintf("M%s %sH%s", at(from.x()-2), at(y), at(end)), end, y, -1, 0)
		label((to.x()+boxWide+from.x())/2, y+16, "middle")
	case cols > 0:
		x, end, top := from.x()+boxWide*.6, to.x()+boxWide*.4, from.y()
		d.arrow(class, fmt.Sprintf("M%s %sC%s %s %s %s %s %s", at(x), at(top-2), at(x+40), at(top-46), at(end-40), at(top-46), at(end), at(top-3)), end, top-3, 0, 1)
		label((x+end)/2, top-40, "middle")
	default:
		x, end, low := from.x()+boxWide*.4, to.x()+boxWide*.75, from.y()+boxHigh
		d.arrow(class, fmt.Sprintf("M%s %sC%s %s %s %s %s %s", at(x), at(low+2), at(x-40), at(low+46), at(end+40), at(low+46), at(end), at(low+3)), end, low+3, 0, -1)
		label((x+end)/2+stepX/2, low+48, "middle")
	}
}

// arrow draws a line with its tip, which points to where the line goes.
func (d *drawing) arrow(class, path string, x, y, dx, dy float64) {
	tip := strings.Replace(class, "edge", "tip", 1)
	d.add(`<path class="%s" d="%s"/>`, class, path)
	if dx != 0 {
		d.add(`<path class="%s" d="M%s %sl%s 4.5v-9z"/>`, tip, at(x+2*dx), at(y), at(-8*dx))
		return
	}
	d.add(`<path class="%s" d="M%s %sl4.5 %sh-9z"/>`, tip, at(x), at(y+2*dy), at(-8*dy))
}
