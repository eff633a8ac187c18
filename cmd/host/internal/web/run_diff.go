package web

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// diffView is what changed from one attempt to another.
type diffView struct {
	From run.AttemptMark `json:"from"`
	To   run.AttemptMark `json:"to"`
	// Fixed and New are the errors that only one of them has.
	Fixed []sdk.Finding `json:"fixed"`
	New   []sdk.Finding `json:"new"`
	// Added and Removed count lines.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Rows are the lines next to each other. Cut is how many more there are.
	Rows []diffRow `json:"lines"`
	Cut  int       `json:"cut,omitempty"`
	// Pairs are other pairs of attempts, and Numbers all attempts that can be compared.
	Pairs   []choice `json:"-"`
	Numbers []int    `json:"-"`
	Unified bool     `json:"-"`
	// Other is the address of the other view, WholeFrom and WholeTo are the addresses of the
	// whole outputs.
	Other, WholeFrom, WholeTo string `json:"-"`
	Visit                     int    `json:"visit"`
}

// diffRow is a line of each of the two outputs.
type diffRow struct {
	From *diffLine `json:"from,omitempty"`
	To   *diffLine `json:"to,omitempty"`
	// Same is whether both are the same line, and Skipped how many such lines are left out
	// here.
	Same    bool `json:"same,omitempty"`
	Skipped int  `json:"skipped,omitempty"`
}

// diffLine is a line of an output, in three parts, of which the middle one changed.
type diffLine struct {
	Number int    `json:"number"`
	Before string `json:"before,omitempty"`
	Mark   string `json:"mark,omitempty"`
	After  string `json:"after,omitempty"`
}

const (
	// maxDiffLine is how much of a line is shown, in characters, and equalLines how many equal
	// lines are shown around a change.
	maxDiffLine = 400
	equalLines  = 3
)

// diff adds the changes to the attempt that is shown.
func (d *runData) diff(v *visit) error {
	if d.Shown == nil {
		return nil
	}
	to, from := d.Shown.Iteration, v.number("from")
	if from == 0 {
		from = to - 1
	}
	if from < 1 || from == to {
		return nil
	}
	found, err := call[operation.AttemptsDiff](v, "run_attempts_diff", &operation.RunAttemptsDiff{ID: d.Run.RunID, From: from, To: to, Visit: d.Shown.Visit})
	if err != nil {
		return err
	}
	view := &diffView{
		From: found.From, To: found.To, Fixed: found.Fixed[:min(len(found.Fixed), 20)], New: found.New[:min(len(found.New), 20)], Visit: found.Visit,
		Unified: v.query("view") == "unified", Other: v.with("view", "unified"),
		WholeFrom: wholeText(d.Run.RunID, "output", found.Visit, from), WholeTo: wholeText(d.Run.RunID, "output", found.Visit, to),
	}
	if view.Unified {
		view.Other = v.with("view", "")
	}
	view.lines(v, found.Output)
	last := d.Cards[len(d.Cards)-1].Iteration
	for _, c := range d.Cards {
		view.Numbers = append(view.Numbers, c.Iteration)
		if n := c.Iteration; n > d.Cards[0].Iteration && n >= to-2 && n <= max(to+1, 3) {
			view.Pairs = append(view.Pairs, pairChoice(v, n-1, n, from, to))
		}
	}
	if first := d.Cards[0].Iteration; last > first+1 {
		view.Pairs = append(view.Pairs, pairChoice(v, first, last, from, to))
	}
	d.Diff = view
	return nil
}

func pairChoice(v *visit, a, b, from, to int) choice {
	return choice{fmt.Sprintf("%d → %d", a, b), v.with("from", strconv.Itoa(a), "to", strconv.Itoa(b)), a == from && b == to}
}

// lines puts the lines of both outputs next to each other: within a block of changes, the
// first removed line is next to the first added line, and so on.
func (d *diffView) lines(v *visit, lines []run.DiffLine) {
	var rows []diffRow
	a, b := 1, 1
	for i := 0; i < len(lines); {
		if lines[i].Side == run.SideBoth {
			rows = append(rows, diffRow{&diffLine{Number: a, Before: lines[i].Text}, &diffLine{Number: b, Before: lines[i].Text}, true, 0})
			a, b, i = a+1, b+1, i+1
			continue
		}
		var removed, added []*diffLine
		for ; i < len(lines) && lines[i].Side != run.SideBoth; i++ {
			if lines[i].Side == run.SideFrom {
				removed, a = append(removed, &diffLine{Number: a, Before: lines[i].Text}), a+1
			} else {
				added, b = append(added, &diffLine{Number: b, Before: lines[i].Text}), b+1
			}
		}
		d.Removed, d.Added = d.Removed+len(removed), d.Added+len(added)
		for j := range max(len(removed), len(added)) {
			var row diffRow
			if j < len(removed) {
				row.From = removed[j]
			}
			if j < len(added) {
				row.To = added[j]
			}
			row.mark()
			rows = append(rows, row)
		}
	}
	for _, row := range folded(rows) {
		if size := row.size(); len(d.Rows) >= maxLines || size > v.room {
			d.Cut++
		} else {
			v.room -= size
			d.Rows = append(d.Rows, row)
		}
	}
}

// folded leaves out equal lines that are far from what changed.
func folded(rows []diffRow) (kept []diffRow) {
	near := make([]bool, len(rows))
	for i, r := range rows {
		for j := max(0, i-equalLines); !r.Same && j < min(len(rows), i+equalLines+1); j++ {
			near[j] = true
		}
	}
	for i := 0; i < len(rows); i++ {
		if near[i] {
			kept = append(kept, rows[i])
			continue
		}
		n := 1
		for i+n < len(rows) && !near[i+n] {
			n++
		}
		if n <= 2 {
			kept = append(kept, rows[i:i+n]...)
		} else {
			kept = append(kept, diffRow{Skipped: n})
		}
		i += n - 1
	}
	return kept
}

// mark splits a changed pair of lines into what they share at the beginning and at the end,
// and what differs between.
func (r *diffRow) mark() {
	if r.From == nil || r.To == nil {
		return
	}
	a, b := r.From.Before, r.To.Before
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for head > 0 && !(utf8.RuneStart(at(a, head)) && utf8.RuneStart(at(b, head))) {
		head--
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	if head+tail == 0 {
		return // nothing in common, as the colour of the line shows
	}
	r.From.Before, r.From.Mark, r.From.After = a[:head], a[head:len(a)-tail], a[len(a)-tail:]
	r.To.Before, r.To.Mark, r.To.After = b[:head], b[head:len(b)-tail], b[len(b)-tail:]
}

// at returns a byte of a text, or, at the end of the text, the first byte of a character.
func at(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// size is how many bytes of HTML a row takes, once its lines are cut.
func (r *diffRow) size() int {
	size := 120
	for _, l := range []*diffLine{r.From, r.To} {
		if l == nil {
			continue
		}
		for _, part := range []*string{&l.Before, &l.Mark, &l.After} {
			*part = line(*part, maxDiffLine)
			for _, c := range *part {
				size += escapedSize(c)
			}
		}
	}
	return size
}
