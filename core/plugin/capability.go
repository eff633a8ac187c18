package plugin

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Capabilities are what a plugin may do beyond computing: what its package asks
// for, and what an operator granted it. The zero value is nothing.
type Capabilities struct {
	// Network lists the endpoints it may reach through the host, as host:port.
	Network []string `json:"network,omitempty" yaml:"network,omitempty"`
	// FS lists the absolute paths that it may read. The word "system" is the
	// system's own folders, which interpreters need.
	FS []string `json:"fs,omitempty" yaml:"fs,omitempty"`
	// Env names the variables of the host's environment that it may see.
	Env []string `json:"env,omitempty" yaml:"env,omitempty"`
	// Host lists the host services that it may call: see [Service].
	Host []Service `json:"host,omitempty" yaml:"host,omitempty"`
}

// Service is something that the host does for plugins.
type Service = sdk.Service

// The host services, as the contract names them.
const (
	ServiceLog    = sdk.ServiceLog
	ServiceLLM    = sdk.ServiceLLM
	ServiceRecall = sdk.ServiceRecall
	ServiceCache  = sdk.ServiceCache
	ServiceExec   = sdk.ServiceExec
)

// List names each capability as operators write it, sorted: "env:API_KEY",
// "fs:system", "host:cache", "network:example.org:443".
func (c Capabilities) List() []string {
	var names []string
	for _, v := range c.Network {
		names = append(names, "network:"+v)
	}
	for _, v := range c.FS {
		names = append(names, "fs:"+v)
	}
	for _, v := range c.Env {
		names = append(names, "env:"+v)
	}
	for _, v := range c.Host {
		names = append(names, "host:"+string(v))
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}

// Beyond lists what is in c but not in granted, in the form of [Capabilities.List].
func (c Capabilities) Beyond(granted Capabilities) []string {
	has := granted.List()
	return slices.DeleteFunc(c.List(), func(name string) bool { return slices.Contains(has, name) })
}
