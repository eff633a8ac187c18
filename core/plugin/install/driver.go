package install

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// driver starts plugins of a set.
type driver struct {
	set  *Set
	next plugin.Driver
}

// Driver starts the set's plugins with next, which gets the private copy: its bytes are the
// ones that the lock pins. An instance whose manifest contradicts its plugin.yaml is ended.
func (s *Set) Driver(next plugin.Driver) plugin.Driver { return driver{s, next} }

// Start implements [plugin.Driver].
func (d driver) Start(ctx context.Context, i plugin.Installed) (plugin.Instance, error) {
	p := d.set.Find(i.Name)
	if p == nil {
		return nil, sdk.Errorf(sdk.NotFound, "plugin_not_found", "there is no plugin %q", i.Name).
			WithHint("see what is installed").WithAction("plugin list")
	}
	c, err := d.set.use(ctx, p)
	if err != nil {
		return nil, err
	}
	i.Dir, i.Source = c.folder, p.Folder
	if i.Path, i.Args, err = p.Package.command(c.folder, c.files); err != nil {
		return nil, err
	}
	if e, err := p.Package.here(); err == nil {
		i.Digest = c.files[e[0]] // none for a system program
	}
	instance, err := d.next.Start(ctx, i)
	if err != nil {
		return nil, err
	}
	if err := p.Package.contradictions(instance.Manifest()); err != nil {
		instance.Kill(err)
		return nil, err
	}
	return instance, nil
}

// Describe starts a plugin that isn't pinned yet, the way it would be started later, and
// ends it. A plugin whose manifest contradicts its plugin.yaml is refused with the reason
// "manifest_mismatch"; any other error is the reason why it can't be started here. It runs
// a private copy of the hashed folder, below tempDir.
func Describe(ctx context.Context, p *Plugin, tempDir string, next plugin.Driver) (err error) {
	set := &Set{options: Options{TempDir: tempDir}, plugins: []*Plugin{p}}
	defer func() { err = errors.Join(err, set.Close()) }()
	instance, err := set.Driver(next).Start(ctx, p.Installed())
	if err != nil {
		return err
	}
	return instance.Close()
}

// contradictions compares a plugin's manifest with its plugin.yaml.
func (p *Package) contradictions(m *sdk.Manifest) error {
	var found []string
	differ := func(what, says, pinned string) {
		if says != pinned {
			found = append(found, "it says "+what+" "+says+", not "+pinned)
		}
	}
	_, name, _ := strings.Cut(p.Name, "/")
	differ("name", core.Cut(m.Name), name)
	differ("version", core.Cut(m.Version), p.Version)
	differ("kinds", kindNames(m.Kinds), kindNames(p.Kinds))
	for _, c := range m.Capabilities {
		if !p.asksFor(c) {
			found = append(found, "it says that it needs "+core.Cut(c)+", which it doesn't ask for")
		}
	}
	if len(found) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "manifest_mismatch", "the manifest of plugin %s contradicts its %s: %s", p.Name, PackageFile, strings.Join(found, "; ")).
		WithHint("make %s and what the plugin describes agree", PackageFile).
		WithDetail("plugin", p.Name).WithDetail("differences", found)
}

func kindNames(kinds []sdk.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	slices.Sort(names)
	return core.Cut(strings.Join(slices.Compact(names), "+"))
}

// asksFor reports whether a capability, such as "network:example.org:443", or a
// class of them, such as "network", is among those that the package asks for.
func (p *Package) asksFor(capability string) bool {
	return slices.ContainsFunc(p.Capabilities.List(), func(asked string) bool {
		class, _, _ := strings.Cut(asked, ":")
		return capability == asked || capability == class
	})
}
