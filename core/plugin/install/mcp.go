package install

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// A package of an MCP server is a package like any other: its program is a copy of the shipped plugin mcp-eval,
// which starts the server within its own sandbox and calls its tools, and its other files are the server's. The
// file mcp.json says how the server is started and pins the definitions of its tools; the lock pins the file.

const (
	// MCPPublisher is the publisher of a server that is added under a name without one.
	MCPPublisher = "mcp"
	// mcpProgram is the shipped plugin, and the name of its program.
	mcpProgram = "mcp-eval"
	mcpFile    = "mcp.json"
	// mcpVersion is the version of a package whose server has none.
	mcpVersion  = "0.1.0"
	maxPackages = 16 << 20 // bytes of a package.json
)

// npmForm is what npx is given: a package of the registry, with a version or a tag. Anything else, such as a folder or
// an address of git, has no version that could be pinned.
var npmForm = core.Pattern(`^((@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*)(@[0-9A-Za-z.^~<>=*|+-]+)?$`)

// MCPServer is an MCP server that is added as a plugin.
type MCPServer struct {
	// Name is publisher/name, or a name, which is then below [MCPPublisher].
	Name string
	// Command is how people start it: npx and a package of npm, or a program. Words that name files are copied.
	Command []string
	// URL is instead of Command where it is reached by HTTP.
	URL string
	// Granted are further capabilities that it is to have, such as env:TOKEN.
	Granted []string
}

// mcpDescription is the file [mcpFile]; plugins/mcp-eval reads it.
type mcpDescription struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Command []string        `json:"command,omitempty"`
	URL     string          `json:"url,omitempty"`
	Tools   json.RawMessage `json:"tools,omitempty"`
}

// StageMCP makes the package of a server in a new folder, without its tools, which [PinTools] adds. release removes the
// folder.
func StageMCP(ctx context.Context, s MCPServer, shipped Place) (folder string, release func(), err error) {
	if !strings.Contains(s.Name, "/") {
		s.Name = MCPPublisher + "/" + s.Name
	}
	if !nameForm().MatchString(s.Name) {
		return "", nil, mcpInvalid("%q can't be a server's name", core.Cut(s.Name)).WithHint("write a name or publisher/name, each of a-z, 0-9 and -")
	}
	if (len(s.Command) == 0) == (s.URL == "") {
		return "", nil, mcpInvalid("server %s has neither a command nor a URL, or both", s.Name).
			WithHint("write --url https://HOST/PATH, or -- and the command, such as -- npx -y PACKAGE@VERSION")
	}
	if folder, err = os.MkdirTemp("", "reflectory-mcp-"); err != nil {
		return "", nil, copyFailed(s.Name, err)
	}
	release = func() { _ = os.RemoveAll(folder) }
	if err := s.fill(ctx, folder, shipped); err != nil {
		release()
		return "", nil, err
	}
	return folder, release, nil
}

func mcpInvalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "mcp_invalid", format, args...)
}

// fill writes the files of the package.
func (s *MCPServer) fill(ctx context.Context, folder string, shipped Place) error {
	if err := copyProgram(shipped, folder); err != nil {
		return err
	}
	d, asks, err := mcpDescription{Name: s.Name, Version: mcpVersion, URL: s.URL}, plugin.Capabilities{}, error(nil)
	about := s.URL
	switch {
	case s.URL != "":
		asks.Network, err = endpointOf(s.URL)
	case s.Command[0] == "npx":
		about, err = installNPM(ctx, folder, s.Command[1:], &d)
		asks.FS = []string{FSSystem}
	default:
		about = path.Base(s.Command[0])
		asks.FS, err = copyCommand(folder, s.Command, &d)
	}
	if err != nil {
		return err
	}
	if err := s.grant(&asks); err != nil {
		return err
	}
	yaml := map[string]any{
		"name": s.Name, "version": d.Version, "kinds": []sdk.Kind{sdk.KindEvaluator, sdk.KindGenerator, sdk.KindCorrector},
		"description": "the MCP server " + core.Cut(about), "runtime": plugin.RuntimeProcess, "entry": []string{mcpProgram, mcpFile},
		"capabilities": map[string]any{"network": present(asks.Network), "fs": present(asks.FS), "env": present(asks.Env)},
		// Interpreters take a few hundred MiB and a dozen threads.
		"limits": map[string]any{"memory": "1GiB", "processes": 32, "timeout": "60s"},
	}
	return errors.Join(writeJSON(filepath.Join(folder, PackageFile), yaml), writeJSON(filepath.Join(folder, mcpFile), d))
}

