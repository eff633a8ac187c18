package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/config"
)

// checkDataDir refuses an unusable data folder, before a command fails with a misleading
// error about one of the files in it. Commands that only read settings don't call it.
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
