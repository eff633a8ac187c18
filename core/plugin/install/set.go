package install

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Options set up a [Set].
type Options struct {
	// Places are the locks. If several pin the same name, the first one counts.
	Places []Place
	// Dev are folders of packages that run unlocked. They take precedence over the locks.
	Dev []string
	// Replace are the folders of Dev that may have a name of the plugins that come with the program,
	// which begins with [ShippedPublisher].
	Replace map[string]bool
	// Trust determines whose packages must be signed. If nil, no package must be.
	Trust *Trust
	// TempDir is the folder for private copies. The users that plugins run as must be
	// able to enter it. Default the system's.
	TempDir string
	// Warn is called for each unlocked plugin that is used. If nil, nothing is called.
	Warn func(p *Plugin)
}

// Plugin is an installed plugin as [Open] found it.
type Plugin struct {
	// Name is the name under which it is called: see [Locked].
	Name, Version string
	// Place is the lock that pins it; a plugin in development has none.
	Place Place
	// Folder is the folder of its files.
	Folder string
	// Package is its plugin.yaml; nil if there is a Problem.
	Package *Package
	// Locked is its entry in the lock; nil for a plugin in development.
	Locked *Locked
	// Replaces is the version of the plugin that comes with the program whose place it takes; "" if it
	// takes none's.
	Replaces string
	// Problem is why it can't run; nil if it can, as far as can be seen without reading
	// all of its files.
	Problem error

	mu   sync.Mutex
	copy *privateCopy // set when it is first used
}

// Dev reports whether the plugin runs unlocked.
func (p *Plugin) Dev() bool { return p.Locked == nil }

// Digest is the SHA-256 over the files that the lock pins; "" for a plugin in
// development.
func (p *Plugin) Digest() string {
	if p.Dev() {
		return ""
	}
	return "sha256:" + contents(p.Locked.Files)
}

// Set is the installed plugins, with the private copies of those that were used. It is
// safe for concurrent use, and must be closed.
type Set struct {
	options Options
	plugins []*Plugin // sorted by name

	mu      sync.Mutex
	private *privateFolder // set when a plugin is first used
}

