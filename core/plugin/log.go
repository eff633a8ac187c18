package plugin

import "time"

// LogLine is one line of a plugin's log.
type LogLine struct {
	// Time is when the host received it.
	Time time.Time `json:"time"`
	// Level is "trace", "debug", "info", "warn" or "error". A line that isn't hclog's
	// JSON is "info", or "error" if it begins a crash.
	Level string `json:"level"`
	// Plugin is the plugin that wrote it.
	Plugin string `json:"plugin"`
	// RunID is the run that it worked on, if that is known.
	RunID string `json:"run_id,omitempty"`
	// Message is the line's text.
	Message string `json:"message"`
	// Fields are the attributes next to the text. An attribute with the name of a field
	// of LogLine, or "run", gets _ before its name.
	Fields map[string]any `json:"fields,omitempty"`
	// Dropped, if not 0, is how many lines were dropped before this one because the
	// plugin wrote more than may be kept.
	Dropped int `json:"dropped,omitempty"`
}

// SetApart renames attributes that have the name of one of the host's fields, so that they
// can't be mistaken for the host's: run becomes _run.
func (l *LogLine) SetApart() {
	for _, key := range []string{"time", "level", "plugin", "run", "run_id", "message", "dropped"} {
		if value, ok := l.Fields[key]; ok {
			delete(l.Fields, key)
			l.Fields["_"+key] = value
		}
	}
}

// Bounds of a plugin's log.
const (
	// MaxLogLine is the length in bytes at which a line is cut.
	MaxLogLine = 16 << 10
	// LogLinesPerSecond is how many lines of one writer are kept. More lines would push out
	// the lines of other writers.
	LogLinesPerSecond = 100
)

// LogLevels are the levels of lines, from the least to the greatest.
func LogLevels() []string { return []string{"trace", "debug", "info", "warn", "error"} }

// LogRate admits a writer's lines up to [LogLinesPerSecond]. It is not safe for
// concurrent use.
type LogRate struct {
	window  time.Time
	count   int
	dropped int
}

// Admit reports whether a line may be kept, and how many lines were dropped since the
// last report.
func (r *LogRate) Admit(now time.Time) (dropped int, ok bool) {
	if now.Sub(r.window) >= time.Second {
		r.window, r.count = now, 0
	}
	if r.count++; r.count > LogLinesPerSecond {
		r.dropped++
		return 0, false
	}
	return r.Dropped(), true
}

// Dropped returns how many lines were dropped since the last report.
func (r *LogRate) Dropped() int {
	dropped := r.dropped
	r.dropped = 0
	return dropped
}

// DroppedLine is the line to keep if lines were dropped and no other line follows.
func DroppedLine(plugin string, now time.Time, dropped int) LogLine {
	return LogLine{
		Plugin: plugin, Time: now, Level: "warn",
		Message: "log lines were dropped: the plugin writes too many", Dropped: dropped,
	}
}
