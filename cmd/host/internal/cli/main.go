package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/host"
)

// Main is the program: it runs the command line of this process until it ends or a signal
// cancels it, and returns the exit code.
func Main() int { return mainWith(host.Config{}) }

// mainWith is Main with given host settings.
func mainWith(base host.Config) int {
	collectLater(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	app := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Base: base}
	endLate(ctx, func() { os.Exit(app.endLate()) })
	return app.Run(ctx, os.Args[1:])
}

// firstCollection is GOGC until memory is first freed: the heap then has 16 MiB, four times as much
// as by default.
const firstCollection = 400

// collectLater lets the heap grow to 16 MiB before memory is first freed. Most commands end before
// that. A collection looks at all data of the program, which is more work than a small command does
// otherwise: it took 25 of the 65 ms of processor time of memory list. After the first one, Go's
// default holds. An operator's GOGC holds from the start.
func collectLater(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// lastResort is how long a cancelled command may take, whatever runs: a script, a plugin or a client
// that ignores its end can't keep the program. What is committed is safe, as after a kill. A server
// spends it as follows: requests have 22 s, and then 2 s to notice that they were cancelled; from
// jobsAfter on, jobs have their 10 s, and 2 s to notice; the rest is for closing.
const lastResort = 25 * time.Second

// endLate says that the program ends though something still runs, and returns its exit code. For
// a server that was stopped this is no failure.
func (a *App) endLate() int {
	fmt.Fprintf(a.Stderr, "what was running didn't end within %s of the signal, so the program ends now; jobs and runs are continued by the next one\n", lastResort) //nolint:errcheck // it ends either way
	if a.stopping.Load() {
		return 0 // it did what it was asked to
	}
	return exitFailure
}

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
