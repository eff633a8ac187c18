package install

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Difference is a file of a package that isn't as the lock pins it.
type Difference struct {
	// File is its name in the package, and Path its path.
	File string `json:"file"`
	Path string `json:"path"`
	// Want and Got are digests; "" is no file.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// String is the difference for messages.
func (d Difference) String() string {
	switch {
	case d.Want == "":
		return d.Path + ": no such file is pinned"
	case d.Got == "":
		return d.Path + ": the file is gone"
	}
	return fmt.Sprintf("%s: wanted SHA-256 %s, got %s", d.Path, d.Want, d.Got)
}

// differs is the list of differences, before it is known whose package it is.
type differs []Difference

func (d differs) Error() string { return d[0].String() }

// maxShown bounds how many differences a message spells out.
const maxShown = 3

// Changed reports that a plugin isn't what was pinned, and how to fix that. There
// must be a difference.
func (p *Plugin) Changed(found []Difference) error {
	reason := "package_changed"
	if slices.ContainsFunc(found, func(d Difference) bool { return d.Want != "" && d.Got != "" }) {
		reason = "checksum_mismatch"
	}
	lines := make([]string, 0, maxShown)
	for _, d := range found[:min(maxShown, len(found))] {
		lines = append(lines, d.String())
	}
	if more := len(found) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	err := sdk.Errorf(sdk.Denied, reason, "plugin %s is not what %s pins: %s", p.Name, p.Place.Lock, strings.Join(lines, "; ")).
		WithDetail("plugin", p.Name).WithDetail("differences", found)
	return p.Place.repaired(err, p.remedy(), p.Locked)
}

// remedy describes how to fix a changed plugin: a copy is made again, and a package in the
// lock's own folder is pinned as it is now.
func (p *Plugin) remedy() string {
	if p.Place.Repair == "" && p.Locked.Path == "" {
		return "restore it from a package that you trust"
	}
	return "if you trust what is there now, pin it"
}

// compareNames finds the files that were added or removed.
func (p *Plugin) compareNames(names []string) (found differs) {
	for _, name := range names {
		if p.Locked.Files[name] == "" {
			found = append(found, Difference{File: name, Path: p.path(name), Got: "present"})
		}
	}
	for _, name := range p.Locked.sortedFiles() {
		if _, ok := slices.BinarySearch(names, name); !ok {
			found = append(found, Difference{File: name, Path: p.path(name), Want: p.Locked.Files[name]})
		}
	}
	return found
}

func (p *Plugin) path(name string) string { return filepath.Join(p.Folder, filepath.FromSlash(name)) }

// Verify compares every file of an installed plugin with the lock, for all
// platforms, and returns what differs.
func (p *Plugin) Verify(ctx context.Context) ([]Difference, error) {
	f, err := openFolder(p.Folder)
	if err != nil {
		return nil, p.gone(err)
	}
	defer f.close()
	files, err := f.hash(ctx)
	if err != nil {
		return nil, err
	}
	found := p.compareNames(slices.Sorted(maps.Keys(files)))
	for i, d := range found {
		if d.Want == "" {
			found[i].Got = files[d.File]
		}
	}
	for _, name := range p.Locked.sortedFiles() {
		if got := files[name]; got != "" && got != p.Locked.Files[name] {
			found = append(found, Difference{File: name, Path: p.path(name), Want: p.Locked.Files[name], Got: got})
		}
	}
	return found, nil
}

// gone describes how a plugin whose folder can't be opened is installed again.
func (p *Plugin) gone(err error) error {
	if sdk.CodeOf(err) != sdk.NotFound || p.Locked == nil {
		return err
	}
	missing := sdk.Errorf(sdk.NotFound, "package_not_installed", "plugin %s is pinned by %s, but isn't on this machine: there is no folder %s",
		p.Name, p.Place.Lock, p.Folder)
	return p.Place.repaired(missing, "install it", p.Locked)
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
