package config

import (
	"os"
	"os/user"
	"path/filepath"
)

// defaultDataDir is reflectory in the user's data home.
func defaultDataDir(getenv func(string) string) string {
	if home := getenv("XDG_DATA_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "reflectory")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "reflectory")
	}
	return ".reflectory"
}

// userName is the system's name for the user who runs the program.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
