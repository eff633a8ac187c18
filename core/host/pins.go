package host

import (
	"context"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// A command that finds a server on its data folder has its run done there, with the
// server's plugins. The folder that the command was called in may pin others under the same
// names: then the run would be of code that its user never agreed to. So the command says
// what it would have used, and a server that has something else refuses.

// Pins say where plugins come from, by their names: the digest of the files that a lock
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

// LockDiffers is the reason of a refusal by a host whose plugins aren't the ones that are
// meant.
const LockDiffers = "lock_differs"

type pinsKey struct{}

// WithPins returns a context whose runs and actions are refused where a plugin that they
// use comes from elsewhere than the pins say. A plugin without a pin may come from
// anywhere.
func WithPins(ctx context.Context, pins Pins) context.Context {
	return context.WithValue(ctx, pinsKey{}, pins)
}

// checkPins refuses plugins that aren't the ones that the caller has.
func (h *Host) checkPins(ctx context.Context, uses []workflow.PluginUse) error {
	pins, _ := ctx.Value(pinsKey{}).(Pins)
	if len(pins) == 0 {
		return nil
	}
	plugins, err := h.Plugins()
	if err != nil {
		return err
	}
	for _, use := range uses {
		want, pinned := pins[use.Plugin]
		if !pinned {
			continue
		}
		p := plugins.Set.Find(use.Plugin)
		switch {
		case p == nil:
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s is installed where the command was called, and the server on the data folder doesn't have it", use.Plugin).
				WithHint("start the server with the lock that pins it, or use another data folder").WithDetail("plugin", use.Plugin)
		case pinOf(p) != want:
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s of the server on the data folder isn't the one that is installed where the command was called", use.Plugin).
				WithHint("start the server again with the lock that is meant, or use another data folder").WithDetail("plugin", use.Plugin)
		}
	}
	return nil
}