// Open reads the locks and the plugin.yaml of each plugin. A problem with a single plugin
// becomes its Problem, so that the others can still run.
func Open(o Options) (*Set, error) {
	s := &Set{options: o}
	for _, dir := range o.Dev {
		p, err := openDev(dir)
		if err != nil {
			return nil, err
		}
		if s.Find(p.Name) != nil {
			return nil, sdk.Errorf(sdk.Conflict, "plugin_twice", "two folders of plugins in development hold %s: %s and %s", p.Name, s.Find(p.Name).Folder, dir).
				WithHint("remove one of them from plugins: in reflectory.yaml, and restart a server that runs")
		}
		s.plugins = append(s.plugins, p)
	}
	for _, place := range o.Places {
		lock, err := ReadLock(place.Lock)
		if err != nil {
			return nil, err
		}
		for i := range lock.Plugins {
			l := &lock.Plugins[i]
			switch first := s.Find(l.Name); {
			case first == nil:
				s.plugins = append(s.plugins, openLocked(place, l, o.Trust))
			case place.Shipped && (first.Dev() || !maps.Equal(first.Locked.Files, l.Files)):
				first.Replaces = l.Version
			}
		}
		if place.Shipped && len(lock.Plugins) > 0 {
			s.refuseReserved()
		}
	}
	slices.SortFunc(s.plugins, func(a, b *Plugin) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// refuseReserved refuses plugins in development with a name of the plugins that come with the
// program, unless they may have it.
func (s *Set) refuseReserved() {
	for i, dir := range s.options.Dev {
		if p := s.plugins[i]; strings.HasPrefix(p.Name, ShippedPublisher) && !s.options.Replace[dir] { // they are the first, in order
			p.Replaces, p.Problem = "", Reserved(p.Name, "the plugin in development in "+p.Folder).
				WithHint("if you want that, add replace: true to its entry in plugins: of reflectory.yaml; otherwise give it a publisher of its own. Then restart a server that runs")
		}
	}
}

// Reserved is the error for a package, named by what, that would take the place of a plugin that
// comes with the program.
func Reserved(name, what string) *sdk.Error {
	return sdk.Errorf(sdk.Denied, "plugin_reserved", "the name %s belongs to the plugins that come with the program, and %s would take the place of one", name, what)
}

// openDev reads a package in development.
func openDev(dir string) (*Plugin, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, sdk.Wrap("open "+dir, err)
	}
	p, err := ReadPackage(dir)
	if err != nil {
		return nil, sdk.Wrap("plugin in development", err)
	}
	return &Plugin{
		Name: p.Name, Version: p.Version, Place: Place{Label: "dev"}, Folder: dir, Package: p, Problem: notBuilt(dir, p),
	}, nil
}

// notBuilt refuses a package in development if a file that its entries name is missing.
func notBuilt(dir string, p *Package) error {
	f, err := openFolder(dir)
	if err != nil {
		return sdk.Wrap("open "+dir, err)
	}
	defer f.close()
	names, err := f.names()
	if err != nil {
		return err
	}
	files := make(map[string]string, len(names))
	for _, name := range names {
		files[name] = ""
	}
	return p.checkEntries(files)
}

func openLocked(place Place, l *Locked, trust *Trust) *Plugin {
	p := &Plugin{Name: l.Name, Version: l.Version, Place: place, Folder: place.folder(l), Locked: l}
	if p.Package, p.Problem = p.read(trust); p.Problem == nil {
		_, p.Problem = p.Package.here()
	}
	return p
}

// read reads the pinned plugin.yaml and compares it with the lock.
func (p *Plugin) read(trust *Trust) (*Package, error) {
	l := p.Locked
	text, err := p.pinned(PackageFile, maxYAMLBytes)
	if err != nil {
		return nil, err
	}
	pkg, err := ParsePackage(p.path(PackageFile), text)
	if err != nil {
		return nil, err
	}
	if pkg.Name != BareName(l.Name) || pkg.Version != l.Version {
		changed := sdk.Errorf(sdk.Denied, "package_changed", "%s pins %s %s, but the plugin.yaml that it pins is of %s %s",
			p.Place.Lock, l.Name, l.Version, pkg.Name, pkg.Version)
		return nil, p.Place.repaired(changed, "pin what is there", l)
	}
	if err := pkg.checkEntries(l.Files); err != nil {
		return nil, err
	}
	if more := pkg.Capabilities.Beyond(l.Granted); len(more) > 0 {
		return pkg, p.ungranted(pkg, more)
	}
	signature, err := p.pinned(SignatureFile, maxSignatureBytes)
	if err != nil {
		return pkg, err
	}
	_, err = trust.verify(l.Name, l.Files, signature)
	return pkg, err
}

// pinned reads a small file that the lock pins; nil if the lock has no file of that name.
func (p *Plugin) pinned(name string, limit int64) ([]byte, error) {
	text, err := pinned(p.Folder, name, p.Locked.Files, limit)
	var found differs
	switch {
	case errors.As(err, &found):
		return nil, p.grown(p.Changed(found))
	case err != nil:
		f, openErr := openFolder(p.Folder)
		if openErr != nil {
			return nil, p.gone(openErr)
		}
		f.close()
		return nil, err
	}
	return text, nil
}

// grown adds what a changed plugin.yaml asks for beyond the lock to an error.
func (p *Plugin) grown(err error) error {
	pkg, unreadable := ReadPackage(p.Folder)
	if unreadable != nil {
		return err
	}
	more := pkg.Capabilities.Beyond(p.Locked.Granted)
	if len(more) == 0 {
		return err
	}
	e := *sdk.AsError(err)
	e.Message += "; it now asks for more than it was granted: " + strings.Join(more, ", ")
	return p.Place.repaired(e.WithDetail("not_granted", more), "if you grant that, pin it again", p.regranted(pkg))
}

// ungranted refuses a plugin that asks for more than the lock grants.
func (p *Plugin) ungranted(pkg *Package, more []string) error {
	err := sdk.Errorf(sdk.Denied, "capability_not_granted", "plugin %s asks for more than %s grants: %s (granted: %s)",
		p.Name, p.Place.Lock, strings.Join(more, ", "), orNothing(p.Locked.Granted.List())).
		WithDetail("plugin", p.Name).WithDetail("not_granted", more)
	return p.Place.repaired(err, "if you grant that, pin it again", p.regranted(pkg))
}

// regranted returns how the plugin would be pinned with everything that a package asks
// for.
func (p *Plugin) regranted(pkg *Package) *Locked {
	l := *p.Locked
	l.Granted = pkg.Capabilities
	return &l
}

// Plugins returns all installed plugins, sorted by name.
func (s *Set) Plugins() []*Plugin { return slices.Clone(s.plugins) }

// Find returns the plugin with a name, or nil.
func (s *Set) Find(name string) *Plugin {
	for _, p := range s.plugins {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Installed returns the plugins that the host may start, through [Set.Driver]. The caller
// adds what the operator grants beyond the packages' own capabilities.
func (s *Set) Installed() []plugin.Installed {
	list := make([]plugin.Installed, len(s.plugins))
	for i, p := range s.plugins {
		list[i] = p.Installed()
	}
	return list
}

// Installed returns the plugin as its plugin.yaml describes it, with a module's file in
// its own folder. [Set.Driver] starts the private copy.
func (p *Plugin) Installed() plugin.Installed {
	i := plugin.Installed{Name: p.Name, Version: p.Version}
	pkg := p.Package
	if pkg == nil {
		return i
	}
	i.Runtime, i.Granted, i.Limits = cmp.Or(pkg.Runtime, plugin.RuntimeProcess), pkg.Capabilities, pkg.Limits
	i.Kinds, i.Extism = pkg.Kinds, pkg.Extism
	i.PlainText, i.Stateful, i.Isolated = pkg.PlainText, pkg.Stateful, pkg.Isolated
	if file := pkg.Module(); file != "" {
		i.Dir, i.Path, i.Digest = p.Folder, p.path(file), p.want(file)
	}
	return i
}
