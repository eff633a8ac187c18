package process

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// levelTrace is below slog's own levels, as in hclog.
const levelTrace = slog.LevelDebug - 4

// setUpLogs makes log/slog, and with it package log, write the lines that the
// host understands.
func setUpLogs(w io.Writer, level string) { slog.SetDefault(slog.New(newLogHandler(w, level))) }

// newLogHandler writes hclog's JSON keys.
func newLogHandler(w io.Writer, level string) slog.Handler {
	return runHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: parseLevel(level), ReplaceAttr: hclogKeys})}
}

// runHandler adds the run of a call's context, so the host knows the run even if
// several calls run at a time.
type runHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h runHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := sdk.CallFrom(ctx).RunID; id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("run_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h runHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return runHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler. Within a group, the run becomes a part of the
// group.
func (h runHandler) WithGroup(name string) slog.Handler { return runHandler{h.Handler.WithGroup(name)} }

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
