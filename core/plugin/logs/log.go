// Package logs takes what a plugin writes, whatever runs it: it delivers lines
// as far as a rate allows, and keeps their end for errors.
package logs

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk/check"
)

// Line is one line that a plugin wrote.
type Line struct {
	// Plugin is who wrote it.
	Plugin string
	// Time is when the host read it.
	Time time.Time
	// Level is "trace", "debug", "info", "warn" or "error". A line that isn't
	// hclog's JSON is "info", and "error" where it begins a crash.
	Level string
	// Message is the line's text.
	Message string
	// Fields are the attributes of a line of hclog's JSON.
	Fields map[string]any
	// Dropped, where not 0, says that this many lines were dropped before this
	// one, because the plugin wrote more than may be kept.
	Dropped int
}

// Bounds of what is kept of a plugin's output.
const (
	// maxLine cuts a line, in bytes.
	maxLine = 16 << 10
	// linesPerSecond is how many lines of an instance are delivered; more is a
	// flood that would push out everybody else's.
	linesPerSecond = 100
	// tailLines and tailBytes bound the end of the output that errors show.
	tailLines = 20
	tailBytes = 4 << 10
)

// Log takes one instance's output. It is safe for concurrent use.
type Log struct {
	plugin string
	sink   func(Line)
	now    func() time.Time

	mu       sync.Mutex
	tail     []string
	size     int
	headline string
	window   time.Time
	count    int
	dropped  int
}

// New returns a log of a plugin that delivers lines to sink, one at a time, with
// the time of now.
func New(plugin string, sink func(Line), now func() time.Time) *Log {
	return &Log{plugin: plugin, sink: sink, now: now}
}

// Line takes one line without its end.
func (l *Log) Line(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	l.keep(text)
	now := l.now()
	if now.Sub(l.window) >= time.Second {
		l.window, l.count = now, 0
	}
	if l.count++; l.count > linesPerSecond {
		l.dropped++
		return
	}
	out := parseLine(text)
	out.Plugin, out.Time, out.Dropped = l.plugin, now, l.dropped
	l.dropped = 0
	l.sink(out)
}

// Flush reports lines that were dropped at the very end.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 {
		l.sink(Line{
			Plugin: l.plugin, Time: l.now(), Level: "warn",
			Message: "log lines were dropped: the plugin writes too many", Dropped: l.dropped,
		})
		l.dropped = 0
	}
}

func (l *Log) keep(text string) {
	if l.headline == "" && isCrash(text) {
		l.headline = Cut(text, 500)
	}
	text = Cut(text, tailBytes)
	l.tail = append(l.tail, text)
	l.size += len(text) + 1
	for len(l.tail) > tailLines || l.size > tailBytes+1 {
		l.size -= len(l.tail[0]) + 1
		l.tail = l.tail[1:]
	}
}

// End returns the end of the output, and the one line that says most: where a
// crash began, else the last line.
func (l *Log) End() (tail, headline string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	headline = l.headline
	for i := len(l.tail) - 1; i >= 0 && headline == ""; i-- {
		headline = Cut(strings.TrimSpace(l.tail[i]), 500)
	}
	return strings.Join(l.tail, "\n"), headline
}

func isCrash(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")
}

// parseLine reads hclog's JSON, and takes anything else as it is.
func parseLine(text string) Line {
	plain := Line{Level: "info", Message: text}
	if isCrash(text) {
		plain.Level = "error"
	}
	if !strings.HasPrefix(text, "{") || check.JSON([]byte(text)) != nil {
		return plain
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return plain
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return plain
	}
	line := Line{Level: "info", Message: message, Fields: fields}
	switch level, _ := fields["@level"].(string); level {
	case "trace", "debug", "info", "warn", "error":
		line.Level = level
	}
	for _, key := range []string{"@message", "@level", "@timestamp"} {
		delete(fields, key)
	}
	return line
}

// Cut shortens text to at most n bytes of whole characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
