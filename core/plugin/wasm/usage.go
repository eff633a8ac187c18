package wasm

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Usage is how much is in the folder of [Options.CacheDir].
type Usage struct {
	// CodeBytes is compiled code, for this program and this processor.
	CodeBytes int64 `json:"code_bytes"`
	// ModuleBytes is modules that were made ready to be compiled.
	ModuleBytes int64 `json:"module_bytes"`
	// Verdicts counts the kept replies of pure modules, and VerdictBytes is their
	// size; at most VerdictLimit is kept unless the driver has another limit.
	Verdicts     int   `json:"verdicts"`
	VerdictBytes int64 `json:"verdict_bytes"`
	VerdictLimit int64 `json:"verdict_limit_bytes"`
}

// Measure measures a folder of compiled code and verdicts, which needn't exist.
// Drivers may use it meanwhile.
func Measure(cacheDir string) (u Usage, err error) {
	u.VerdictLimit = defaultVerdictCache
	_, u.CodeBytes, err = measure(filepath.Join(cacheDir, codeFolder))
	if err != nil {
		return u, err
	}
	if _, u.ModuleBytes, err = measure(filepath.Join(cacheDir, modulesFolder)); err != nil {
		return u, err
	}
	u.Verdicts, u.VerdictBytes, err = measure(filepath.Join(cacheDir, verdictsFolder))
	return u, err
}

// measure counts the files below a folder. Files that are removed meanwhile don't count.
func measure(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				files++
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return files, bytes, err
}
