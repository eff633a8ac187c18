package term

import (
	"fmt"
	"strings"
)

// Live reports whether the printer shows the status line and streams.
func (p *Printer) Live() bool { return p.terminal }

// Stream shows the end of a text that arrives in pieces on its own line, under the
// status line if there is one, until the next line or status. It is cleaned by [Clean]
// and cut to the terminal's width, because a wrapped line couldn't be removed. Only a
// terminal shows it.
func (p *Printer) Stream(piece string) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	width := p.width()
	p.stream = tail(p.stream+Clean(piece), width)
	if p.streaming {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.rows--
	}
	p.showStream()
}

// showStream writes the stream below the status, if there is one.
func (p *Printer) showStream() {
	if p.rows > 0 {
		fmt.Fprint(p.w, "\n")
	}
	p.rows++
	p.streaming = true
	fmt.Fprintf(p.w, "\x1b[2m%s\x1b[0m", p.stream)
}

// width is how many columns a line can have without wrapping.
func (p *Printer) width() int {
	width := Width(p.w)
	if width == 0 {
		width = defaultWidth
	}
	return width - 1
}

// tail is the end of a text that fits in a number of columns.
func tail(text string, columns int) string {
	runes := []rune(strings.TrimLeft(text, " "))
	from := len(runes)
	for from > 0 {
		if columns -= columnsOf(runes[from-1]); columns < 0 {
			break
		}
		from--
	}
	return string(runes[from:])
}
