// Command reflectory runs reflection workflows: generate, evaluate, correct, on
// plugins that run outside its trust.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// endings are the signals that cancel a run. A closed terminal is among them,
// unless whoever started the program had it ignored, as nohup does.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// run is the program as a function of its surroundings. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	app := &App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv}
	return app.Run(ctx, args)
}
