package process

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk/wire"
)

// LogLine is one line that a plugin wrote.
type LogLine = plugin.LogLine

// tailLines and tailBytes bound the end of the output that errors show.
const (
	tailLines = 20
	tailBytes = 4 << 10
)

// logs takes an instance's output: it keeps its end for errors, and delivers
// what the rate allows.
type logs struct {
	plugin string
	redact *plugin.Redactor
	runs   *runs
	sink   func(LogLine)
	now    func() time.Time

	mu       sync.Mutex
	tail     []string
	size     int
	headline string
	rate     plugin.LogRate
}

// line takes one line without its end.
func (l *logs) line(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	l.keep(l.redact.Text(text))
	now := l.now()
	dropped, ok := l.rate.Admit(now)
	if !ok {
		return
	}
	out := parseLine(text)
	l.redact.Line(&out)
	out.Plugin, out.Time, out.Dropped = l.plugin, now, dropped
	l.runs.tag(&out)
	l.sink(out)
}

// flush reports lines that were dropped at the very end.
func (l *logs) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dropped := l.rate.Dropped(); dropped > 0 {
		l.sink(plugin.DroppedLine(l.plugin, l.now(), dropped))
	}
}

func (l *logs) keep(text string) {
	if l.headline == "" && isCrash(text) {
		l.headline = cut(text, 500)
	}
	text = cut(text, tailBytes)
	l.tail = append(l.tail, text)
	l.size += len(text) + 1
	for len(l.tail) > tailLines || l.size > tailBytes+1 {
		l.size -= len(l.tail[0]) + 1
		l.tail = l.tail[1:]
	}
}

// end returns the end of the output, and the one line that says most: where a
// crash began, else the last line.
func (l *logs) end() (tail, headline string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	headline = l.headline
	for i := len(l.tail) - 1; i >= 0 && headline == ""; i-- {
		headline = cut(strings.TrimSpace(l.tail[i]), 500)
	}
	return strings.Join(l.tail, "\n"), headline
}

func isCrash(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")
}

// parseLine reads hclog's JSON, and takes anything else as it is.
func parseLine(text string) LogLine {
	plain := LogLine{Level: "info", Message: text}
	if isCrash(text) {
		plain.Level = "error"
	}
	if !strings.HasPrefix(text, "{") || wire.CheckJSON([]byte(text)) != nil {
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
	line := LogLine{Level: "info", Message: message, Fields: fields}
	switch level, _ := fields["@level"].(string); level {
	case "trace", "debug", "info", "warn", "error":
		line.Level = level
	}
	for _, key := range []string{"@message", "@level", "@timestamp"} {
		delete(fields, key)
	}
	return line
}

// cut shortens text to at most n bytes of whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
