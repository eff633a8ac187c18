package main

import "github.com/spf13/cobra"

func (a *App) pluginCommand() *cobra.Command {
	c := &cobra.Command{Use: "plugin", Short: "Look at plugins", RunE: needsCommand}
	c.AddCommand(a.pluginLogsCommand())
	return c
}
