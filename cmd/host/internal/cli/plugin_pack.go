package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/plugin/install"
)

func pluginPackCommand(out *output) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "pack DIR", Short: "Make an archive of a plugin, for plugin add elsewhere",
		Long: `Make an archive of the plugin in a folder, which plugin add installs elsewhere, and print
its SHA-256. The same files make the same archive each time. Sign the plugin first: the
signature is one of its files. A registry takes the archive by
oras push REGISTRY/NAME:VERSION FILE.`,
		Example: "  reflectory plugin pack words\n  reflectory plugin pack words --out words.tar.gz",
		RunE: func(c *cobra.Command, args []string) error {
			packed, err := install.Pack(c.Context(), args[0], to)
			if err != nil {
				return err
			}
			if out.json {
				return out.printJSON(packed)
			}
			fmt.Fprintf(out.Stdout, "packed %s %s (%s, %s)\nsha256 %s  %s\n", packed.Name, packed.Version,
				plural(packed.Files, "file", "files"), term.Size(packed.Bytes), packed.SHA256, term.Clean(packed.File))
			return nil
		},
	}
	c.Flags().StringVar(&to, "out", "", "the archive's `file`; by default NAME-VERSION.tar.gz in the working folder")
	return c
}
