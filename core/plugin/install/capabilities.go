package install

import (
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// maxCapabilities bounds each kind of capability: more than an operator reads.
const maxCapabilities = 64

// FSSystem is the capability to read the system's own folders, which
// interpreters need.
const FSSystem = "system"

var (
	hostForm = core.Pattern(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	envForm  = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

func services() []string {
	return []string{string(plugin.ServiceLog), string(plugin.ServiceLLM), string(plugin.ServiceRecall), string(plugin.ServiceCache), string(plugin.ServiceExec)}
}

func (r *reader) capabilities(n *document.Node) (c plugin.Capabilities) {
	if n == nil {
		return c
	}
	if n.Kind != document.Mapping {
		r.Add(n.At, "write network, fs, env and host below it", "capabilities must be a mapping, not %s", kindOf(n))
		return c
	}
	r.Known(n, "capabilities", names(CapabilityKeys())...)
	c.Network = r.names(n.Get("network"), "network", CheckEndpoint)
	c.FS = r.names(n.Get("fs"), "fs", checkPath)
	c.Env = r.names(n.Get("env"), "env", checkVariable)
	for _, name := range r.names(n.Get("host"), "host", checkService) {
		c.Host = append(c.Host, plugin.Service(name))
	}
	return c
}

// names reads a list of capabilities of one kind, sorted.
func (r *reader) names(n *document.Node, what string, check func(string) error) []string {
	var names []string
	for _, item := range r.list(n, what, maxCapabilities) {
		text := r.text(item, what)
		if text == "" {
			continue
		}
		if err := check(text); err != nil {
			r.Add(item.At, sdk.AsError(err).Hint, "%s: %v", what, err)
		}
		if slices.Contains(names, text) {
			r.Add(item.At, "remove one of them", "%s: %q is there twice", what, core.Cut(text))
		}
		names = append(names, text)
	}
	slices.Sort(names)
	return names
}

// checkCapabilities reports capabilities in a lock that no plugin.yaml could have asked
// for.
func checkCapabilities(c plugin.Capabilities) error {
	for _, kind := range []struct {
		names []string
		check func(string) error
	}{{c.Network, CheckEndpoint}, {c.FS, checkPath}, {c.Env, checkVariable}} {
		for _, name := range kind.names {
			if err := kind.check(name); err != nil {
				return err
			}
		}
	}
	for _, s := range c.Host {
		if err := checkService(string(s)); err != nil {
			return err
		}
	}
	return nil
}

func refused(hint, format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "capability_invalid", format, args...).WithHint("%s", hint)
}

// CheckEndpoint reports what is wrong with an endpoint: host:port. The host is a name in
// lower case or an address; an IPv6 address is in brackets. There are no wildcards.
func CheckEndpoint(text string) error {
	const hint = "write host:port, such as api.example.org:443"
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return refused(hint, "%q is no host:port", core.Cut(text))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port != strconv.Itoa(n) {
		return refused(hint, "%q has no port from 1 to 65535", core.Cut(text))
	}
	address, err := netip.ParseAddr(host)
	if err == nil && address.Zone() == "" && address.String() == host {
		return nil
	}
	if err == nil || len(host) > 253 || !hostForm().MatchString(host) {
		return refused("wildcards aren't supported; "+hint, "%q names no host in lower case", core.Cut(text))
	}
	return nil
}

func checkPath(text string) error {
	const hint = "write an absolute path, or system for the system's own folders"
	if text == FSSystem {
		return nil
	}
	if !strings.HasPrefix(text, "/") || path.Clean(text) != text || len(text) > 4096 || strings.Contains(text, ",") || strings.ContainsFunc(text, steers) {
		return refused(hint, "%q isn't a clean absolute path without commas or control characters", core.Cut(text))
	}
	if text == "/" {
		return refused(hint, "the whole file system can't be asked for")
	}
	return nil
}

func checkVariable(text string) error {
	if !envForm().MatchString(text) {
		return refused("write the variable's name, not its value", "%q is no name of an environment variable", core.Cut(text))
	}
	return nil
}

func checkService(text string) error {
	if !slices.Contains(services(), text) {
		return refused("there are "+strings.Join(services(), ", "), "there is no host service %q", core.Cut(text))
	}
	return nil
}
