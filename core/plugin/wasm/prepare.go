package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

// rewriteVersion is raised whenever the same module would be rewritten, or
// understood, in another way.
const rewriteVersion = "1"

// readyModule is a module that was validated, detected and rewritten.
type readyModule struct {
	Info Info   `json:"info"`
	Sum  string `json:"sum"` // SHA-256 of code
	code []byte
}

// prepareModule validates a module and makes of it what is run. The original is
// validated before it is rewritten: an invalid module could otherwise become a
// valid one, with code of its own choice between the charges.
func prepareModule(ctx context.Context, original []byte) (*readyModule, error) {
	info, err := validate(ctx, original)
	if err != nil {
		return nil, err
	}
	code, err := info.rewrite(original)
	if err != nil {
		return nil, err
	}
	return &readyModule{Info: info, code: code}, nil
}

// validate has wazero read the module, with its interpreter, which reads a module
// as its compiler does and takes a fraction of the time.
func validate(ctx context.Context, module []byte) (Info, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithDebugInfoEnabled(false))
	defer func() { _ = r.Close(ctx) }() // nothing runs in it
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return Info{}, moduleInvalid(err)
	}
	return detect(compiled)
}

var errStale = errors.New("the file isn't what was written")

// fetchModule reads a module that was prepared before.
func (d *Driver) fetchModule(digest string) (*readyModule, error) {
	if d.modules == "" {
		return nil, os.ErrNotExist
	}
	data, err := os.ReadFile(d.modulePath(digest))
	if err != nil {
		return nil, err
	}
	header, code, _ := bytes.Cut(data, []byte("\n"))
	ready := &readyModule{code: code}
	if err := json.Unmarshal(header, ready); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(code); ready.Sum != hex.EncodeToString(sum[:]) {
		return nil, errStale
	}
	return ready, nil
}

// keepModule writes what fetchModule reads. A failure costs time at the next
// start and nothing else.
func (d *Driver) keepModule(digest string, ready *readyModule) {
	if d.modules == "" {
		return
	}
	sum := sha256.Sum256(ready.code)
	ready.Sum = hex.EncodeToString(sum[:])
	header, err := json.Marshal(ready)
	if err == nil {
		_ = writeWhole(d.modulePath(digest), header, []byte("\n"), ready.code)
	}
}

func (d *Driver) modulePath(digest string) string {
	return filepath.Join(d.modules, digest+"-"+rewriteVersion)
}

// writeWhole writes a file that is there as a whole or not at all, as far as a
// crash of the program goes. After one of the machine its checksum tells.
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

// rewrite makes a module's state reachable and meters it, as far as that goes,
// and notes in info what was done.
func (info *Info) rewrite(code []byte) ([]byte, error) {
	exposed, state, err := fuel.Expose(code)
	switch {
	case err == nil:
		code, info.Globals = exposed, state.Globals
		info.Unrestorable, info.Restorable = state.Hidden, state.Hidden == ""
	case sdk.ReasonOf(err) == "fuel_unsupported":
		info.Unrestorable = err.Error()
	default:
		return nil, err
	}
	metered, err := fuel.Instrument(code)
	switch {
	case err == nil:
		code, info.Metered = metered, true
	case sdk.ReasonOf(err) == "fuel_unsupported":
		info.Unmetered = err.Error()
	default:
		return nil, err
	}
	return code, nil
}
