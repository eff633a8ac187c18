package connect

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// Scope is for whom a client is connected.
type Scope string

// The scopes.
const (
	// User is every folder in which this user runs the client.
	User Scope = "user"
	// Project is one folder and the folders below it.
	Project Scope = "project"
)

// Connection is a client that was connected.
type Connection struct {
	Client string `json:"client"`
	Scope  Scope  `json:"scope"`
	// Folder is the project; "" for every folder.
	Folder string    `json:"folder,omitempty"`
	At     time.Time `json:"at"`
	// Files are what was written, in order.
	Files []Written `json:"files"`
	// Token is the id of the token that was made for the gateway; "" if none was.
	Token string `json:"token,omitempty"`
}

// Written is a file that was changed or made.
type Written struct {
	Path string `json:"path"`
	// Copy is the file in the folder of copies that has the bytes from before; "" if there was no file.
	Copy string `json:"copy,omitempty"`
	// Digest is of the bytes that were written.
	Digest string `json:"digest"`
	// Edits are what was changed, for a file that has been changed again since.
	Edits []Edit `json:"edits,omitempty"`
	// Folders are those that were made for it, the innermost first.
	Folders []string `json:"folders,omitempty"`
}

const (
	// folderName is in the data folder: the list of connections, and the copies.
	folderName = "connect"
	listName   = "connections.json"
	// maxList bounds the list: a connection has about 2 KiB.
	maxList = 8 << 20
)

// Connections reads the connections of a data folder, the oldest first.
func Connections(dataDir string) (list []Connection, err error) {
	path := filepath.Join(dataDir, folderName, listName)
	data, err := plainfile.Read(path, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, sdk.Wrap(path, err)
}

// save writes the list of connections.
func save(dataDir string, list []Connection) error {
	text, err := jsontext.Print(list)
	if err != nil {
		return err
	}
	folder := filepath.Join(dataDir, folderName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, listName), text, 0o600)
}

// Connected is the connection by which a client's hook in a folder was called: of the innermost project,
// else the user's; nil if there is none.
func Connected(list []Connection, client, folder string) *Connection {
	var found *Connection
	for i := range list {
		c := &list[i]
		if c.Client == client && (c.Scope == User || Within(folder, c.Folder)) && (found == nil || len(c.Folder) > len(found.Folder)) {
			found = c
		}
	}
	return found
}

// Within reports whether a folder is another one or below it, whatever links lead there.
func Within(folder, project string) bool {
	rel, err := filepath.Rel(Resolved(project), Resolved(folder))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Resolved is a path without links, as far as it exists.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(Resolved(parent), filepath.Base(path))
	}
	return path
}

// find is the place of a connection in the list; -1 if there is none.
func find(list []Connection, client string, scope Scope, folder string) int {
	return slices.IndexFunc(list, func(c Connection) bool { return c.Client == client && c.Scope == scope && c.Folder == folder })
}

// writeFile replaces a file as a whole, so that no reader sees half of it, not even after a crash.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	return replaceFile(path, data, mode, (*os.File).Sync)
}

// replaceFile is writeFile with what is done before the new file takes the old one's place.
func replaceFile(path string, data []byte, mode fs.FileMode, sync func(*os.File) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), sync(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}
