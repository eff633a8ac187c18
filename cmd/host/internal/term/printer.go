// Package term prints for people: progress, tables, and colour if the output is a terminal.
package term

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// Printer prints to one stream. On a terminal it uses colour and a line that shows the
// status; elsewhere plain lines only. It is safe for concurrent use.
type Printer struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex
	rows int // how many lines the next one replaces: the status, and a stream
	// streaming is whether the last of these is a stream, whose end is in stream.
	streaming bool
	stream    string
	status    status
	before    status // the status that Meanwhile interrupted
}

// New makes a printer. NO_COLOR or TERM=dumb make it treat a terminal as a plain stream.
func New(w io.Writer) *Printer {
	return &Printer{w: w, terminal: Styled(w)}
}

// Styled reports whether a stream may be coloured, and lines rewritten: it is a terminal
// that isn't dumb, and NO_COLOR isn't set.
func Styled(stream any) bool {
	return IsTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether a person is at the other end of a stream, which is
// an io.Writer or an io.Reader.
func IsTerminal(stream any) bool {
	if o, is := stream.(over); is {
		stream = o.w
	}
	f, isFile := stream.(*os.File)
	return isFile && isatty.IsTerminal(f.Fd())
}

// Line prints a line, as [Message] does.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	_ = Message(p.w, fmt.Sprintf(format, args...)) // the reader may be gone
}

// Note prints a line that interrupts the status, such as a plugin's log: the status
// continues.
func (p *Printer) Note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hide()
	_ = Message(p.w, fmt.Sprintf(format, args...)) // the reader may be gone
}

// Over is a stream whose writes replace the status line, if both are shown on a terminal;
// otherwise it is the given stream.
func (p *Printer) Over(w io.Writer) io.Writer {
	if !p.terminal || !IsTerminal(w) {
		return w
	}
	return over{p, w}
}

type over struct {
	p *Printer
	w io.Writer
}

func (o over) Write(b []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.clear()
	return o.w.Write(b)
}

// Clear removes the status line.
func (p *Printer) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear ends the status, and removes it.
func (p *Printer) clear() {
	p.status.end()
	p.hide()
}

// hide removes the lines that the next line replaces.
func (p *Printer) hide() {
	for ; p.rows > 0; p.rows-- {
		fmt.Fprint(p.w, "\r\x1b[K")
		if p.rows > 1 {
			fmt.Fprint(p.w, "\x1b[A") // one line up
		}
	}
	p.streaming, p.stream = false, ""
}

// Good colours a text about a success.
func (p *Printer) Good(text string) string { return p.colour("32", text) }

// Bad colours a text about a failure.
func (p *Printer) Bad(text string) string { return p.colour("31", text) }

// Faint dims a text that is less important.
func (p *Printer) Faint(text string) string { return p.colour("2", text) }

func (p *Printer) colour(code, text string) string {
	if !p.terminal {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bar draws a score of 0 to 1 in ten cells. A value outside is drawn as the nearer end.
func Bar(score float64) string {
	full := int(math.Round(max(0, min(score, 1)) * cells))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// Duration rounds a duration for a reader.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// Time shows a point in time, in UTC with its zone, as in the journal, in errors and in
// --json, so that all times can be compared.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }
