package logfile

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MaxLines is how many lines [Tail] returns at most: about as many as the
	// files hold.
	MaxLines = 100_000
	// maxRead bounds what is read of one file. No file grows larger.
	maxRead = 16 << 20
)

// Tail returns the last n lines of a plugin's log, the newest last, and the place behind
// them, for [After]. Lines that can't be read are left out. A plugin without a log is
// sdk.NotFound, reason "log_not_found".
func Tail(dir, name string, n int) (lines []plugin.LogLine, end Position, err error) {
	files, err := openAll(dir, name)
	if err != nil {
		return nil, end, err
	}
	defer files.close()
	n = min(n, MaxLines)
	for i, file := range slices.Backward(files) {
		text, from, err := file.readEnd()
		if err != nil {
			return nil, end, unreadable(name, err)
		}
		if i == len(files)-1 {
			end = Position{file.id, from + int64(len(text))}
		}
		if lines = append(decodeAll(name, text), lines...); len(lines) >= n {
			break
		}
	}
	if len(files) == 0 {
		return nil, end, sdk.Errorf(sdk.NotFound, "log_not_found", "plugin %s has logged nothing: there is no log of it in %s", name, dir).
			WithHint("a log begins with the first line that the plugin writes in a run")
	}
	return slices.Clone(lines[max(0, len(lines)-n):]), end, nil
}

// After returns up to n lines that a plugin logged after a place, the oldest first, and the
// place behind them. Where the place's file is gone, they begin with the oldest that is kept;
// so they do at the zero Position. A log that isn't there yet has none.
func After(dir, name string, from Position, n int) (lines []plugin.LogLine, end Position, err error) {
	files, err := openAll(dir, name)
	if err != nil {
		return nil, from, err
	}
	defer files.close()
	at := max(slices.IndexFunc(files, func(f *logFile) bool { return f.id == from.File }), 0)
	end = from
	for _, file := range files[at:] {
		if file.id != end.File {
			end = Position{File: file.id}
		}
		text, err := file.read(end.Offset)
		if err != nil {
			return nil, from, unreadable(name, err)
		}
		for part := range bytes.Lines(text) {
			if len(lines) == n {
				return lines, end, nil
			}
			end.Offset += int64(len(part))
			if line, ok := decode(name, part); ok {
				lines = append(lines, line)
			}
		}
	}
	return lines, end, nil
}

func unreadable(name string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "log_io", "the log of plugin %s: %w", name, err).
		WithHint("check that it can be read")
}

func decodeAll(name string, text []byte) []plugin.LogLine {
	var lines []plugin.LogLine
	for part := range bytes.Lines(text) {
		if line, ok := decode(name, part); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// decode reads a line, if it is whole and the plugin's.
func decode(name string, text []byte) (line plugin.LogLine, ok bool) {
	err := json.Unmarshal(text, &line)
	return line, err == nil && line.Plugin == name
}
