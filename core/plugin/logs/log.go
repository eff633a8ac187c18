// Package logs takes the lines that a plugin writes, however it runs: it delivers them up
// to a maximum rate, and keeps the last ones to show them in errors.
//
// It is internal to Reflectory: its API may change in any release.
package logs

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk/check"
)

// tailLines and tailBytes bound the end of the output that errors show.
const (
	tailLines = 20
	tailBytes = 4 << 10
)

// Options set up a [Log]. Plugin, Sink and Now are needed.
type Options struct {
	// Plugin is the plugin that writes.
	Plugin string
	// Redactor hides the plugin's secrets. Nil hides nothing.
	Redactor *plugin.Redactor
	// Tag, if set, adds the run that a line belongs to.
	Tag func(*plugin.LogLine)
	// Sink gets the lines, one at a time.
	Sink func(plugin.LogLine)
	// Now is the clock of the lines.
	Now func() time.Time
}

// Log takes one instance's output. It is safe for concurrent use.
type Log struct {
	options Options

	mu       sync.Mutex
	tail     []string
	size     int
	headline string
	rate     plugin.LogRate
}

// New returns a log.
func New(o Options) *Log {
	if o.Tag == nil {
		o.Tag = func(*plugin.LogLine) {}
	}
	return &Log{options: o}
}

// Line takes one line without its end.
func (l *Log) Line(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	l.keep(l.options.Redactor.Text(text))
	now := l.options.Now()
	dropped, ok := l.rate.Admit(now)
	if !ok {
		return
	}
	out := parseLine(text)
	l.options.Redactor.Line(&out)
	out.Plugin, out.Time, out.Dropped = l.options.Plugin, now, dropped
	l.options.Tag(&out)
	out.SetApart()
	l.options.Sink(out)
}

// Flush reports lines that were dropped at the very end.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dropped := l.rate.Dropped(); dropped > 0 {
		l.options.Sink(plugin.DroppedLine(l.options.Plugin, l.options.Now(), dropped))
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

// End returns the end of the output, and the most informative line: where a crash began,
// or else the last line.
func (l *Log) End() (tail, headline string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	headline = l.headline
	for i := len(l.tail) - 1; i >= 0 && headline == ""; i-- {
		headline = Cut(strings.TrimSpace(l.tail[i]), 500)
	}
	return strings.Join(l.tail, "\n"), headline
}

// crashes are what the first line of a crash begins with: of Go's panics and fatal errors, of
// threads that it couldn't start, and of signals.
var crashes = regexp.MustCompile(`^(panic: |fatal error: |runtime: failed to create new OS thread|runtime/cgo: pthread_create failed|SIG(QUIT|ILL|TRAP|ABRT|BUS|FPE|SEGV|STKFLT|SYS): )`)

func isCrash(text string) bool { return crashes.MatchString(text) }

// parseLine reads hclog's JSON, and takes anything else as it is.
func parseLine(text string) plugin.LogLine {
	plain := plugin.LogLine{Level: "info", Message: text}
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
	line := plugin.LogLine{Level: "info", Message: message, Fields: fields}
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
