package chart

import "fmt"

// HeatRow is a row of counts, one for each column.
type HeatRow struct {
	Name string
	// Bad is whether what it counts is bad.
	Bad    bool
	Counts []int64
}

// Heat is a table of counts as squares, which are darker the more there are. each is from how
// many columns to the next one whose name is written; the last is always named by last.
func Heat(what string, rows []HeatRow, columns []string, each int, last string) Chart {
	const left, side, tall = 62.0, 26.0, 19.0
	c := Chart{Head: append([]string{""}, columns...)}
	var most, total int64
	for _, r := range rows {
		numbers := []string{r.Name}
		for _, n := range r.Counts {
			most, total = max(most, n), total+n
			numbers = append(numbers, fmt.Sprint(n))
		}
		c.Rows = append(c.Rows, numbers)
	}
	c.Text = fmt.Sprintf("%s: %d in all, %d at most in one field", what, total, most)
	bottom := tall * float64(len(rows))
	var d drawing
	d.begin("chart", left+side*float64(len(columns)), bottom+24, c.Text)
	for i, r := range rows {
		y := tall * float64(i)
		d.add(`<text x="%s" y="%s" text-anchor="end">%s</text>`, at(left-10), at(y+12.5), cut(r.Name, 10))
		for j, n := range r.Counts {
			if n > 0 {
				d.add(`<rect class="%s" x="%s" y="%s" width="23" height="16.5" rx="3.5"><title>%s, %s: %d</title></rect>`, heat(r.Bad, n, most), at(left+side*float64(j)), at(y), r.Name, columns[j], n)
			}
		}
	}
	for j, name := range columns {
		switch {
		case j == len(columns)-1:
			d.add(`<text x="%s" y="%s" text-anchor="end">%s</text>`, at(left+side*float64(j)+23), at(bottom+17), last)
		case j%max(each, 1) == 0 && j+each/2 < len(columns):
			d.add(`<text x="%s" y="%s">%s</text>`, at(left+side*float64(j)), at(bottom+17), name)
		}
	}
	c.SVG = d.end()
	return c
}

// heat is the class of a field.
func heat(bad bool, n, most int64) string {
	kind := "heat"
	if bad {
		kind = "heat-bad"
	}
	return fmt.Sprintf("%s-%d", kind, 1+3*n/max(most, 1))
}
