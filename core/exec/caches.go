package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/exec/workspace"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// keptCaches is how many filled caches are kept; the least recently used is removed first. Each is
	// at most as large as a workspace.
	keptCaches = 8
	// fillingPrefix begins the name of a cache that isn't complete, or no longer wanted.
	fillingPrefix = "filling-"
	// abandonedTime is after how long an incomplete cache is some killed host's: no program runs so
	// long.
	abandonedTime = 2 * maxTimeout
	// maxCacheOutput is how much of the output of a command that fills no cache is shown, in bytes.
	maxCacheOutput = 2048
)

// cacheFolder is the folder of caches in a program's home.
const cacheFolder = ".cache"

// cacheName is the name of a cache: a folder in $HOME/.cache.
var cacheName = core.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// caches are the filled caches, each a folder named after its key.
type caches struct {
	dir string
	// use is held while caches are read, and alone while some are removed.
	use sync.RWMutex

	mu      sync.Mutex
	filling map[string]chan struct{} // closed once that is over
}

// key identifies the content of a cache: whose original, with which content, and the command.
func (j *job) key(original, name, command string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", j.caller.Tenant, j.caller.Folder, j.request.Workspace.From, original, name, command)
	return hex.EncodeToString(h.Sum(nil))
}

// cache makes sure that a cache is filled, and returns its folder. One request fills it; others that
// need it wait.
func (r *Runner) cache(ctx context.Context, j *job, original, name, command string) (string, error) {
	c := &r.caches
	switch {
	case !cacheName().MatchString(name):
		return "", invalid("the cache %.64q isn't the name of a folder in $HOME/.cache", name)
	case original == "":
		return "", invalid("the cache %s has no original to be filled from", name)
	case c.dir == "":
		return "", sdk.Errorf(sdk.Unavailable, "cache_unavailable", "this host keeps no caches of programs")
	}
	key := j.key(original, name, command)
	dir := filepath.Join(c.dir, key)
	for {
		c.mu.Lock()
		if _, err := os.Stat(dir); err == nil {
			c.mu.Unlock()
			return dir, nil
		}
		filling, busy := c.filling[key]
		if !busy {
			if c.filling == nil {
				c.filling = map[string]chan struct{}{}
			}
			filling = make(chan struct{})
			c.filling[key] = filling
		}
		c.mu.Unlock()
		if busy {
			select {
			case <-filling:
				continue
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		err := r.fillCache(ctx, j, dir, name, command)
		c.mu.Lock()
		delete(c.filling, key)
		c.mu.Unlock()
		close(filling)
		return dir, err
	}
}

// fillCache runs a cache's command on the original, and keeps what it left in the cache's folder.
func (r *Runner) fillCache(ctx context.Context, j *job, dir, name, command string) error {
	program, err := r.find(ctx, j.grants, nil, command)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.caches.dir, 0o700); err != nil {
		return err
	}
	r.caches.tidy()
	fresh, err := os.MkdirTemp(r.caches.dir, fillingPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // what stays is removed as abandoned
	answer, err := r.run(ctx, &job{
		program: program, caller: j.caller, grants: j.grants,
		request: &sdk.ExecRequest{
			Shell: command, Env: j.request.Env, TimeoutMS: j.request.TimeoutMS, Limits: j.request.Limits,
			Workspace: sdk.ExecWorkspace{From: j.request.Workspace.From},
		},
		keep: func(home string) error { return keepCache(ctx, home, name, fresh) },
	})
	if err != nil {
		return err
	}
	if answer.Exit != 0 || answer.Stopped != "" {
		text := answer.Stdout + answer.Stderr
		return sdk.Errorf(sdk.Invalid, "cache_failed", "the command of the cache %s ended with status %d%s: %s", name, answer.Exit,
			strings.TrimSuffix(" ("+answer.Stopped+")", " ()"), text[max(0, len(text)-maxCacheOutput):]).
			WithHint("make %q succeed in the original", core.Cut(command))
	}
	return os.Rename(fresh, dir)
}

// keepCache copies what a command left in a cache's folder. Links that the command made don't lead it
// out of the home.
func keepCache(ctx context.Context, home, name, to string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only reads
	left, err := root.Open(filepath.Join(cacheFolder, name))
	if os.IsNotExist(err) {
		return nil // the command needed no cache
	}
	if err != nil {
		return err
	}
	defer left.Close()
	return workspace.Copy(ctx, workspace.Options{Dir: to}, opened(left))
}

// give copies a filled cache into a program's home.
func (c *caches) give(ctx context.Context, home, name, from string, owner *workspace.Owner) error {
	c.use.RLock()
	defer c.use.RUnlock()
	_ = os.Chtimes(from, time.Time{}, time.Now()) // when it was used last
	for _, dir := range []string{cacheFolder, filepath.Join(cacheFolder, name)} {
		path := filepath.Join(home, dir)
		if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
			return err
		}
		if owner != nil {
			if err := os.Lchown(path, owner.UID, owner.GID); err != nil {
				return err
			}
		}
	}
	return workspace.Copy(ctx, workspace.Options{Dir: filepath.Join(home, cacheFolder, name), Owner: owner}, from)
}

// tidy removes the caches that were not used for longest, before another is made, and what killed
// hosts left.
func (c *caches) tidy() {
	c.use.Lock()
	defer c.use.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return // filling reports it
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case !strings.HasPrefix(e.Name(), fillingPrefix):
			kept = append(kept, info)
		case time.Since(info.ModTime()) > abandonedTime:
			_ = os.RemoveAll(filepath.Join(c.dir, e.Name()))
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range kept {
		if i >= keptCaches-1 {
			_ = os.RemoveAll(filepath.Join(c.dir, info.Name()))
		}
	}
}
