package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// lay makes files in a new folder: a path that ends in "/" is a folder, one
// that begins with "!" isn't executable.
func lay(t *testing.T, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range paths {
		path, plain := strings.CutPrefix(path, "!")
		full := filepath.Join(dir, filepath.FromSlash(path))
		if strings.HasSuffix(path, "/") {
			if err := os.MkdirAll(full, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o755)
		if plain {
			mode = 0o644
		}
		if err := os.WriteFile(full, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// exe is a plugin's file in its folder.
func exe(name string) string {
	path := name + "/" + name
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path
}

func TestDiscover(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := map[string]struct {
		files    []string
		found    []string
		problems []string
	}{
		"an empty folder":                    {},
		"plugins, sorted":                    {files: []string{exe("lua-eval"), exe("b2"), exe("a")}, found: []string{"a", "b2", "lua-eval"}},
		"other files in a plugin's folder":   {files: []string{exe("a"), "a/README.md", "a/data/x"}, found: []string{"a"}},
		"plain and hidden files are ignored": {files: []string{exe("a"), "README.md", ".git/config", ".DS_Store"}, found: []string{"a"}},
		"the longest name":                   {files: []string{exe(long)}, found: []string{long}},
		"names that are none": {
			files: []string{exe("a"), exe(long + "a"), exe("Upper"), exe("1st"), exe("under_score")}, found: []string{"a"},
			problems: []string{`"1st" is not a plugin's name`, `"Upper" is not`, `"` + long + `a" is not`, `"under_score" is not`},
		},
		"a folder without its file": {files: []string{"a/b", exe("c")}, found: []string{"c"}, problems: []string{"a: there is no file"}},
		"a folder as the file":      {files: []string{exe("a") + "/"}, problems: []string{"is not a regular file"}},
	}
	if runtime.GOOS != "windows" {
		tests["a file that isn't executable"] = struct {
			files    []string
			found    []string
			problems []string
		}{files: []string{"!a/a"}, problems: []string{"is not executable"}}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := lay(t, tt.files...)
			found, err := plugin.Discover(dir)
			var names []string
			for _, p := range found {
				names = append(names, p.Name)
				if want := filepath.Join(dir, filepath.FromSlash(exe(p.Name))); p.Path != want {
					t.Errorf("path %s, want %s", p.Path, want)
				}
			}
			if !slices.Equal(names, tt.found) {
				t.Errorf("found %v, want %v", names, tt.found)
			}
			if len(tt.problems) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantReason(t, err, sdk.Invalid, "plugin_folder_invalid")
			problems, _ := sdk.AsError(err).Details["problems"].([]string)
			if len(problems) != len(tt.problems) || sdk.AsError(err).Hint == "" {
				t.Fatalf("problems %q, want %d; hint %q", problems, len(tt.problems), sdk.AsError(err).Hint)
			}
			for i, want := range tt.problems {
				if !strings.Contains(problems[i], want) || !strings.Contains(err.Error(), want) {
					t.Errorf("problem %q, want %q, in %q", problems[i], want, err)
				}
			}
		})
	}
}

func TestDiscoverFollowsLinks(t *testing.T) {
	dir, built := t.TempDir(), lay(t, exe("a"))
	if err := os.Symlink(filepath.Join(built, "a"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(built, "gone"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	found, err := plugin.Discover(dir)
	if len(found) != 1 || found[0].Name != "a" {
		t.Errorf("found %v", found)
	}
	wantReason(t, err, sdk.Invalid, "plugin_folder_invalid")
}

func TestDiscoverElsewhere(t *testing.T) {
	if found, err := plugin.Discover(filepath.Join(t.TempDir(), "none")); err != nil || found != nil {
		t.Errorf("a folder that doesn't exist: %v, %v", found, err)
	}
	file := filepath.Join(lay(t, "file"), "file")
	_, err := plugin.Discover(file)
	wantReason(t, err, sdk.Invalid, "plugin_folder_unreadable")
}

func TestDiscoverIsBounded(t *testing.T) {
	dir := t.TempDir()
	for n := range 1001 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("p%d", n)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := plugin.Discover(dir)
	wantReason(t, err, sdk.Exhausted, "plugin_folder_too_large")
}
