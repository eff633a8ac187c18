package term

import (
	"fmt"
	"strings"
	"time"
)

// A status is the line that shows what the program is doing. A user who waits has to see
// progress, so the line counts the seconds by itself, and shows how far the work is if
// that is known. Only a terminal shows it: in a pipe these lines would mean nothing once
// the work is done.

const (
	// patience is how long work may take before its line shows the time.
	patience = time.Second
	// tick is how often a line is drawn again if nothing else changes.
	tick = 250 * time.Millisecond
	// least is the shortest time between two drawings of a line that changes often.
	least = 100 * time.Millisecond
	// cells is how wide a bar is.
	cells = 10
)

// status is the line that is shown.
type status struct {
	doing string
	began time.Time
	live  bool // until another line replaces it
	quiet bool // it isn't drawn until patience has passed
	drawn time.Time

	done, total int64
	unit        Unit
	timer       *time.Timer
}

// Unit is what work is counted in.
type Unit struct {
	// One and Many are the noun, as in 1 memory and 2 memories.
	One, Many string
	// Bytes is whether the unit is bytes, which are shown as KiB and MiB.
	Bytes bool
}

// Status shows what the program is doing, and after a second for how long, until the next
// line. Only a terminal shows it.
func (p *Printer) Status(format string, args ...any) {
	p.begin(status{doing: fmt.Sprintf(format, args...)})
}

// Wait is Status for work that rarely takes long: it is shown only if the work takes over
// a second.
func (p *Printer) Wait(format string, args ...any) {
	p.begin(status{doing: fmt.Sprintf(format, args...), quiet: true})
}

// Meanwhile is Wait for an interruption: [Printer.Resume] continues the status before it.
func (p *Printer) Meanwhile(format string, args ...any) {
	p.mu.Lock()
	if p.before.doing == "" && p.status.live {
		p.before = p.status
		p.before.timer = nil
	}
	p.mu.Unlock()
	p.Wait(format, args...)
}

// Resume shows the status that Meanwhile interrupted; if there was none, it shows none.
func (p *Printer) Resume() {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.before
	p.before = status{}
	p.clear()
	if p.status = before; before.doing != "" {
		p.resume()
	}
}

func (p *Printer) begin(s status) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	s.began = time.Now()
	p.status = s
	p.resume()
}

// Doing changes the text of the status, and resets its progress. The time continues.
func (p *Printer) Doing(format string, args ...any) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	if doing := fmt.Sprintf(format, args...); doing != s.doing {
		s.doing, s.unit, s.done, s.total = doing, Unit{}, 0, 0
		if s.live {
			p.draw()
		}
	}
}

// Step shows how far the work of the last status is: done units of total, or of an
// unknown total if that is 0. With a total it shows a bar, the rate and the time that is
// left.
func (p *Printer) Step(done, total int64, unit Unit) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	first := s.unit != unit
	s.done, s.total, s.unit = done, total, unit
	switch {
	case s.doing == "":
	case !s.live:
		p.resume()
	case first || time.Since(s.drawn) >= least || total > 0 && done >= total:
		p.draw()
	}
}

// resume shows the status, and redraws it until it ends.
func (p *Printer) resume() {
	s := &p.status
	s.live = true
	p.draw()
	var timer *time.Timer
	timer = time.AfterFunc(tick, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.status.timer != timer {
			return // another status replaced it meanwhile
		}
		p.draw()
		timer.Reset(tick)
	})
	s.timer = timer
}

// end stops drawing the status.
func (s *status) end() {
	s.live = false
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// draw replaces the status line, and draws the stream below it again.
func (p *Printer) draw() {
	s := &p.status
	now := time.Now()
	if s.quiet && now.Sub(s.began) < patience {
		return
	}
	stream, streaming := p.stream, p.streaming
	p.hide()
	fmt.Fprintf(p.w, "\x1b[2m%s\x1b[0m", Fit(s.text(now.Sub(s.began)), p.width()))
	p.rows, s.drawn = 1, now
	if streaming {
		p.stream = stream
		p.showStream()
	}
}

// text is the text of the line.
func (s *status) text(elapsed time.Duration) string {
	text := s.doing
	if elapsed >= patience {
		text += "  " + elapsed.Truncate(time.Second).String()
	}
	if s.unit == (Unit{}) {
		return text
	}
	if s.total <= 0 {
		return text + "  " + s.unit.count(s.done) + s.rate(elapsed)
	}
	done := min(s.done, s.total)
	share := float64(done) / float64(s.total)
	text += fmt.Sprintf("  %s %3.0f%%  %s of %s%s", Bar(share), 100*share, s.unit.number(done), s.unit.count(s.total), s.rate(elapsed))
	if elapsed >= patience && done > 0 && done < s.total {
		left := time.Duration(float64(elapsed) * (1 - share) / share)
		text += ", " + max(left.Round(time.Second), time.Second).String() + " left"
	}
	return text
}

// rate is the amount of work per second.
func (s *status) rate(elapsed time.Duration) string {
	rate := int64(float64(s.done) / elapsed.Seconds())
	if elapsed < patience || rate == 0 {
		return ""
	}
	return ", " + s.unit.number(rate) + "/s"
}

// number is an amount of the unit without its noun.
func (u Unit) number(n int64) string {
	if u.Bytes {
		return Size(n)
	}
	return grouped(n)
}

// count is an amount with its noun.
func (u Unit) count(n int64) string {
	switch {
	case u.Bytes:
		return Size(n)
	case n == 1:
		return "1 " + u.One
	}
	return grouped(n) + " " + u.Many
}

// grouped is a number with its thousands separated.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}

// Size is a number of bytes, as text.
func Size(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
