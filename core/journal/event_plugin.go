package journal

// PluginStream is the stream of what hosts that share the store should have installed.
const PluginStream = "plugins"

// PluginsPushed records which packages of plugins all hosts of the store should have from now on.
type PluginsPushed struct {
	// Epoch counts the pushes from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the digest of the list of packages, and Previous the digest of the previous
	// one.
	Digest   string `json:"digest"`
	Previous string `json:"previous,omitempty"`
	// Plugins is how many packages there are.
	Plugins int `json:"plugins"`
}

func (PluginsPushed) eventType() string { return "agent.plugins.pushed" }

// pluginEvents has one event of each type above, for the catalogue.
func pluginEvents() []Event { return []Event{PluginsPushed{}} }
