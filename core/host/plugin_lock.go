package host

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// PluginLacking is the reason for a refusal by a host that lacks a package which all hosts of
// its store should have.
const PluginLacking = "plugin_lacking"

// PluginsPushed is the result of a push.
type PluginsPushed struct {
	// Epoch counts the locks that were pushed, from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the digest of Plugins, and Previous the digest of the previous list.
	Digest   string `json:"digest"`
	Previous string `json:"previous,omitempty"`
	// Plugins are the digests of the packages by the names of the plugins.
	Plugins map[string]string `json:"plugins"`
	// Unchanged is whether the same list was pushed before, so that nothing was written.
	Unchanged bool `json:"unchanged,omitempty"`
}

// PushPlugins records, in the store and in the databases of tenants, which packages all hosts
// should have: the packages that this host's lock pins. Plugins that come with the program
// aren't named. Without a shared store the error is sdk.Incompatible, reason
// "plugins_not_shared".
func (c *Copies) PushPlugins(ctx context.Context) (*PluginsPushed, error) {
	pushed, err := c.own.Plugins.push(ctx)
	if err != nil {
		return nil, err
	}
	return pushed, c.own.Databases.eachCopy(func(own *Host) error {
		_, err := own.Plugins.push(ctx)
		return err
	})
}

func (p *Plugins) push(ctx context.Context) (*PluginsPushed, error) {
	if p.policies.shared == nil {
		return nil, sdk.Errorf(sdk.Incompatible, "plugins_not_shared", "no other host works on this host's store").
			WithHint("the lock alone decides; locks are pushed where hosts share a database")
	}
	plugins, err := p.locked()
	if err != nil {
		return nil, err
	}
	now, before, err := p.putLock(ctx, plugins)
	if err != nil {
		return nil, sdk.Wrap("push the lock of plugins", err)
	}
	return &PluginsPushed{Epoch: now.Epoch, Digest: now.Digest, Previous: before.Digest, Plugins: now.Plugins, Unchanged: now.Epoch == before.Epoch}, nil
}

// putLock records which packages all hosts should have.
func (p *Plugins) putLock(ctx context.Context, plugins map[string]string) (now, before pluginlock.Active, err error) {
	err = p.journal.Update(ctx, func(tx *journal.Tx) (err error) {
		now, before, err = pluginlock.Put(tx, plugins)
		return err
	})
	return now, before, err
}

// locked are the digests of the packages that this host's lock pins and that it has.
func (p *Plugins) locked() (list map[string]string, err error) {
	set, err := OpenSet(p.config.Settings, func(Notice) {})
	if err != nil {
		return nil, err
	}
	defer func() { err = core.JoinErrors(err, set.Close()) }()
	list = map[string]string{}
	for _, one := range set.Plugins() {
		if one.Place.Label == ProjectLabel && !one.Dev() && one.Problem == nil {
			list[one.Name] = one.Digest()
		}
	}
	return list, nil
}

// checkLock refuses plugins whose package on this host differs from the package that all
// hosts of the store should have, so that a run doesn't depend on the host that took it.
func (p *Plugins) checkLock(ctx context.Context, uses []workflow.PluginUse) error {
	if p.policies.shared == nil || len(uses) == 0 {
		return nil
	}
	active, err := p.lock(ctx)
	if err != nil || len(active.Plugins) == 0 {
		return err
	}
	plugins, err := p.Callable()
	if err != nil {
		return err
	}
	for _, use := range uses {
		if want, named := active.Plugins[use.Plugin]; named && !has(plugins.Set, use.Plugin, want) {
			return sdk.Errorf(sdk.Unavailable, PluginLacking, "this host lacks the package of plugin %s that all hosts of its database should have", use.Plugin).
				WithHint("add that package here, or push the lock of a host that has the right one").
				WithAction("hosts list").WithDetail("plugin", use.Plugin).WithDetail("digest", want)
		}
	}
	return nil
}

// has reports whether a plugin of a set is a package.
func has(set *install.Set, name, digest string) bool {
	p := set.Find(name)
	return p != nil && p.Problem == nil && p.Digest() == digest
}

func (p *Plugins) lock(ctx context.Context) (pluginlock.Active, error) {
	return core.View(ctx, p.journal.Store, pluginlock.Read)
}

// lacking are the plugins of a lock for which a host has no package, or a different one,
// sorted.
func lacking(lock pluginlock.Active, has map[string]string) (names []string) {
	for name, digest := range lock.Plugins {
		if has[name] != digest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// warnOfLacking warns, once for each pushed lock, about the packages of the lock that this
// host lacks.
func (p *Plugins) warnOfLacking(ctx context.Context) error {
	lock, err := p.lock(ctx)
	if err != nil || lock.Epoch == p.lockEpoch.Swap(lock.Epoch) {
		return err
	}
	plugins, err := p.Callable()
	if err != nil {
		return err
	}
	if names := lacking(lock, PinsOf(plugins.Set)); len(names) > 0 {
		p.config.warnf("this host lacks packages that all hosts of its database should have, and takes no runs that need them: %s", strings.Join(names, ", "))
	}
	return nil
}
