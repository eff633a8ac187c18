package logfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MaxLines is how many lines [Tail] returns at most: about as many as the
	// files hold.
	MaxLines = 100_000
	// maxRead bounds what is read of one file. No file grows larger.
	maxRead = 16 << 20
	// maxLine bounds a line: a message and its fields, each escaped.
	maxLine = 8 * plugin.MaxLogLine
	// followEvery is how often a file is checked for new lines.
	followEvery = 200 * time.Millisecond
)

// Tail returns the last n lines of a plugin's log, the newest last. Lines that
// can't be read are left out. A plugin without a log is sdk.NotFound, reason
// "log_not_found".
func Tail(dir, name string, n int) ([]plugin.LogLine, error) {
	path, err := pathOf(dir, name)
	if err != nil {
		return nil, err
	}
	n = min(n, MaxLines)
	var lines []plugin.LogLine
	found := false
	for i := 0; i <= keptFiles && len(lines) < n; i++ {
		text, err := readEnd(older(path, i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unreadable(name, err)
		}
		found = true
		lines = append(decodeAll(name, text), lines...)
	}
	if !found {
		return nil, sdk.Errorf(sdk.NotFound, "log_not_found", "plugin %s has logged nothing: there is no %s", name, path).
			WithHint("a log begins with the first line that the plugin writes in a run")
	}
	return slices.Clone(lines[max(0, len(lines)-n):]), nil
}

func unreadable(name string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "log_io", "the log of plugin %s: %w", name, err).
		WithHint("check that it can be read")
}

// readEnd reads a file, or its last maxRead bytes.
func readEnd(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(max(0, info.Size()-maxRead), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxRead))
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

// Follow passes on each line that is added to a plugin's log from now on, until ctx ends,
// which isn't an error. The log needn't exist yet.
func Follow(ctx context.Context, dir, name string, emit func(plugin.LogLine) error) error {
	path, err := pathOf(dir, name)
	if err != nil {
		return err
	}
	f := &follower{path: path, name: name, emit: emit}
	defer f.close()
	if err := f.reopen(io.SeekEnd); err != nil {
		return unreadable(name, err)
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := f.poll(); err != nil {
			return err
		}
	}
}

// follower reads a file as it grows, and the next one when this one is moved away.
type follower struct {
	path, name string
	emit       func(plugin.LogLine) error
	file       *os.File
	in         *bufio.Reader
	part       []byte // of a line whose end hasn't been written yet
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
	}
	f.file, f.part = nil, nil
}

// reopen opens the file at the path, if there is one, at its start or its end.
func (f *follower) reopen(whence int) error {
	f.close()
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.file, f.in = file, bufio.NewReader(file)
	_, err = file.Seek(0, whence)
	return err
}

func (f *follower) poll() error {
	moved, err := f.moved()
	if err != nil {
		return unreadable(f.name, err)
	}
	if err := f.drain(); err != nil || !moved {
		return err
	}
	if err := f.reopen(io.SeekStart); err != nil {
		return unreadable(f.name, err)
	}
	return f.drain()
}

// moved reports whether another file is at the path.
func (f *follower) moved() (bool, error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return false, nil // the next one is about to come
	}
	if f.file == nil {
		return true, nil
	}
	mine, err := f.file.Stat()
	if err != nil {
		return false, err
	}
	return isMoved(f.path, mine)
}

// drain passes on what the file has.
func (f *follower) drain() error {
	for f.file != nil {
		text, err := f.in.ReadSlice('\n')
		if len(f.part)+len(text) <= maxLine { // else it can't be one of ours
			f.part = append(f.part, text...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable(f.name, err)
		}
		line, ok := decode(f.name, f.part)
		f.part = f.part[:0]
		if !ok {
			continue
		}
		if err := f.emit(line); err != nil {
			return err
		}
	}
	return nil
}
