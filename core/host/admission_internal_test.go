package host

import (
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// A rule about a plugin holds for each version of it that is pinned next to others.
func TestAdmissionInput_NamesThePluginOfAVersion(t *testing.T) {
	for _, name := range []string{"acme/judge", "acme/judge@1.2.3"} {
		in := admissionInput(&install.Set{}, plugin.Installed{Name: name, Version: "1.2.3"}, "team")
		if in.Plugin != "acme/judge" || in.Version != "1.2.3" {
			t.Errorf("%s is %s %s", name, in.Plugin, in.Version)
		}
	}
}
