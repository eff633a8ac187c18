package term

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A table on a terminal has to fit its width: a line that the terminal wraps destroys the
// alignment of the columns. So the widest columns are narrowed first, and all of them as
// a last resort. Text that a reader compares or types is narrowed least: numbers, short
// words and times stay complete, and ids keep enough to be different, since commands
// accept the start of one. Other streams get the whole text.

const (
	// gap is how many spaces are between two columns.
	gap = 2
	// shortWords is the width up to which a column isn't narrowed: numbers, states,
	// kinds.
	shortWords = 12
	// leastText is the width of a text column while another column can still be narrowed.
	leastText = 16
	// leastID is the least width of an id: a UUID's 48 bits of time, and the …
	leastID = 14
	// leastHeader is the least width of a column's name.
	leastHeader = 5
	// leastCell is the least width of any cell.
	leastCell = 3
	// leastWrapped is how narrow a column of prose may become.
	leastWrapped = 24
)

// Table prints rows in aligned columns, cut to the width of a terminal.
func Table(w io.Writer, header []string, rows [][]string) error {
	return newTable(header, rows).write(w, false)
}

// Prose is Table with explanations in the last column, which is wrapped rather than cut.
func Prose(w io.Writer, header []string, rows [][]string) error {
	return newTable(header, rows).write(w, true)
}

// table is a table's lines, the header first, and the columns' widths.
type table struct {
	lines  [][]string
	widths []int
}

func newTable(header []string, rows [][]string) *table {
	t := &table{lines: append([][]string{header}, rows...), widths: make([]int, len(header))}
	for _, line := range t.lines {
		for i, cell := range line {
			t.widths[i] = max(t.widths[i], WidthOf(cell))
		}
	}
	return t
}

func (t *table) write(w io.Writer, prose bool) error {
	if width := Width(w); width > 0 {
		t.fit(width, prose)
	}
	bold := Styled(w)
	for n, line := range t.lines {
		for _, row := range t.layOut(line, prose) {
			if n == 0 && bold {
				row = "\x1b[1m" + row + "\x1b[0m"
			}
			if _, err := fmt.Fprintln(w, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// layOut is a line of the table as it is printed: several lines if prose is wrapped.
func (t *table) layOut(line []string, prose bool) []string {
	var out strings.Builder
	last := len(line) - 1
	for i, cell := range line[:last] {
		cell = Fit(cell, t.widths[i])
		out.WriteString(cell + strings.Repeat(" ", t.widths[i]+gap-WidthOf(cell)))
	}
	if !prose {
		return []string{strings.TrimRight(out.String()+Fit(line[last], t.widths[last]), " ")}
	}
	indent := strings.Repeat(" ", WidthOf(out.String()))
	var rows []string
	for i, row := range strings.Split(Wrap(line[last], t.widths[last], ""), "\n") {
		if i > 0 {
			out.Reset()
			out.WriteString(indent)
		}
		rows = append(rows, strings.TrimRight(out.String()+Fit(row, t.widths[last]), " "))
	}
	return rows
}

// fit narrows columns until the table is at most width wide.
func (t *table) fit(width int, prose bool) {
	excess := gap * (len(t.widths) - 1)
	for _, w := range t.widths {
		excess += w
	}
	excess -= width
	texts, headers, all := make([]int, len(t.widths)), make([]int, len(t.widths)), make([]int, len(t.widths))
	for i := range t.widths {
		cells := 0
		for _, line := range t.lines[1:] {
			cells = max(cells, WidthOf(line[i]))
		}
		texts[i] = t.least(i, cells)
		headers[i] = min(texts[i], max(cells, leastHeader))
		all[i] = min(texts[i], leastCell)
	}
	if last := len(all) - 1; prose {
		all[last] = min(t.widths[last], leastWrapped)
		texts[last], headers[last] = all[last], all[last]
	}
	for _, least := range [][]int{texts, headers, all} {
		excess = t.narrow(excess, least)
	}
}

// least is the width to which a column may be narrowed before headers are cut.
func (t *table) least(column, cells int) int {
	natural := t.widths[column]
	switch {
	case cells <= shortWords:
		return natural
	case t.every(column, isTime):
		return natural
	case t.every(column, isID):
		return min(natural, t.distinct(column))
	}
	return min(natural, leastText)
}

// narrow reduces the columns' widths, beginning with the widest, until there is no excess
// or all are at their least width. It returns the remaining excess.
func (t *table) narrow(excess int, least []int) int {
	for excess > 0 {
		widest := -1
		for i, w := range t.widths {
			if w > least[i] && (widest < 0 || w > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		t.widths[widest]--
		excess--
	}
	return excess
}

// every reports whether a column has cells, and is holds for all of them.
func (t *table) every(column int, is func(string) bool) bool {
	for _, line := range t.lines[1:] {
		if !is(line[column]) {
			return false
		}
	}
	return len(t.lines) > 1
}

// distinct is the least width in which all ids of a column are different, with the …
func (t *table) distinct(column int) int {
	for n := leastID; ; n++ {
		seen := map[string]bool{}
		for _, line := range t.lines[1:] {
			id := line[column]
			if n < len(id) {
				id = id[:n-1]
			}
			seen[id] = true
		}
		if len(seen) == len(t.lines)-1 || n >= t.widths[column] {
			return n
		}
	}
}

func isTime(cell string) bool {
	_, err := time.Parse(time.RFC3339, cell)
	return err == nil
}

// isID reports whether a cell is a UUID.
func isID(cell string) bool {
	return len(cell) == 36 && cell[8] == '-' && cell[13] == '-' && cell[18] == '-' && cell[23] == '-'
}
