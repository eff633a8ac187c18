package coretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
)

// PlainBinary returns the path of a program that does as the running test binary
// does, without the race detector: with it a program takes a second to exit, and
// several times as long for all else. It is for tests that start themselves as
// another program many times, to see what that does rather than how its goroutines
// share memory. Without the race detector it is the running binary; with it, one
// that is built into dir from the package in the working directory, which is the
// directory of the test.
func PlainBinary(dir string) (string, error) {
	settings, err := buildSettings()
	if err != nil {
		return "", err
	}
	if settings["-race"] != "true" {
		return os.Executable()
	}
	path := filepath.Join(dir, "plain.test")
	cmd := exec.CommandContext(context.Background(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-tags", settings["-tags"], "-o", path, ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the test binary without the race detector: %w: %s", err, out)
	}
	return path, nil
}

// buildSettings are the flags with which the test binary was built.
func buildSettings() (map[string]string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, errors.New("the test binary has no build information")
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return settings, nil
}
