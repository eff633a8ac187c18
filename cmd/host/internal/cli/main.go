package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/reflectory/reflectory/core/host"
)

// Main is the program: it runs the command line of this process until it ends or a signal
// cancels it, and returns the exit code.
func Main() int { return mainWith(host.Config{}) }

// mainWith is Main with given host settings.
func mainWith(base host.Config) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	app := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Base: base}
	return app.Run(ctx, os.Args[1:])
}

// endings are the signals that cancel a command. A closed terminal is one of them, unless
// the program was started to outlive it, as with nohup.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
