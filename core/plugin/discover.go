package plugin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// maxFolders bounds how many entries of a plugin folder are looked at. It is far
// above what one host runs, and keeps a wrong folder from being walked.
const maxFolders = 1000

// pluginName is a plugin's name: [a-z][a-z0-9-]*, at most 64 bytes.
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// Discover lists the plugins in a folder, sorted by name. A plugin is an
// executable file in a folder of its own name: dir/NAME/NAME, on Windows
// dir/NAME/NAME.exe. Symbolic links are followed.
//
// Plain files in dir and names that begin with "." are ignored. A folder that
// holds no plugin is a problem: the error, sdk.Invalid with reason
// "plugin_folder_invalid", names all of them, and the sound plugins are returned
// beside it. A dir that doesn't exist holds no plugins.
func Discover(dir string) ([]Installed, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "", "plugin folder: %w", err)
	}
	names, err := folders(dir)
	if err != nil {
		return nil, err
	}
	var found []Installed
	var problems []string
	for _, name := range names {
		path := executable(dir, name)
		if problem := inspect(name, path); problem != "" {
			problems = append(problems, problem)
			continue
		}
		found = append(found, Installed{Name: name, Path: path})
	}
	if len(problems) > 0 {
		return found, sdk.Errorf(sdk.Invalid, "plugin_folder_invalid", "plugin folder %s: %s", dir, strings.Join(problems, "; ")).
			WithHint("a plugin is an executable file %s; remove what isn't one", executable(dir, "NAME")).
			WithDetail("problems", problems)
	}
	return found, nil
}

// executable is where a plugin's file must lie.
func executable(dir, name string) string {
	path := filepath.Join(dir, name, name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path
}

// folders returns the names of dir's folders, sorted.
func folders(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "plugin_folder_unreadable", "plugin folder: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFolders + 1)
	if len(entries) > maxFolders {
		return nil, sdk.Errorf(sdk.Exhausted, "plugin_folder_too_large", "plugin folder %s holds more than %d entries", dir, maxFolders).
			WithHint("check that it is the plugin folder")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, sdk.Errorf(sdk.Invalid, "plugin_folder_unreadable", "plugin folder: %w", err)
	}
	var names []string
	for _, entry := range entries {
		info, err := os.Stat(filepath.Join(dir, entry.Name()))
		if strings.HasPrefix(entry.Name(), ".") || err == nil && !info.IsDir() {
			continue
		}
		names = append(names, entry.Name())
	}
	slices.Sort(names)
	return names, nil
}

// inspect says what is wrong with a plugin's folder, or "".
func inspect(name, path string) string {
	if !pluginName.MatchString(name) {
		return fmt.Sprintf("%q is not a plugin's name ([a-z][a-z0-9-]*, at most 64 bytes)", name)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s: there is no file %s", name, path)
	case err != nil:
		return fmt.Sprintf("%s: %v", name, err)
	case !info.Mode().IsRegular():
		return fmt.Sprintf("%s: %s is not a regular file", name, path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return fmt.Sprintf("%s: %s is not executable (chmod +x it)", name, path)
	}
	return ""
}
