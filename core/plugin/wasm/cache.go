package wasm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"
)

// The files in the folder of [Options.CacheDir], and in a compiler's folder.
const (
	codeFolder     = "code"     // wazero's: machine code
	modulesFolder  = "modules"  // rewritten modules, by digest and kind of machine
	verdictsFolder = "verdicts" // see verdictCache
	moduleFile     = "module"   // of a compiler: what becomes a file of modulesFolder
)

// readyModule is a module that was validated, detected, rewritten and compiled. A
// file of it is its JSON, a newline, and the rewritten module.
type readyModule struct {
	Info Info   `json:"info"`
	Sum  string `json:"sum"` // SHA-256 of code
	// Code are the files of machine code, below the folder for these.
	Code []codeFile `json:"code"`
	code []byte
}

// codeFile is a file of machine code. It is checked before it is loaded: if it were missing,
// the engine would compile the module itself, and the engine's own checksum doesn't cover
// the offsets of functions.
type codeFile struct {
	Name string `json:"name"` // below the folder of machine code
	Size int64  `json:"size"`
	Sum  string `json:"sum"` // its SHA-256
}

// openCache creates the folders that are missing.
func (d *Driver) openCache() error {
	d.cache = d.options.CacheDir
	if d.cache == "" {
		folder, err := os.MkdirTemp("", "reflectory-modules-")
		if err != nil {
			return err
		}
		d.cache, d.ownCache = folder, true
	}
	code := filepath.Join(d.cache, codeFolder)
	for _, dir := range []string{d.cache, code, filepath.Join(d.cache, modulesFolder)} {
		if err := privateDir(dir); err != nil {
			return err
		}
	}
	removeStaleWork(d.cache, d.options.Now(), 2*d.options.Compile.Wall)
	var err error
	if d.compiled, err = wazero.NewCompilationCacheWithDir(code); err != nil {
		return err
	}
	if d.options.VerdictCacheBytes > 0 && !d.ownCache {
		d.verdicts, err = openVerdicts(filepath.Join(d.cache, verdictsFolder), d.options.VerdictCacheBytes)
	}
	return err
}

// privateDir creates a folder that no other user may enter, or checks one. Its files are run
// as this program's own code, so a folder that another user owns or can write to is refused:
// a user who can write the code can also write a matching checksum.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case openToOthers(info):
		return fmt.Errorf("other users can put code into %s", dir)
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // a folder needs its x bit
}

var errStale = errors.New("the file isn't what was written")

// fetchModule reads a module that was compiled before, for this kind of machine.
func (d *Driver) fetchModule(key moduleKey) (*readyModule, error) {
	ready, err := readReady(d.modulePath(key))
	if err != nil {
		return nil, err
	}
	if len(ready.Code) == 0 {
		return nil, errStale
	}
	for _, code := range ready.Code {
		sum, size, err := sumFile(filepath.Join(d.cache, codeFolder, code.Name))
		if err != nil || size != code.Size || sum != code.Sum {
			return nil, errStale
		}
	}
	return ready, nil
}

func readReady(path string) (*readyModule, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	header, code, _ := bytes.Cut(data, []byte("\n"))
	ready := &readyModule{code: code}
	if err := json.Unmarshal(header, ready); err != nil {
		return nil, err
	}
	if ready.Sum != hexDigest(code) {
		return nil, errStale
	}
	return ready, nil
}

// write writes the file that readReady reads.
func (m *readyModule) write(path string) error {
	m.Sum = hexDigest(m.code)
	header, err := json.Marshal(m)
	if err == nil {
		err = writeWhole(path, header, []byte("\n"), m.code)
	}
	if err != nil {
		return cacheFailed(err)
	}
	return nil
}

// sumFile returns the SHA-256 of a file and its size.
func sumFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (d *Driver) modulePath(key moduleKey) string {
	name := key.digest + "-" + machine()
	if key.extism {
		name += "-extism"
	}
	return filepath.Join(d.cache, modulesFolder, name)
}

// machine names what machine code depends on: how modules are rewritten, the engine's
// version, and the processor. If a folder was copied from another machine, or the program
// changed, modules are compiled again.
var machine = sync.OnceValue(func() string {
	return hexDigest(fmt.Appendln(nil, rewriteVersion, engineVersion(), runtime.GOOS, runtime.GOARCH, cpu.X86, cpu.ARM64))[:16]
})

// engineVersion is wazero's version, as recorded in the build.
func engineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/tetratelabs/wazero" {
				return m.Version
			}
		}
	}
	return ""
}

// writeWhole writes a file atomically, so that a crash of the program leaves all of it or
// nothing. After a crash of the machine its checksum shows whether it is whole.
func writeWhole(path string, parts ...[]byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
