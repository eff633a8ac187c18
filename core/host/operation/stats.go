package operation

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// stats are the operations that count.
func stats() []Operation {
	return []Operation{
		define(Operation{
			Name: "stats", Method: "GET", Path: "/v1/stats", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Count the memories by state and kind, the reflections, the plugins, and the bytes of the store.",
		}, ofStats, statsGet),
	}
}

// StatsScope is a part of the statistics.
type StatsScope string

// The parts of the statistics.
const (
	StatsAll        StatsScope = "all"
	StatsMemory     StatsScope = "memory"
	StatsReflection StatsScope = "reflection"
	StatsPlugins    StatsScope = "plugins"
	StatsStore      StatsScope = "store"
)

// StatsScopes are all parts.
func StatsScopes() []StatsScope {
	return []StatsScope{StatsAll, StatsMemory, StatsReflection, StatsPlugins, StatsStore}
}

// StatsGet selects statistics.
type StatsGet struct {
	// Scope is the requested part; "" is all parts.
	Scope StatsScope `json:"scope,omitempty"`
	// UserID is the user whose reflections are counted: the namespace is then users/ and this
	// id, unless Namespace names another. "" means all users.
	UserID string `json:"user_id,omitempty"`
	// Namespace is where memories and reflections are counted; "" is every namespace that the
	// caller reaches. Subtree includes the namespaces below.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
}

// Stats are the requested parts.
type Stats struct {
	Memory     *memory.Counts   `json:"memory,omitempty"`
	Reflection *ReflectionStats `json:"reflection,omitempty"`
	Plugins    *PluginStats     `json:"plugins,omitempty"`
	Store      *StoreStats      `json:"store,omitempty"`
}

// PluginStats counts the installed plugins, and the ones that can be run.
type PluginStats struct {
	Installed int `json:"installed"`
	Ready     int `json:"ready"`
}

// StoreStats is the size of the store's files, 0 if the store isn't in the data folder, and
// its durability, full or relaxed.
type StoreStats struct {
	Bytes      int64  `json:"bytes"`
	Durability string `json:"durability"`
}

// ofStats is the place of statistics: the namespace that they name, or the host, filtered
// by what the caller reaches.
func ofStats(ctx context.Context, c *Call, in *StatsGet) (place, error) {
	if in.Namespace = reflectedIn(in.UserID, in.Namespace); in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *StatsGet) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func statsGet(ctx context.Context, c *Call, in *StatsGet) (out *Stats, err error) {
	out = &Stats{}
	if in.wants(StatsMemory) {
		counts := func(namespace string) bool { return in.countsIn(namespace) && c.reaches(namespace) }
		if out.Memory, err = c.Host.Memories.Counts(ctx, counts); err != nil {
			return nil, err
		}
		if out.Memory.Purged, out.Memory.PurgedMore, err = c.Host.Memories.Purged(ctx, counts); err != nil {
			return nil, err
		}
	}
	if in.wants(StatsReflection) {
		if out.Reflection, err = c.reflectionStats(ctx, in); err != nil {
			return nil, err
		}
	}
	if in.wants(StatsPlugins) {
		out.Plugins = &PluginStats{}
		err := c.withSet(func(set *install.Set) error {
			for _, p := range set.Plugins() {
				out.Plugins.Installed++
				if p.Problem == nil {
					out.Plugins.Ready++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if in.wants(StatsStore) {
		size, err := c.Host.Storage.Bytes()
		if err != nil {
			return nil, err
		}
		out.Store = &StoreStats{Bytes: size, Durability: c.Host.Config.Settings.Durability.Value}
	}
	return out, nil
}

func (in *StatsGet) check() error {
	return core.JoinErrors(oneOf("scope", in.Scope, StatsScopes()), checkUser(in.UserID), checkNamespace(in.Namespace))
}

func (in *StatsGet) wants(part StatsScope) bool {
	return in.Scope == "" || in.Scope == StatsAll || in.Scope == part
}

// countsIn reports whether a namespace's memories are counted.
func (in *StatsGet) countsIn(namespace string) bool {
	return in.Namespace == "" || namespace == in.Namespace || in.Subtree && strings.HasPrefix(namespace, in.Namespace+"/")
}
