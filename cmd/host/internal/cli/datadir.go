package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/config"
)

// checkDataDir refuses a data folder that can't be one before a command meets it by
// one of the files in it, and takes it for something else that is wrong. Commands that
// only speak of the settings do without.
func (a *App) checkDataDir(c *cobra.Command) error {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	switch c.Name() {
	case "config", "version", "help", "completion":
		return nil
	}
	return config.CheckDataDir(a.config.DataDir.Value)
}
