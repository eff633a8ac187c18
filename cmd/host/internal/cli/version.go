package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// version is the program's version, set by the linker for a release.
var version = "0.1.0-dev"

// Version is what the version command prints.
type Version struct {
	Version string `json:"version"`
	// Revision is the commit that it was built from, where that is known.
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Contract and StoreFormat are the versions of the plugin contract and of
	// the store's format.
	Contract    int `json:"contract"`
	StoreFormat int `json:"store_format"`
}

// String is the version on a line, for people.
func (v Version) String() string {
	return fmt.Sprintf("reflectory %s (%s, %s; plugin contract %d, store format %d)\n",
		v.Version, v.Go, v.Platform, v.Contract, v.StoreFormat)
}

func currentVersion() Version {
	v := Version{
		Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Contract: sdk.ContractVersion, StoreFormat: store.Format,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	return v
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the program, its plugin contract and its store",
		Example: "  reflectory version --json",
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			if a.flags.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprint(a.Stdout, v)
			return err
		},
	}
}
