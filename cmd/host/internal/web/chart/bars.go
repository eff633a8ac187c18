package chart

import (
	"fmt"
	"strings"
)

// Series is what a part of each bar counts.
type Series struct{ Name, Class string }

// Bar is a bar of stacked counts, one for each series.
type Bar struct {
	// Name is what it counts, such as an hour; Label is written below it, "" for nothing.
	Name, Label string
	Counts      []int64
}

// Bars are stacked counts side by side. what names them, such as "Runs by hour".
func Bars(what string, series []Series, bars []Bar) Chart {
	const width, bottom, top = 690.0, 146.0, 26.0
	c := Chart{Head: []string{""}}
	totals, most, busiest := make([]int64, len(series)), int64(0), ""
	for _, s := range series {
		c.Head, c.Key = append(c.Head, s.Name), append(c.Key, Meaning{s.Name, s.Class})
	}
	for _, b := range bars {
		row, sum := []string{b.Name}, int64(0)
		for i, n := range b.Counts {
			totals[i] += n
			sum += n
			row = append(row, fmt.Sprint(n))
		}
		if sum > most {
			most, busiest = sum, b.Name
		}
		c.Rows = append(c.Rows, row)
	}
	var said []string
	for i, s := range series {
		said = append(said, fmt.Sprintf("%d %s", totals[i], s.Name))
	}
	c.Text = what + ": " + strings.Join(said, ", ")
	if busiest != "" {
		c.Text += fmt.Sprintf("; most at %s with %d", busiest, most)
	}
	high, step := ceiling(float64(most))
	step = max(step, 1)
	var d drawing
	d.begin("chart fit", 720, 172, c.Text) // the numbers of the grid are on the right of the bars
	for n := step; n <= high && most > 0; n += step {
		y := bottom - (bottom-top)*n/high
		d.add(`<line class="gridl" x1="0" x2="720" y1="%s" y2="%s"/><text x="720" y="%s" text-anchor="end">%s</text>`, at(y), at(y), at(y-4), number(n))
	}
	d.add(`<line class="base" x1="0" x2="720" y1="146" y2="146"/>`)
	wide := width / float64(max(len(bars), 1))
	thick, anchor, label := min(wide*2/3, 56), "start", 0.0
	if wide > 104 { // a label has room on both sides of its bar
		anchor, label = "middle", thick/2
	}
	for i, b := range bars {
		x, y := wide*float64(i)+(wide-thick)/2, bottom
		d.add(`<g><title>%s: %s</title>`, b.Name, describe(series, b.Counts))
		for j, n := range b.Counts {
			tall := (bottom - top) * float64(n) / high
			if n > 0 {
				y -= tall
				d.add(`<rect class="f-%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"/>`, series[j].Class, at(x), at(y), at(thick), at(max(tall-1, 1.5)))
			}
		}
		d.WriteString("</g>")
		if b.Label != "" {
			d.add(`<text x="%s" y="166" text-anchor="%s">%s</text>`, at(x+label), anchor, b.Label)
		}
	}
	c.SVG = d.end()
	return c
}

func describe(series []Series, counts []int64) string {
	said := make([]string, len(counts))
	for i, n := range counts {
		said[i] = fmt.Sprintf("%d %s", n, series[i].Name)
	}
	return strings.Join(said, ", ")
}

// Range is a share, from 0 to 1, that went from From to To.
type Range struct {
	Name     string
	From, To float64
	// Of is how many it is a share of.
	Of int64
}

// Ranges are shares that went from one value to another. first and last name the two.
func Ranges(what, first, last string, ranges []Range) Chart {
	const left, right = 160.0, 460.0
	c := Chart{
		Head: []string{"", first, last, "of"}, Key: []Meaning{{first, "ring"}, {last, "dot"}},
		Text: fmt.Sprintf("%s: %s and %s of %d", what, first, last, len(ranges)),
	}
	var d drawing
	d.begin("chart fit ranges", 524, float64(26+34*len(ranges)), c.Text)
	for i := range 5 {
		d.add(`<text x="%s" y="12" text-anchor="middle">%d %%</text>`, at(left+(right-left)*float64(i)/4), i*25)
	}
	for i, r := range ranges {
		y := float64(30 + 34*i)
		from, to := left+(right-left)*min(max(finite(r.From), 0), 1), left+(right-left)*min(max(finite(r.To), 0), 1)
		gain := fmt.Sprintf("%+.0f pts", (r.To-r.From)*100)
		c.Rows = append(c.Rows, []string{r.Name, fmt.Sprintf("%.0f %%", r.From*100), fmt.Sprintf("%.0f %%", r.To*100), fmt.Sprint(r.Of)})
		d.add(`<g><title>%s: %.0f %% %s, %.0f %% %s, of %d</title><text class="strong" x="0" y="%s">%s</text>`, r.Name, r.From*100, first, r.To*100, last, r.Of, at(y+4), cut(r.Name, 20))
		d.add(`<line class="gridl" x1="160" x2="460" y1="%s" y2="%s"/><line class="ln s-accent" stroke-width="3" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(y), at(y), at(from), at(to), at(y), at(y))
		d.add(`<circle class="f-panel s-ink3" stroke-width="2" cx="%s" cy="%s" r="5"/><circle class="f-accent" cx="%s" cy="%s" r="6"/><text class="strong" x="522" y="%s" text-anchor="end">%s</text></g>`, at(from), at(y), at(to), at(y), at(y+4), gain)
	}
	c.SVG = d.end()
	return c
}
