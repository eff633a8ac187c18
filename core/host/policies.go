package host

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// Policies decide while a host works: by the files of the policy folder, whose changes
// they follow, and with a log in the store. A folder in which anything is wrong at the
// start is refused, since nobody may hold the defaults for the operator's own rules; one
// that goes wrong later changes nothing.
type Policies struct {
	*policy.Policies
	// Points are the policy points with their inputs and outputs.
	Points *policy.Points
	// Dir is the folder; "" where there are only the defaults.
	Dir string

	host *Host
	log  *decisions.Log
	// opened is closed once the store is open.
	opened <-chan struct{}
	// governed is whether a file of the folder decided, rather than a default.
	governed atomic.Bool
	stop     context.CancelFunc
	followed chan struct{} // closed once the folder isn't followed any more
}

// sampleFrom is where the counting of decisions begins that are recorded now and then: a
// number below 100, so that programs that decide little record their share too.
func (h *Host) sampleFrom() uint64 {
	var random [8]byte
	_, _ = io.ReadFull(h.config.Random, random[:]) // without it the counting begins at 0
	return binary.BigEndian.Uint64(random[:]) % 100
}

// openPolicies loads the policy folder, and follows it until Close.
func openPolicies(h *Host, opened <-chan struct{}) (*Policies, error) {
	points := policy.NewPoints()
	set, dir, err := LoadPolicyDir(points, h.config.Settings.PolicyDir)
	if err != nil {
		return nil, err
	}
	p := &Policies{
		Points: points, Dir: dir, host: h, opened: opened, followed: make(chan struct{}),
		log: decisions.NewLog(decisions.Options{IDs: h.config.IDs, Writer: h.Journal, Ready: opened}),
	}
	p.Policies = policy.New(points, policy.Options{Set: set, Clock: h.config.Clock, Log: p.record, Decided: h.config.Observe.Decided, SampleFrom: h.sampleFrom()})
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.follow(ctx)
	return p, nil
}

// LoadPolicyDir loads the policy folder of a setting, and names it. The default one need
// not be there: then only the built-in policies decide, and the name is "".
func LoadPolicyDir(points *policy.Points, setting config.Setting) (*policy.Set, string, error) {
	if _, err := os.Stat(setting.Value); setting.IsDefault() && errors.Is(err, fs.ErrNotExist) {
		return points.Defaults(), "", nil
	}
	set, err := LoadPolicies(points, setting.Value)
	if err != nil {
		return nil, "", sdk.Wrap("policies of "+setting.Value+" ("+setting.Origin+")", err)
	}
	return set, setting.Value, nil
}

// LoadPolicies loads a policy folder, which must be there.
func LoadPolicies(points *policy.Points, dir string) (*policy.Set, error) {
	folder, err := PolicyFolder(dir)
	if err != nil {
		return nil, err
	}
	return points.Load(folder)
}

// PolicyFolder opens a policy folder, which must be there. One that isn't is
// sdk.NotFound, reason "policy_folder_missing".
func PolicyFolder(dir string) (fs.FS, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New(dir + " is no folder")
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "policy_folder_missing", "the policy folder can't be opened: %w", err).
			WithHint("name the folder that holds the points' folders, such as gate")
	}
	return os.DirFS(dir), nil
}

func (p *Policies) follow(ctx context.Context) {
	defer close(p.followed)
	if p.Dir == "" {
		return
	}
	if err := p.Follow(ctx, p.Dir, p.reloaded); err != nil {
		p.host.warn(err)
	}
}

// reloaded says that the folder changed: to the operator, and in the journal.
func (p *Policies) reloaded(r policy.Reload) {
	if r.Failure == nil {
		p.host.info("policies reloaded: %d files of %s", r.Files, p.Dir)
		p.log.Tell(journal.PolicyReloaded{Digest: r.Digest, Previous: r.Previous, Files: r.Files})
		return
	}
	p.host.warnf("the policies of %s were changed to what can't decide; the policies before go on:\n%s", p.Dir, r.Failure.Message)
	event := journal.PolicyReloadRefused{Digest: r.Digest, Code: r.Failure.Code, Problems: 1}
	if problems, ok := r.Failure.Details["problems"].([]format.Problem); ok {
		event.Problems, event.First = len(problems), problems[0].Place()
	}
	p.log.Tell(event)
}

// record keeps a decision. What it holds isn't changed any more, so the rest is done by
// the log's own goroutine.
func (p *Policies) record(ctx context.Context, r *policy.Record) {
	if r.Point == core.PointAccess && isDefault(r.File) && r.Failure == nil && r.Shadow == nil && core.CallerOf(ctx).Subject == core.OperatorSubject {
		return // the default lets the operator do everything: a look mustn't change what it looks at
	}
	if !isDefault(r.File) {
		p.governed.Store(true)
	}
	p.log.Add(decisions.Decision{Point: r.Point, Subject: core.CallerOf(ctx).Subject, Make: func() (journal.PolicyDecided, []byte, error) {
		text, err := r.Encode()
		event := journal.PolicyDecided{
			Namespace: r.Namespace, File: r.File, Digest: r.Digest, Rule: r.Rule, Path: r.Path,
			Outcome: p.Points.Outcome(r), Cost: r.Cost, Latency: r.Latency.Nanoseconds(),
			Masked: r.Masked, Skipped: r.Skipped, Differs: r.Shadow != nil,
		}
		if r.Failure != nil {
			event.Failure = r.Failure.Code
		}
		return event, text, err
	}})
}

// isDefault reports whether a policy's file is an embedded one.
func isDefault(file string) bool { return strings.HasPrefix(file, "default/") }

// Close stops following the folder and writes what waits to be logged. A store that
// nothing else needed is opened for that only if a file of the folder decided; what the
// defaults say isn't worth it. What can't be written is a notice, and fails nothing: it
// was decided all the same.
func (p *Policies) Close() error {
	p.stop()
	<-p.followed
	if !p.governed.Load() && !isClosed(p.opened) {
		p.log.Discard()
		return nil
	}
	p.recordSkipped()
	if err := p.log.Close(); err != nil {
		p.host.warn(err)
	}
	return nil
}

// isClosed reports whether a channel that nothing is sent on is closed; nil counts as
// closed.
func isClosed(c <-chan struct{}) bool {
	if c == nil {
		return true
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// recordSkipped says in the journal how many decisions weren't recorded, since they
// changed nothing. Who only looked at something was let do it, and that alone isn't worth
// an event: a store that is audited is as it was.
func (p *Policies) recordSkipped() {
	skipped := map[string]uint64{}
	for point, n := range p.Unrecorded() {
		skipped[string(point)] = n
	}
	if n := len(skipped); n > 1 || n == 1 && skipped[string(core.PointAccess)] == 0 {
		p.log.Tell(journal.DecisionsSkipped{Points: skipped})
	}
}

// policyHint says where a refusal comes from.
func (p *Policies) policyHint(d *core.Decision) string {
	file := d.File
	if p.Dir != "" && !isDefault(file) {
		file = p.Dir + string(os.PathSeparator) + file
	}
	return "policy file " + file + " says so; see which holds"
}
