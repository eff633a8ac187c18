package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
)

// version is the program's version, set by the linker for a release.
var version = "0.1.0-dev"

func versionCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the program, its plugin contract and its store",
		Example: "  reflectory version --json",
		RunE: func(*cobra.Command, []string) error {
			v := host.VersionOf(version)
			if out.json {
				return out.printJSON(v)
			}
			_, err := fmt.Fprint(out.Stdout, v)
			return err
		},
	}
}
