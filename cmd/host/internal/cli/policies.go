package cli

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// livePolicies decide while a command works: by the files of the policy folder,
// whose changes they follow, and with a log in the store.
type livePolicies struct {
	*policy.Policies
	app    *App
	points *policy.Points
	dir    string // "" where there are only the defaults
	log    *decisions.Log

	stop     context.CancelFunc
	followed chan struct{} // closed once the folder isn't followed any more
	stored   bool          // whether the log is connected
	closed   bool
	// governed is whether a file of the folder decided.
	governed atomic.Bool
}

// namespaceFlag adds the flag that says where a command's work is.
func (a *App) namespaceFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.namespace, "namespace", "", "where this is done, such as team/project: policies go by it (default \"default\")")
}

// openPolicies loads the policy folder, and follows it. A folder in which anything
// is wrong is refused; one that goes wrong later changes nothing.
func (a *App) openPolicies(ctx context.Context) (*livePolicies, error) {
	points := policy.NewPoints()
	set, dir, err := a.loadPolicyDir(points)
	if err != nil {
		return nil, err
	}
	l := &livePolicies{app: a, points: points, dir: dir, log: decisions.NewLog(a.newIDs()), followed: make(chan struct{})}
	l.Policies = policy.New(points, policy.Options{Set: set, Log: l.record, SampleFrom: rand.Uint64N(100)})
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx)) // until Close
	go l.follow(ctx)
	return l, nil
}

// loadPolicyDir loads the folder of the configuration, and names it. The default
// one need not be there: then only the defaults decide.
func (a *App) loadPolicyDir(points *policy.Points) (*policy.Set, string, error) {
	setting := a.config.PolicyDir
	if _, err := os.Stat(setting.Value); setting.Origin == originDefault && errors.Is(err, fs.ErrNotExist) {
		return points.Defaults(), "", nil
	}
	set, err := loadPolicies(points, setting.Value)
	if err != nil {
		return nil, "", sdk.Wrap("policies of "+setting.Value+" ("+setting.Origin+")", err)
	}
	return set, setting.Value, nil
}

func (l *livePolicies) follow(ctx context.Context) {
	defer close(l.followed)
	if l.dir == "" {
		return
	}
	if err := l.Follow(ctx, l.dir, l.reloaded); err != nil {
		l.app.term.Line("warn: %v", err)
	}
}

// reloaded tells of a change of the folder: on the terminal, and in the journal.
func (l *livePolicies) reloaded(r policy.Reload) {
	if r.Failure == nil {
		l.app.term.Line("policies reloaded: %d files of %s", r.Files, l.dir)
		l.log.Tell(journal.PolicyReloaded{Digest: r.Digest, Previous: r.Previous, Files: r.Files})
		return
	}
	l.app.term.Line("warn: the policies of %s were changed to what can't decide; those before go on:\n%s", l.dir, r.Failure.Message)
	event := journal.PolicyReloadRefused{Digest: r.Digest, Code: r.Failure.Code, Problems: 1}
	if problems, ok := r.Failure.Details["problems"].([]format.Problem); ok {
		event.Problems, event.First = len(problems), problems[0].Place()
	}
	l.log.Tell(event)
}

// record keeps a decision. What it holds isn't changed any more, so the rest is
// done by the log's own goroutine.
func (l *livePolicies) record(ctx context.Context, r *policy.Record) {
	if !isDefault(r.File) {
		l.governed.Store(true)
	}
	l.log.Add(decisions.Decision{Point: r.Point, Subject: core.CallerOf(ctx).Subject, Make: func() (journal.PolicyDecided, []byte, error) {
		text, err := r.Encode()
		event := journal.PolicyDecided{
			Namespace: r.Namespace, File: r.File, Digest: r.Digest, Rule: r.Rule, Path: r.Path,
			Outcome: l.points.Outcome(r), Cost: r.Cost, Latency: r.Latency.Nanoseconds(),
			Masked: r.Masked, Skipped: r.Skipped, Differs: r.Shadow != nil,
		}
		if r.Failure != nil {
			event.Failure = r.Failure.Code
		}
		return event, text, err
	}})
}

// connect lets the log write to a store, which must stay open until Close.
func (l *livePolicies) connect(db core.Store) {
	l.stored = true
	l.log.Connect(&journal.Writer{Store: db})
}

// isDefault reports whether a policy's file is an embedded one.
func isDefault(file string) bool { return strings.HasPrefix(file, "default/") }

// Close stops following the folder and writes what waits to be logged. Without a
// store, as in commands that store nothing, it opens one if a file of the folder
// decided; what the defaults say isn't worth that. What can't be written is told,
// and fails nothing: it was decided all the same. It is idempotent.
func (l *livePolicies) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	l.stop()
	<-l.followed
	if !l.stored && !l.governed.Load() {
		_ = l.log.Close() // it holds what the defaults decided
		return nil
	}
	if !l.stored {
		db, err := l.app.openStore(context.Background())
		if err != nil {
			l.app.term.Line("warn: %v", err)
		} else {
			defer func() { _ = db.Close() }() // what is committed is safe
			l.connect(db)
		}
	}
	l.tellSkipped()
	if err := l.log.Close(); err != nil {
		l.app.term.Line("warn: %v", err)
	}
	return nil
}

// tellSkipped says in the journal how many decisions weren't recorded, since they
// change nothing.
func (l *livePolicies) tellSkipped() {
	skipped := map[string]uint64{}
	for point, n := range l.Unrecorded() {
		skipped[string(point)] = n
	}
	if l.stored && len(skipped) > 0 {
		l.log.Tell(journal.DecisionsSkipped{Points: skipped})
	}
}

// policyHint says where a refusal comes from and how to see why.
func (l *livePolicies) policyHint(d *core.Decision) string {
	file := d.File
	if l.dir != "" && !isDefault(file) {
		file = l.dir + string(os.PathSeparator) + file
	}
	return "policy file " + file + " says so; see which holds: reflectory policy explain " + string(d.Point) + " --namespace " + d.Namespace
}
