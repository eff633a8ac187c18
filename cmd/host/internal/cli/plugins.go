package cli

import (
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// openSet reads what is installed.
func (a *App) openSet() (*install.Set, error) { return host.OpenSet(a.config, a.notice) }