// present is a list for a file, which has [] and not null.
func present(names []string) []string { return append([]string{}, names...) }

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // the plugin, another user, reads it
}

// copyProgram copies the shipped program, which the release's lock pins.
func copyProgram(shipped Place, to string) error {
	lock, err := ReadLock(shipped.Lock)
	if err != nil {
		return err
	}
	from := filepath.Join(shipped.Dir, ShippedPublisher, mcpProgram)
	sum, err := copyInto(to, from, mcpProgram)
	if err != nil {
		return sdk.Wrap("copy "+ShippedPublisher+mcpProgram+", which calls the server", err)
	}
	if own := lock.find(ShippedPublisher + mcpProgram); own != nil && sum != own.Files[mcpProgram] {
		return sdk.Errorf(sdk.Conflict, "plugin_changed", "%s isn't the file that %s pins", filepath.Join(from, mcpProgram), shipped.Lock).WithHint("%s", shipped.Repair)
	}
	return nil
}

// copyInto copies a file, and returns its digest.
func copyInto(to, from, name string) (sum string, err error) {
	f, err := openFolder(from)
	if err != nil {
		return "", err
	}
	defer f.close()
	root, err := os.OpenRoot(to)
	if err != nil {
		return "", copyFailed(name, err)
	}
	defer func() { _ = root.Close() }() // it holds no data
	sum, _, err = f.copyFile(name, root, installedModes())
	return sum, err
}

// endpointOf is the endpoint of a URL, which the host's proxy lets the plugin reach.
func endpointOf(text string) ([]string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, mcpInvalid("%q can't be the URL of a server", core.Cut(text)).WithHint("write https://HOST/PATH, without a user or a password")
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	endpoint := net.JoinHostPort(u.Hostname(), port)
	if err := CheckEndpoint(endpoint); err != nil {
		return nil, err
	}
	return []string{endpoint}, nil
}

// grant adds the further capabilities that an operator names.
func (s *MCPServer) grant(asks *plugin.Capabilities) error {
	for _, name := range s.Granted {
		if slices.Contains(asks.List(), name) {
			continue
		}
		class, rest, _ := strings.Cut(name, ":")
		switch {
		case class == "fs":
			asks.FS = append(asks.FS, rest)
		case class == "env":
			asks.Env = append(asks.Env, rest)
		case class == "network" && s.URL == "":
			return mcpInvalid("server %s is a program, and programs of the sandbox reach no network but through an HTTP client that knows the host's proxy", s.Name).
				WithHint("leave %s out; a server that needs the network is added by --url", name)
		default:
			return mcpInvalid("%q can't be granted to an MCP server", core.Cut(name)).WithHint("there are fs:PATH and env:NAME")
		}
	}
	return nil
}

// copyCommand copies the files that a command names, and notes the command.
func copyCommand(folder string, words []string, d *mcpDescription) (fs []string, err error) {
	for i, word := range words {
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() || i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			d.Command = append(d.Command, word)
			continue
		}
		name := filepath.Base(word)
		if _, err := copyInto(folder, filepath.Dir(word), name); err != nil {
			return nil, err
		}
		d.Command = append(d.Command, name)
	}
	if program := d.Command[0]; program == words[0] {
		if strings.ContainsRune(program, filepath.Separator) {
			return nil, mcpInvalid("there is no program %s", program)
		}
		return []string{FSSystem}, nil
	}
	return nil, nil
}

