package install

import (
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// maxCapabilities bounds each kind of capability: more than an operator reads.
const maxCapabilities = 64

// FSSystem is the capability to read the system's own folders, which
// interpreters need.
const FSSystem = "system"

var (
	hostForm = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	envForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

func services() []string {
	return []string{string(plugin.ServiceLog), string(plugin.ServiceLLM), string(plugin.ServiceRecall), string(plugin.ServiceCache)}
}

func (d *document) capabilities(n *node) (c plugin.Capabilities) {
	if n == nil {
		return c
	}
	if n.kind != kindMapping {
		d.add(n, "write network, fs, env and host below it", "capabilities must be a mapping, not %s", n.kind)
		return c
	}
	d.known(n, "capabilities", "network", "fs", "env", "host")
	c.Network = d.names(n.get("network"), "network", CheckEndpoint)
	c.FS = d.names(n.get("fs"), "fs", checkPath)
	c.Env = d.names(n.get("env"), "env", checkVariable)
	for _, name := range d.names(n.get("host"), "host", checkService) {
		c.Host = append(c.Host, plugin.Service(name))
	}
	return c
}

// names reads a list of capabilities of one kind, sorted.
func (d *document) names(n *node, what string, check func(string) error) []string {
	var names []string
	for _, item := range d.list(n, what, maxCapabilities) {
		text := d.text(item, what)
		if text == "" {
			continue
		}
		if err := check(text); err != nil {
			d.add(item, sdk.AsError(err).Hint, "%s: %v", what, err)
		}
		if slices.Contains(names, text) {
			d.add(item, "remove one of them", "%s: %q is there twice", what, cut(text))
		}
		names = append(names, text)
	}
	slices.Sort(names)
	return names
}

// checkCapabilities reports what in a lock no plugin.yaml could have asked for.
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

// CheckEndpoint reports what is wrong with an endpoint: host:port, where the host
// is a name in lower case or an address, in brackets if it is of IPv6. There are
// no wildcards.
func CheckEndpoint(text string) error {
	const hint = "write host:port, such as api.example.org:443"
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return refused(hint, "%q is no host:port", cut(text))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port != strconv.Itoa(n) {
		return refused(hint, "%q has no port from 1 to 65535", cut(text))
	}
	address, err := netip.ParseAddr(host)
	if err == nil && address.Zone() == "" && address.String() == host {
		return nil
	}
	if err == nil || len(host) > 253 || !hostForm.MatchString(host) {
		return refused("wildcards aren't supported; "+hint, "%q names no host in lower case", cut(text))
	}
	return nil
}

func checkPath(text string) error {
	const hint = "write an absolute path, or system for the system's own folders"
	if text == FSSystem {
		return nil
	}
	if !strings.HasPrefix(text, "/") || path.Clean(text) != text || len(text) > 4096 || strings.ContainsAny(text, ",\x00\n\r") {
		return refused(hint, "%q is no clean absolute path without commas", cut(text))
	}
	if text == "/" {
		return refused(hint, "the whole file system can't be asked for")
	}
	return nil
}

func checkVariable(text string) error {
	if !envForm.MatchString(text) {
		return refused("write the variable's name, not its value", "%q is no name of an environment variable", cut(text))
	}
	return nil
}

func checkService(text string) error {
	if !slices.Contains(services(), text) {
		return refused("there are "+strings.Join(services(), ", "), "there is no host service %q", cut(text))
	}
	return nil
}
