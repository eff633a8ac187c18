package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// PluginElsewhere reports whether an error is about a plugin that this host lacks and that, as
// far as this host knows, another host of the store has.
func (h *Host) PluginElsewhere(ctx context.Context, err error) bool {
	if reason := sdk.ReasonOf(err); reason != "plugin_not_found" && reason != "package_not_installed" || !h.shared() {
		return false
	}
	name, _ := sdk.AsError(err).Details["plugin"].(string) // "" where there are several
	gone := map[string]bool{h.id: true}
	if m := h.member.Load(); m != nil {
		for _, id := range m.Gone() {
			gone[id] = true
		}
	}
	found := false
	_ = h.Store.View(ctx, func(r core.Reader) error { // if the hosts can't be read, the first error is enough
		hosts, err := store.Hosts(r)
		for _, other := range hosts {
			_, has := other.Plugins[name]
			found = found || !gone[other.ID] && !other.Draining && (has || name == "")
		}
		return err
	})
	return found
}
