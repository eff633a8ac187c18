// Package pluginlock keeps in a store which packages of plugins all of its hosts should have.
// Packages are files on each host's machine, and a database doesn't copy them there. But one
// place can say which ones they should be, so that a host that lacks one says so, and doesn't
// run another one instead.
//
// It is internal to Reflectory: its API may change in any release.
package pluginlock

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// activeKey is the one key. FORMAT.md describes it.
const activeKey = "plugin-lock/active"

// Active is which packages hosts should have. The zero value means that no lock was pushed.
type Active struct {
	// Epoch counts the locks that were pushed, from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the digest of Plugins.
	Digest string `json:"digest"`
	// Plugins are the digests of the packages by the names of the plugins.
	Plugins map[string]string `json:"plugins"`
}

// Read reads which packages hosts should have. A value that the program didn't write is an
// error, so that nothing runs by a guess.
func Read(r core.Reader) (Active, error) {
	value, found, err := r.Get([]byte(activeKey))
	if err != nil || !found {
		return Active{}, err
	}
	var a Active
	if err := jsontext.DecodeStrict(value, &a); err != nil || a.Epoch == 0 || a.Digest != digest(a.Plugins) {
		return Active{}, sdk.Errorf(sdk.Internal, "plugin_lock_damaged", "the store's %s isn't what was pushed", activeKey).
			WithHint("check the store, and push the plugins again")
	}
	return a, nil
}

func digest(plugins map[string]string) string { return core.Digest(jsontext.MustEncode(plugins)) }

// Put says which packages hosts should have, unless that is already said. It returns what
// holds now, and what did before.
func Put(tx *journal.Tx, plugins map[string]string) (now, before Active, err error) {
	if before, err = Read(tx); err != nil || before.Epoch > 0 && maps.Equal(before.Plugins, plugins) {
		return before, before, err
	}
	now = Active{Epoch: before.Epoch + 1, Digest: digest(plugins), Plugins: plugins}
	if err := tx.Put([]byte(activeKey), jsontext.MustEncode(now)); err != nil {
		return now, before, err
	}
	return now, before, tx.Append(journal.PluginStream, journal.PluginsPushed{
		Epoch: now.Epoch, Digest: now.Digest, Previous: before.Digest, Plugins: len(plugins),
	})
}

// Checker holds the key to the event of the newest push.
type Checker struct{}

var _ core.Checker = Checker{}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	var last journal.PluginsPushed
	err := journal.CheckEntries(ctx, r, journal.PluginStream, func(e journal.Entry) error {
		if !e.Is(last) || json.Unmarshal(e.Data, &last) != nil {
			report(core.Problem{Part: "plugins", Key: "event/" + journal.PluginStream, Message: "an event isn't a push"})
		}
		return nil
	})
	if err != nil {
		return err
	}
	active, err := Read(r)
	if err != nil || active.Epoch != last.Epoch || active.Digest != last.Digest {
		report(core.Problem{Part: "plugins", Key: activeKey, Message: "it isn't what the newest push said"})
	}
	return nil
}
