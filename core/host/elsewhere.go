package host

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// PluginElsewhere reports whether an error is about a plugin that this host lacks and that, as
// far as this host knows, another host of the store has.
func (m *Membership) PluginElsewhere(ctx context.Context, err error) bool {
	if reason := sdk.ReasonOf(err); reason != "plugin_not_found" && reason != "package_not_installed" || !m.config.shared() {
		return false
	}
	name, _ := sdk.AsError(err).Details["plugin"].(string) // "" where there are several
	gone := map[string]bool{m.id: true}
	if member := m.member.Load(); member != nil {
		for _, id := range member.Gone() {
			gone[id] = true
		}
	}
	hosts, _ := core.View(ctx, m.journal.Store, store.Hosts) // if they can't be read, the first error is enough
	return slices.ContainsFunc(hosts, func(other store.HostRecord) bool {
		_, has := other.Plugins[name]
		return !gone[other.ID] && !other.Draining && (has || name == "")
	})
}
