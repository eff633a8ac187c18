package process

import (
	"io"
	"log/slog"
	"time"
)

// levelTrace is below slog's own levels, as hclog has it.
const levelTrace = slog.LevelDebug - 4

// setUpLogs makes log/slog, and with it package log, write the lines that the
// host understands.
func setUpLogs(w io.Writer, level string) { slog.SetDefault(slog.New(newLogHandler(w, level))) }

// newLogHandler writes hclog's JSON keys.
func newLogHandler(w io.Writer, level string) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: parseLevel(level), ReplaceAttr: hclogKeys})
}

func parseLevel(level string) slog.Level {
	switch level {
	case "trace":
		return levelTrace
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

func hclogKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch v := a.Value.Any().(type) {
	case time.Time:
		if a.Key == slog.TimeKey {
			return slog.String("@timestamp", v.Format("2006-01-02T15:04:05.000000Z07:00"))
		}
	case slog.Level:
		if a.Key == slog.LevelKey {
			return slog.String("@level", levelName(v))
		}
	case string:
		if a.Key == slog.MessageKey {
			return slog.String("@message", v)
		}
	}
	return a
}
