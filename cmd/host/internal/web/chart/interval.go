package chart

import "fmt"

// The measures of an interval, in units of the picture.
const (
	intervalWide, intervalHigh = 440.0, 64.0
	intervalEdge               = 18.0
)

// Interval is a difference from -1 to 1, in turns of 100, with the ends between which the true one is.
func Interval(what string, value, low, high float64, class string) Chart {
	c := Chart{Text: fmt.Sprintf("%s: %s of 100, between %s and %s", what, points(value), points(low), points(high)),
		Head: []string{"", "of 100 turns"}, Rows: [][]string{{"difference", points(value)}, {"at least", points(low)}, {"at most", points(high)}}}
	x := func(v float64) float64 {
		return intervalEdge + (intervalWide-2*intervalEdge)*(min(max(finite(v), -1), 1)+1)/2
	}
	const y = 22.0
	var d drawing
	d.begin("chart small levels", intervalWide, intervalHigh, c.Text)
	d.add(`<g><title>%s</title><line class="base" x1="%s" x2="%s" y1="%s" y2="%s"/>`, c.Text, at(x(-1)), at(x(1)), at(y), at(y))
	d.add(`<rect class="f-%s" x="%s" y="%s" width="%s" height="10" rx="5"/>`, class, at(x(low)), at(y-5), at(max(x(high)-x(low), 4)))
	d.add(`<line class="thr" x1="%s" x2="%s" y1="%s" y2="%s"/>`, at(x(0)), at(x(0)), at(y-14), at(y+14))
	d.add(`<circle class="f-ink" cx="%s" cy="%s" r="4"/>`, at(x(value)), at(y))
	for _, mark := range []struct {
		at     float64
		anchor string
		text   string
	}{{-1, "start", "100 fewer succeed"}, {0, "middle", "no difference"}, {1, "end", "100 more succeed"}} {
		d.add(`<text class="tiny" x="%s" y="%s" text-anchor="%s">%s</text>`, at(x(mark.at)), at(y+32), mark.anchor, mark.text)
	}
	d.WriteString("</g>")
	c.SVG = d.end()
	return c
}

// points is a difference in turns of 100, with its sign.
func points(n float64) string {
	switch whole := fmt.Sprintf("%.0f", 100*finite(n)); {
	case whole == "0" || whole == "-0":
		return "0"
	case n < 0:
		return "−" + whole[1:]
	default:
		return "+" + whole
	}
}