// installNPM installs what npx would run, with its exact version and without running any of its scripts, and notes
// the command that starts it.
func installNPM(ctx context.Context, folder string, words []string, d *mcpDescription) (about string, err error) {
	for len(words) > 0 && (words[0] == "-y" || words[0] == "--yes") {
		words = words[1:]
	}
	if len(words) == 0 || !npmForm().MatchString(words[0]) {
		return "", mcpInvalid("npx is followed by %q, which is no package of the registry", core.Cut(strings.Join(words, " "))).
			WithHint("write npx -y PACKAGE or npx -y PACKAGE@VERSION, and then the server's arguments")
	}
	name := npmForm().FindStringSubmatch(words[0])[1]
	if err := writeJSON(filepath.Join(folder, "package.json"), map[string]any{"private": true}); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-bin-links", "--omit=dev", "--no-audit", "--no-fund", "--save-exact", "--", words[0]) //nolint:gosec // the form is checked
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", sdk.Errorf(sdk.Unavailable, "npm_failed", "npm install %s: %w: %s", words[0], err, core.Cut(string(bytes.TrimSpace(out)))).
			WithHint("npm must be installed, and the package be in its registry")
	}
	var pkg struct {
		Version string          `json:"version"`
		Bin     json.RawMessage `json:"bin"`
	}
	text, err := plainfile.Read(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"), maxPackages)
	if err == nil {
		err = json.Unmarshal(text, &pkg)
	}
	if err != nil {
		return "", sdk.Wrap("read package.json of "+name, err)
	}
	program, err := programOf(name, pkg.Bin)
	if err != nil {
		return "", err
	}
	d.Version = pkg.Version
	d.Command = append([]string{"node", path.Join("node_modules", name, program)}, words[1:]...)
	return name + "@" + pkg.Version, nil
}

// programOf is the file that npx runs of a package: its only program, or the one with the package's name.
func programOf(name string, bin json.RawMessage) (string, error) {
	var file string
	var files map[string]string
	if json.Unmarshal(bin, &file) != nil && json.Unmarshal(bin, &files) == nil {
		file = files[path.Base(name)]
		for _, only := range files {
			if len(files) == 1 {
				file = only
			}
		}
	}
	file = path.Clean(file)
	if file == "." || !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", mcpInvalid("the package %s has no program of its name, which npx would run", core.Cut(name))
	}
	return file, nil
}

// PinTools starts the server of a staged package as it will be started, asks which tools it has, and writes their
// definitions into the package. It returns their names, sorted.
func PinTools(ctx context.Context, folder, tempDir string, next plugin.Driver) (tools []string, err error) {
	l := &Locked{}
	pkg, err := AddOptions{}.examine(ctx, folder, l)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Name: l.Name, Version: l.Version, Folder: folder, Package: pkg, Locked: l}
	set := &Set{options: Options{TempDir: tempDir}, plugins: []*Plugin{p}}
	defer func() { err = errors.Join(err, set.Close()) }()
	instance, err := set.Driver(next).Start(ctx, p.Installed())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	config := json.RawMessage("{}")
	results, err := instance.Generate(ctx, plugin.Config{JSON: config, Digest: core.Digest(config)}, []*sdk.GenerateRequest{{}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return nil, sdk.Wrap("ask server "+l.Name+" for its tools", err)
	}
	var d mcpDescription
	text, err := plainfile.Read(filepath.Join(folder, mcpFile), maxYAMLBytes)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return nil, err
	}
	var found map[string]json.RawMessage
	d.Tools = results[0].Response.Output
	if err := json.Unmarshal(d.Tools, &found); err != nil || len(found) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "tools_unknown", "server %s has no tools", l.Name).WithHint("look at what it needs to have some, such as a variable: --grant env:NAME")
	}
	for name := range found {
		tools = append(tools, name)
	}
	slices.Sort(tools)
	return tools, writeJSON(filepath.Join(folder, mcpFile), d)
}
