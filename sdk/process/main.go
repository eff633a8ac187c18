package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// Exit codes of a plugin's program.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// ErrNotHosted is what [Serve] returns if a person started the program.
var ErrNotHosted = errors.New("not started by a Reflectory host")

// Options are what [Serve] takes from its surroundings. The zero value of each field
// means the process's own.
type Options struct {
	// Args are the command line without the program's name.
	Args []string
	// Stdin has the start message. Its end means that the host has ended.
	Stdin io.Reader
	// Stdout gets the manifest of --describe. The handshake always goes to the
	// process's own standard output.
	Stdout io.Writer
	// Stderr gets logs, and the usage if a person starts the program.
	Stderr io.Writer
	// Getenv looks up the environment.
	Getenv func(string) string
}

func (o Options) withDefaults() Options {
	if o.Args == nil {
		o.Args = os.Args[1:]
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}

// Main serves p until the host ends it, and exits the process: with 0 at the end, 1
// after an error, and 2 if a person started it.
func Main(p sdk.Plugin) {
	err := Serve(context.Background(), p, Options{})
	switch {
	case err == nil:
		os.Exit(exitOK)
	case errors.Is(err, ErrNotHosted):
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(exitError)
}

// Serve is [Main] without its exit: it serves p until the host ends it or ctx ends, and
// then returns nil. A process can serve only once.
func Serve(ctx context.Context, p sdk.Plugin, o Options) error {
	o = o.withDefaults()
	if err := p.Validate(); err != nil {
		return err
	}
	if len(o.Args) == 1 && o.Args[0] == "--describe" {
		return describe(o.Stdout, p)
	}
	if o.Getenv(wire.CookieKey) != wire.CookieValue {
		fmt.Fprint(o.Stderr, usage(p))
		return ErrNotHosted
	}
	return serve(ctx, p, o)
}

func describe(w io.Writer, p sdk.Plugin) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(p.Describe())
}

func usage(p sdk.Plugin) string {
	m := p.Describe()
	kinds := make([]string, len(m.Kinds))
	for i, k := range m.Kinds {
		kinds[i] = string(k)
	}
	return fmt.Sprintf("%[1]s %[2]s is a Reflectory plugin (%[3]s), started by the host and not by hand.\n"+
		"Put it into the plugin folder as %[1]s/%[1]s, or run it with --describe to see its manifest.\n",
		m.Name, m.Version, strings.Join(kinds, ", "))
}
