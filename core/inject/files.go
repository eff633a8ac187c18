package inject

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// MaxFileBytes bounds an operator's file for prompts: nobody writes more by hand, and all of it
// goes into a prompt.
const MaxFileBytes = 64 << 10

// Files returns an operator's files for prompts, by names such as prompt-policies/no-keys.yaml.
type Files func(context.Context) (map[string]string, error)

// ReadFiles reads the YAML files of a folder in a data folder. A folder that doesn't exist has
// none. If the folder can't be read, the error is sdk.Unavailable, reason
// "prompt_files_unreadable".
func ReadFiles(dataDir, folder string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(dataDir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "prompt_files_unreadable", "read the folder %s of the data folder: %w", folder, err).
			WithHint("let the host read the folder").WithDetail("folder", folder)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := plainfile.Read(filepath.Join(dataDir, folder, e.Name()), MaxFileBytes)
		if err != nil {
			return nil, err
		}
		files[path.Join(folder, e.Name())] = string(text)
	}
	return files, nil
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }
