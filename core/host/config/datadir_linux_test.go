package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// The part of the path that is wrong is named, whatever is below it.
func TestMakeDataDir_NamesTheWrongPartOfAPath(t *testing.T) {
	dir := t.TempDir()
	file, link, loop := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "loop")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(filepath.Join(dir, "gone"), link), os.Symlink(loop, loop)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ reason, says string }{
		file:                           {"data_dir_invalid", file + " is a file, not a folder"},
		filepath.Join(file, "a", "b"):  {"data_dir_invalid", file + " is a file, not a folder"},
		filepath.Join(link, "a"):       {"data_dir_invalid", link + " is a link to " + filepath.Join(dir, "gone") + ", which can't be followed"},
		filepath.Join(loop, "a"):       {"data_dir_invalid", loop + " is a link to "},
		"/proc/self/reflectory/deeper": {"data_dir_invalid", "it can't be made in /proc/self:"},
		"/sys/reflectory":              {"store_unwritable", "it can't be made in /sys:"},
	} {
		err := (&config.Config{DataDir: config.Setting{Value: path}}).MakeDataDir()
		e := sdk.AsError(err)
		if e == nil || e.Code != sdk.Invalid || e.Reason != want.reason || !strings.Contains(e.Message, want.says) || !strings.Contains(e.Hint, "--data-dir") {
			t.Errorf("%s: %v, want %s, %q", path, err, want.reason, want.says)
		}
		if checked := config.CheckDataDir(path); (checked == nil) != strings.Contains(want.says, "can't be made") {
			t.Errorf("%s: checked %v", path, checked)
		}
	}
}

func TestMakeDataDir_MakesItForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := (&config.Config{DataDir: config.Setting{Value: path}}).MakeDataDir(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || info.Mode()&fs.ModePerm != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
