package host

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// A command that finds a server on its data folder sends its run there, and the server uses
// its own plugins. The lock of the command's folder may pin other plugins under the same
// names. Then code would run that the user never agreed to. So the command sends the pins
// of the plugins that it would have used, and a server with different plugins refuses.

// Pins are the origins of plugins, by their names: the digest of the files that a lock
// pins, or the folder of a plugin in development.
type Pins map[string]string

// PinsOf are the pins of the plugins that are installed.
func PinsOf(set *install.Set) Pins {
	pins := Pins{}
	for _, p := range set.Plugins() {
		pins[p.Name] = pinOf(p)
	}
	return pins
}

func pinOf(p *install.Plugin) string {
	if p.Dev() {
		return "dev:" + p.Folder
	}
	return p.Digest()
}

// LockDiffers is the reason for a refusal by a host whose plugins differ from the caller's
// pins.
const LockDiffers = "lock_differs"

type pinsKey struct{}

// WithPins returns a context whose runs and actions are refused if a plugin that they use
// differs from its pin. A plugin without a pin may come from anywhere.
func WithPins(ctx context.Context, pins Pins) context.Context {
	return context.WithValue(ctx, pinsKey{}, pins)
}

// checkPins refuses plugins that differ from the caller's pins.
func (p *Plugins) checkPins(ctx context.Context, uses []workflow.PluginUse) error {
	pins, _ := ctx.Value(pinsKey{}).(Pins)
	if len(pins) == 0 {
		return nil
	}
	plugins, err := p.Callable()
	if err != nil {
		return err
	}
	for _, use := range uses {
		want, pinned := pins[use.Plugin]
		if !pinned {
			continue
		}
		found := plugins.Set.Find(use.Plugin)
		switch {
		case found == nil:
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s is installed where the command was called, and the server on the data folder doesn't have it", use.Plugin).
				WithHint("start the server with the lock that pins it, or use another data folder").WithDetail("plugin", use.Plugin)
		case pinOf(found) != want:
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s of the server on the data folder isn't the one that is installed where the command was called", use.Plugin).
				WithHint("start the server again with the lock that is meant, or use another data folder").WithDetail("plugin", use.Plugin)
		}
	}
	return nil
}

// checkVersions refuses plugins whose version isn't one that the workflow asks for. A plugin that
// isn't installed is reported when it is called.
func (p *Plugins) checkVersions(uses []workflow.PluginUse) error {
	uses = slices.DeleteFunc(slices.Clone(uses), func(use workflow.PluginUse) bool { return len(use.Versions) == 0 })
	if len(uses) == 0 {
		return nil
	}
	plugins, err := p.Callable()
	if err != nil {
		return err
	}
	for _, use := range uses {
		found := plugins.Set.Find(use.Plugin)
		if found == nil || inRanges(found.Version, use.Versions) {
			continue
		}
		wanted := strings.Join(use.Versions, " and ")
		refused := sdk.Errorf(sdk.Incompatible, "plugin_version", "the workflow asks for plugin %s %s, and version %s is installed", use.Plugin, wanted, found.Version).
			WithDetail("plugin", use.Plugin).WithDetail("wanted", use.Versions).WithDetail("installed", found.Version)
		for _, other := range plugins.Set.Plugins() {
			if install.BareName(other.Name) == install.BareName(use.Plugin) && inRanges(other.Version, use.Versions) {
				return refused.WithHint("version %s is installed too: write plugin: %s", other.Version, other.Name)
			}
		}
		return refused.WithHint("add a version that will do; --side-by-side keeps the installed one, for other workflows").WithAction("plugin add", "path", nil)
	}
	return nil
}

func inRanges(version string, ranges []string) bool {
	return !slices.ContainsFunc(ranges, func(r string) bool { return !workflow.InRange(version, r) })
}
