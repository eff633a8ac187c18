package guest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
)

// logHandler writes records of log/slog with the host's log function, one line
// each: its message and attributes as text.
type logHandler struct {
	slog.Handler // writes into line
	line         *bytes.Buffer
	write        func(level int, line string)
}

func newLogHandler(write func(int, string)) slog.Handler {
	line := &bytes.Buffer{}
	text := slog.NewTextHandler(line, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{} // the host adds them
		}
		return a
	}})
	return logHandler{text, line, write}
}

// Handle writes one record.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.Reset()
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	level := min(max((int(r.Level)+8)/4, 0), 4) // slog's levels are 4 apart, and debug is 1 here
	h.write(level, strings.TrimSpace(r.Message+" "+h.line.String()))
	return nil
}

// WithAttrs wraps the new handler again.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs), h.line, h.write}
}

// WithGroup wraps the new handler again.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), h.line, h.write}
}
