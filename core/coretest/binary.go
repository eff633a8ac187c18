package coretest

import (
	"context"
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
	if !raced() {
		return os.Executable()
	}
	path := filepath.Join(dir, "plain.test")
	cmd := exec.CommandContext(context.Background(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-tags", buildSetting("-tags"), "-o", path, ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the test binary without the race detector: %w: %s", err, out)
	}
	return path, nil
}

// raced is whether the test binary was built with the race detector.
func raced() bool { return buildSetting("-race") == "true" }

// buildSetting is the value of a flag with which the test binary was built, or "".
func buildSetting(flag string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == flag {
				return s.Value
			}
		}
	}
	return ""
}
