package policy

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// debounce is how long a folder must be unchanged before it is read: an editor writes a
// file in several steps, and a checkout writes many files.
const debounce = 100 * time.Millisecond

// Reload is the result of a change of the folder.
type Reload struct {
	// Digest is the digest of the set in force, Previous the digest of the previous one.
	Digest   string `json:"digest"`
	Previous string `json:"previous"`
	// Files is how many policies are in force, without the defaults.
	Files int `json:"files"`
	// Failure is why the folder was refused; then nothing changed.
	Failure *core.ErrorInfo `json:"failure,omitempty"`
}

// Reload reads the folder and puts its policies in force, completely or not at all: if
// there is any problem, the present set stays in force, and the error describes the
// problem.
func (p *Policies) Reload(folder fs.FS) (Reload, error) {
	before := p.Set()
	r := Reload{Digest: before.digest, Previous: before.digest, Files: len(before.files)}
	set, err := p.points.loadSettled(folder, before)
	if err != nil {
		r.Failure = core.NewErrorInfo(err)
		return r, err
	}
	p.Replace(set)
	r.Digest, r.Files = set.digest, len(set.files)
	return r, nil
}

// loadSettled loads a folder that doesn't change meanwhile, since files from different
// moments don't form a set. If the folder is unchanged, the loaded set is returned.
func (p *Points) loadSettled(folder fs.FS, loaded *Set) (*Set, error) {
	files, err := readFolder(folder, p)
	if err != nil {
		return nil, err
	}
	again, err := readFolder(folder, p)
	if err != nil {
		return nil, err
	}
	digest := folderDigest(files.files)
	if digest != folderDigest(again.files) {
		return nil, sdk.Errorf(sdk.Conflict, "policy_folder_changing", "the policy folder changed while it was read").
			WithHint("it is read again once it stops changing")
	}
	if digest == loaded.digest && len(files.problems) == 0 {
		return loaded, nil
	}
	return p.compile(files)
}

// Follow reloads a folder whenever it has changed and then stays unchanged for a while,
// until the context ends. Each change of the set, and each refusal, is passed to changed,
// in the goroutine that follows. It returns an error only if the folder can't be watched.
func (p *Policies) Follow(ctx context.Context, dir string, changed func(Reload)) (err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return unwatchable(dir, err)
	}
	defer func() { err = errors.Join(err, watcher.Close()) }()
	if err := p.watch(watcher, dir); err != nil {
		return unwatchable(dir, err)
	}
	rest := time.NewTimer(0) // includes changes from before the watch began
	defer rest.Stop()
	for refused := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			rest.Reset(debounce)
		case <-watcher.Errors: //nolint:errcheck // events were lost: read the folder
			rest.Reset(debounce)
		case <-rest.C:
			if err := p.watch(watcher, dir); err != nil {
				rest.Reset(time.Second)
				continue
			}
			refused = p.follow(os.DirFS(dir), refused, changed, rest)
		}
	}
}

// follow reloads once, and returns the message of a refusal, so that the same refusal
// isn't reported twice.
func (p *Policies) follow(folder fs.FS, refused string, changed func(Reload), rest *time.Timer) string {
	r, err := p.Reload(folder)
	switch {
	case sdk.CodeOf(err) == sdk.Conflict:
		rest.Reset(debounce)
	case err != nil && err.Error() != refused:
		changed(r)
		return err.Error()
	case err == nil && r.Digest != r.Previous:
		changed(r)
		return ""
	case err == nil:
		return ""
	}
	return refused
}

// watch watches a folder and the folders of its points. Watching one again is harmless.
func (p *Policies) watch(watcher *fsnotify.Watcher, dir string) error {
	if err := watcher.Add(dir); err != nil {
		return err
	}
	for _, name := range p.points.Names() {
		err := watcher.Add(filepath.Join(dir, string(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func unwatchable(dir string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "policy_folder_unwatched", "the policy folder %s can't be watched: %w", dir, err).
		WithHint("create the folder, or restart after changing the policies")
}
