package config

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core/dream"
)

// reloadable are the settings that a running server takes from a changed file: those that are looked
// up each time they are needed. All others are kept by parts that were made with them.
type reloadable struct {
	replacing      map[string]bool
	dev, endpoints []string
	keys           map[endpointKey]bool
	commands       Commands
	keep           Keep
	dream          dream.Options
}

// isReloadable reports whether a setting is in [reloadable].
func (d Definition) isReloadable() bool {
	return slices.Contains([]string{"dev_plugins", "llm_endpoints", "commands_allow", "commands_read", "commands_env", "keep_decisions", "keep_runs"}, d.Name) || slices.ContainsFunc(dreams(), func(of Definition) bool { return of.Name == d.Name && of.Name != "dream_judge" })
}

// live is what changes while a program runs. Copies of a Config share it.
type live struct {
	from       Sources
	now        atomic.Pointer[reloadable] // nil until something has changed
	generation atomic.Uint64

	mu     sync.Mutex
	files  []os.FileInfo     // how the files looked when they were read last; nil for one that wasn't there
	values map[string]string // of the settings, by name, when they were read last
}

// now are the reloadable settings that are in force.
func (c *Config) now() *reloadable {
	if c.live != nil {
		if newer := c.live.now.Load(); newer != nil {
			return newer
		}
	}
	return &c.typed.reloadable
}

// Refreshed is what a [Config.Refresh] found.
type Refreshed struct {
	// Generation counts the changes so far that were put in force, including changes of the lock and
	// of the trust file.
	Generation uint64
	// Restart are the names of the settings that this call found changed, and that only a restart
	// puts in force.
	Restart []string
}

// Refresh reads the settings again if reflectory.yaml, the lock or the trust file has changed since
// the last time, and puts the reloadable ones in force: the folders of plugins in development, the
// endpoints of models, the programs that may run, how long decisions and runs are kept, and the defaults of housekeeping passes.
// If the changed settings can't be used, the error is reported once, and the earlier ones stay in
// force. An unchanged file costs a look at its time.
func (c *Config) Refresh() (r Refreshed, err error) {
	l := c.live
	if l == nil {
		return r, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Generation = l.generation.Load()
	files := c.stamp(l.from)
	if slices.EqualFunc(files, l.files, sameVersion) {
		return r, nil
	}
	l.files = files
	next, err := Load(l.from)
	if err != nil {
		return r, err
	}
	values := next.values()
	for _, d := range definitions() {
		if values[d.Name] != l.values[d.Name] && !d.isReloadable() {
			r.Restart = append(r.Restart, d.Name)
		}
	}
	l.values = values
	l.now.Store(&next.typed.reloadable)
	r.Generation = l.generation.Add(1)
	return r, nil
}

// stamp is how the files that are read again look.
func (c *Config) stamp(from Sources) (files []os.FileInfo) {
	file := c.file
	if file == "" {
		file = filepath.Join(from.Folder, FileName) // it may be written later
	}
	for _, path := range []string{file, c.Lock.Value, c.TrustFile.Value} {
		info, err := os.Stat(path)
		if err != nil {
			info = nil // as for one that isn't there: reading it reports why
		}
		files = append(files, info)
	}
	return files
}

// sameVersion reports whether a file is unchanged.
func sameVersion(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// values are the values of all settings, by name.
func (c *Config) values() map[string]string {
	all := map[string]string{}
	for _, d := range definitions() {
		all[d.Name] = d.field(c).Value
	}
	return all
}
