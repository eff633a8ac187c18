package process

import "github.com/reflectory/reflectory/core/plugin"

// FitTempDir is the choice of TempDir between two folders.
func FitTempDir(dir, common string, noExec func(path string) bool) string {
	return fitTempDir(dir, common, noExec)
}

// NotLaunched is the error of a program that couldn't be started.
func NotLaunched(p *plugin.Installed, err error, noExec func(path string) bool) error {
	return notLaunched(p, err, noExec)
}
