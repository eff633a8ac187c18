package host

import (
	"context"

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
				WithHint("if it was added since the server was started, restart the server; otherwise start the server with the lock that pins it, or use another data folder").WithDetail("plugin", use.Plugin)
		case pinOf(found) != want:
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s of the server on the data folder isn't the one that is installed where the command was called", use.Plugin).
				WithHint("start the server again with the lock that is meant, or use another data folder").WithDetail("plugin", use.Plugin)
		}
	}
	return nil
}
