package plugin

import "time"

// LogLine is one line of a plugin's log.
type LogLine struct {
	// Time is when the host took it.
	Time time.Time `json:"time"`
	// Level is "trace", "debug", "info", "warn" or "error". A line that isn't
	// hclog's JSON is "info", and "error" where it begins a crash.
	Level string `json:"level"`
	// Plugin is who wrote it.
	Plugin string `json:"plugin"`
	// RunID is the run that it worked on, where that is known.
	RunID string `json:"run_id,omitempty"`
	// Message is the line's text.
	Message string `json:"message"`
	// Fields are the attributes next to the text. One that is called as a field here,
	// or "run", has _ before its name.
	Fields map[string]any `json:"fields,omitempty"`
	// Dropped, where not 0, says that this many lines were dropped before this
	// one, because the plugin wrote more than may be kept.
	Dropped int `json:"dropped,omitempty"`
}

// SetApart renames the attributes that are called as what the host says of a line,
// so that they don't pass for it: run becomes _run.
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
	// MaxLogLine cuts a line, in bytes.
	MaxLogLine = 16 << 10
	// LogLinesPerSecond is how many lines of one writer are kept; more is a flood
	// that would push out everybody else's.
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

// Admit reports whether a line may be kept, and how many before it weren't since
// that was last reported.
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

// Dropped returns how many lines weren't kept since that was last reported.
func (r *LogRate) Dropped() int {
	dropped := r.dropped
	r.dropped = 0
	return dropped
}

// DroppedLine is the line to keep where lines were dropped and no other follows.
func DroppedLine(plugin string, now time.Time, dropped int) LogLine {
	return LogLine{
		Plugin: plugin, Time: now, Level: "warn",
		Message: "log lines were dropped: the plugin writes too many", Dropped: dropped,
	}
}
