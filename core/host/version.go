package host

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Version describes a program and its formats.
type Version struct {
	Version string `json:"version"`
	// Revision is the commit that it was built from, if that is known.
	Revision string `json:"revision,omitempty"`
	// Date is the time of that commit, in RFC 3339.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Contract and StoreFormat are the versions of the plugin contract and of
	// the store's format.
	Contract    int `json:"contract"`
	StoreFormat int `json:"store_format"`
}

// VersionOf is the version of this program; program is its version number.
func VersionOf(program string) Version {
	v := Version{
		Version: program, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Contract: sdk.ContractVersion, StoreFormat: store.Format,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.time":
				v.Date = s.Value
			}
		}
	}
	return v
}

// String is the version on a line, for people.
func (v Version) String() string {
	from := ""
	if v.Revision != "" {
		from = fmt.Sprintf("%.12s of %.10s, ", v.Revision, v.Date)
	}
	return fmt.Sprintf("reflectory %s (%s%s, %s; plugin contract %d, store format %d)\n",
		v.Version, from, v.Go, v.Platform, v.Contract, v.StoreFormat)
}
