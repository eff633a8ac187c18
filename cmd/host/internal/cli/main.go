package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/host"
)

// Main is the program: it runs the command line of this process until it ends or a signal
// cancels it, and returns the exit code.
func Main() int { return mainWith(host.Config{}) }

// mainWith is Main with given host settings.
func mainWith(base host.Config) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	endLate(ctx, func() {
		fmt.Fprintf(os.Stderr, "error: what was running didn't end within %s of the signal, so the program ends now; jobs and runs are continued by the next one\n", lastResort) //nolint:errcheck // it ends either way
		os.Exit(exitFailure)
	})
	app := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Base: base}
	return app.Run(ctx, os.Args[1:])
}

// lastResort is how long a cancelled command may take: the 25 s that a server gives requests, the
// 10 s that it gives jobs, and 5 s to close. What is committed is safe, as after a kill.
const lastResort = 40 * time.Second

// endLate calls end if the program still runs lastResort after it was cancelled.
func endLate(ctx context.Context, end func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(lastResort, end) })
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
