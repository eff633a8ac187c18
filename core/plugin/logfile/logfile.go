// Package logfile keeps what plugins log in files, one for each plugin, as JSON
// lines of [plugin.LogLine].
//
//	<dir>/<publisher>-<name>.log      the newest lines
//	<dir>/<publisher>-<name>.log.1    those before, up to .3
//
// Several hosts may write at a time: a line is one write to the end of the file,
// and a writer that finds the file full, or moved away by another, opens a new one.
//
// It is internal to Reflectory: its API may change in any release.
package logfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Options set up [Files]. The zero value of each field but Dir is its default.
type Options struct {
	// Dir is the folder. It is made for the first line, for its owner only.
	Dir string
	// MaxBytes is the size at which a file is moved away. Default 4 MiB: some
	// 20,000 lines.
	MaxBytes int64
}

const (
	defaultMaxBytes = 4 << 20
	// keptFiles is how many of the files that were moved away are kept.
	keptFiles = 3
)

// Files writes plugins' logs. It is safe for concurrent use.
type Files struct {
	options Options

	mu     sync.Mutex
	open   map[string]*os.File // by path
	closed bool
}

// New returns files that aren't open yet.
func New(o Options) *Files {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &Files{options: o, open: map[string]*os.File{}}
}

// Write adds a line to its plugin's file.
func (f *Files) Write(line plugin.LogLine) error {
	path, err := pathOf(f.options.Dir, line.Plugin)
	if err != nil {
		return err
	}
	text, err := jsontext.Encode(line)
	if err != nil {
		return sdk.Errorf(sdk.Internal, "encode", "encode a log line of plugin %s: %w", line.Plugin, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return sdk.Errorf(sdk.Unavailable, "log_closed", "the logs of plugins are closed").WithHint("the host is shutting down")
	}
	if err := f.write(path, append(text, '\n')); err != nil {
		return sdk.Errorf(sdk.Unavailable, "log_io", "the log of plugin %s: %w", line.Plugin, err).
			WithHint("check that %s can be written", f.options.Dir)
	}
	return nil
}

func (f *Files) write(path string, text []byte) error {
	file, info, err := f.current(path)
	if err != nil {
		return err
	}
	if info.Size() > 0 && info.Size()+int64(len(text)) > f.options.MaxBytes {
		if err := errors.Join(f.release(path), rotate(path, info)); err != nil {
			return err
		}
		if file, _, err = f.current(path); err != nil {
			return err
		}
	}
	_, err = file.Write(text)
	return err
}

// current returns the file that is at a path now.
func (f *Files) current(path string) (*os.File, os.FileInfo, error) {
	if file := f.open[path]; file != nil {
		info, err := file.Stat()
		if err != nil {
			return nil, nil, err
		}
		moved, err := isMoved(path, info)
		if !moved || err != nil {
			return file, info, err
		}
		if err := f.release(path); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(f.options.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	f.open[path] = file
	info, err := file.Stat()
	return file, info, err
}

func (f *Files) release(path string) error {
	file := f.open[path]
	delete(f.open, path)
	return file.Close()
}

// Close closes the files. It is idempotent.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	var errs []error
	for path := range f.open {
		errs = append(errs, f.release(path))
	}
	return errors.Join(errs...)
}

// pluginName is a plugin's name, with or without its publisher, and with the version of one that is
// pinned next to others.
var pluginName = core.Pattern(`^([a-z][a-z0-9-]{0,63}/)?[a-z][a-z0-9-]{0,63}(@[0-9A-Za-z.+-]{1,64})?$`)

// pathOf returns the path of a plugin's log. Two names that differ only in the position
// of the "/" share a file; each line has its plugin's name.
func pathOf(dir, name string) (string, error) {
	if !pluginName().MatchString(name) {
		return "", sdk.Errorf(sdk.Invalid, "plugin_name_invalid", "%.80q is not a plugin's name", name).
			WithHint("a name is [a-z][a-z0-9-]*, at most 64 bytes, perhaps after a publisher's and a slash")
	}
	return filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".log"), nil
}
