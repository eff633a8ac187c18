package plugin_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
)

func TestMessagesNameThePluginsOwnFolder(t *testing.T) {
	copied := plugin.Installed{Dir: "/tmp/private/acme_words", Source: "/srv/plugins/words"}
	for _, tt := range []struct {
		p          plugin.Installed
		path, want string
	}{
		{copied, "/tmp/private/acme_words/bin/words", "/srv/plugins/words/bin/words"},
		{copied, "/tmp/private/acme_words", "/srv/plugins/words"},
		{copied, "/usr/bin/python3", "/usr/bin/python3"},
		{copied, "/tmp/private/acme_words_too/x", "/tmp/private/acme_words_too/x"},
		{plugin.Installed{Dir: "/srv/words"}, "/srv/words/words", "/srv/words/words"},
		{plugin.Installed{}, "words", "words"},
	} {
		path, want := filepath.FromSlash(tt.path), filepath.FromSlash(tt.want)
		if got := tt.p.Shown(path); got != want {
			t.Errorf("%s of %q is shown as %s, want %s", path, tt.p.Dir, got, want)
		}
	}
}

func TestAnErrorNamesThePluginsOwnFile(t *testing.T) {
	p := plugin.Installed{Dir: "/tmp/private/words", Source: "/srv/words"}
	err := p.ShownError(&fs.PathError{Op: "exec", Path: "/tmp/private/words/run", Err: fs.ErrNotExist})
	if want := "exec " + filepath.FromSlash("/srv/words/run") + ": file does not exist"; err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %s", err, want)
	}
	if other := errors.New("no memory"); p.ShownError(other) != other { //nolint:errorlint // it is the same
		t.Error("an error about no file was changed")
	}
}
