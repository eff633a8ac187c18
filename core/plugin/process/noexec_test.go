package process_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

// TestTempDir_IsWhereProgramsRun: the common folder is used if nothing can be executed in TMPDIR,
// unless that doesn't help.
func TestTempDir_IsWhereProgramsRun(t *testing.T) {
	own, common := shortTempDir(t), shortTempDir(t)
	long := filepath.Join(own, strings.Repeat("x", 60))
	for name, c := range map[string]struct {
		dir, common string
		noExec      []string
		want        string
	}{
		"both are fit":             {own, common, nil, own},
		"TMPDIR is noexec":         {own, common, []string{own}, common},
		"both are noexec":          {own, common, []string{own, common}, own},
		"the common one is noexec": {own, common, []string{common}, own},
		"too long":                 {long, common, nil, common},
		"too long, common noexec":  {long, common, []string{common}, common},
		"no common folder":         {own, filepath.Join(common, "none"), []string{own}, own},
		"the same folder":          {own, own, []string{own}, own},
	} {
		if got := process.FitTempDir(c.dir, c.common, func(path string) bool { return slices.Contains(c.noExec, path) }); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// TestStart_NoExecIsExplained: the error of a program that may not be executed names what is to be changed:
// the folder for temporary files where a private copy is there, else the file system, else the mode.
func TestStart_NoExecIsExplained(t *testing.T) {
	denied := &fs.PathError{Op: "fork/exec", Path: "/copies/probe/run", Err: fs.ErrPermission}
	for name, c := range map[string]struct {
		source     string
		err        error
		noExec     bool
		code       sdk.Code
		says, hint string
	}{
		"a private copy":         {"/plugins/probe", denied, true, sdk.Denied, "/copies/probe is on a file system that is mounted with noexec", "set TMPDIR to a folder"},
		"the plugin itself":      {"/copies/probe", denied, true, sdk.Denied, "mounted with noexec", "move the plugin to another file system"},
		"of no known source":     {"", denied, true, sdk.Denied, "mounted with noexec", "move the plugin to another file system"},
		"only its mode":          {"/plugins/probe", denied, false, sdk.Denied, "could not be started", "make "},
		"nothing there, noexec":  {"/plugins/probe", fs.ErrNotExist, true, sdk.NotFound, "could not be started", "build or install it"},
		"nothing there":          {"/plugins/probe", fs.ErrNotExist, false, sdk.NotFound, "could not be started", "build or install it"},
		"another error, noexec":  {"/plugins/probe", errors.New("no memory"), true, sdk.Unavailable, "no memory", ""},
		"an error of our own":    {"/plugins/probe", sdk.Errorf(sdk.Invalid, "temp_dir_closed", "it is closed"), true, sdk.Invalid, "it is closed", ""},
		"wrapped in another one": {"/plugins/probe", errors.Join(errors.New("start"), denied), true, sdk.Denied, "mounted with noexec", "set TMPDIR"},
	} {
		p := plugin.Installed{Name: "probe", Path: "/copies/probe/run", Dir: "/copies/probe", Source: c.source}
		err := sdk.AsError(process.NotLaunched(&p, c.err, func(path string) bool { return c.noExec && path == p.Path }))
		if err.Code != c.code || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Hint, c.hint) || c.hint == "" && err.Hint != "" {
			t.Errorf("%s: %s %v (%s)", name, err.Code, err, err.Hint)
		}
	}
}
