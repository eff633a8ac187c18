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
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// Policies decide while a host works, with a log in the store. They come from the files of the
// policy folder, and follow changes of the folder. If hosts share a store, they come from the set
// that was pushed to it. A folder that has a problem at the start is refused, so that nobody
// mistakes the defaults for the operator's own rules. If problems appear later, the earlier
// policies stay in force.
type Policies struct {
	*policy.Policies
	// Points are the policy points with their inputs and outputs.
	Points *policy.Points
	// Dir is the folder; "" if only the defaults decide, or if the store has the policies.
	Dir string

	// shared are the policies of the store; nil if the folder has them.
	shared  *sharedPolicies
	config  *Config
	journal *journal.Writer
	log     *decisions.Log
	// opened is closed once the store is open.
	opened <-chan struct{}
	// governed is whether a file of the folder ever decided, rather than a default.
	governed atomic.Bool
	stop     context.CancelFunc
	followed chan struct{} // closed when the folder is no longer followed
}

// sampleFrom is the number at which counting begins for decisions of which only a sample is
// recorded. It is a random number below 100, so that programs with few decisions also record their
// share.
func sampleFrom(random io.Reader) uint64 {
	var number [8]byte
	_, _ = io.ReadFull(random, number[:]) // without it the counting begins at 0
	return binary.BigEndian.Uint64(number[:]) % 100
}

// openPolicies loads the policy folder, and follows it until Close.
func openPolicies(h *Host, opened <-chan struct{}) (*Policies, error) {
	p := &Policies{Points: PolicyPoints(), config: h.Config, journal: h.Journal, opened: opened, followed: make(chan struct{})}
	o := policy.Options{Clock: h.Config.Clock, Log: p.record, Decided: h.Config.Observe.Decided, SampleFrom: sampleFrom(h.Config.Random)}
	if h.Config.Shared || h.Config.Settings.Shared() {
		p.shared = &sharedPolicies{
			points: p.Points, store: h.Store, feed: h.Feed, opened: opened, warn: h.Config.warn, newest: compiledSet{Set: p.Points.Defaults()},
		}
		o.Source = p.shared.current
		p.warnOfFolder()
	} else {
		var err error
		if o.Set, p.Dir, err = LoadPolicyDir(p.Points, h.Config.Settings.PolicyDir); err != nil {
			return nil, err
		}
	}
	p.log = decisions.NewLog(decisions.Options{IDs: h.Config.IDs, Writer: h.Journal, Ready: opened})
	p.Policies = policy.New(p.Points, o)
	if p.shared != nil {
		p.shared.replace = p.Replace
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.follow(ctx)
	return p, nil
}

// warnOfFolder warns that a folder which the settings name has no effect here.
func (p *Policies) warnOfFolder() {
	if setting := p.config.Settings.PolicyDir; !setting.IsDefault() {
		p.config.warnf("the policies of %s (%s) decide nothing: hosts that share a store decide with what was pushed to it", setting.Value, setting.Origin)
	}
}

// LoadPolicyDir loads the policy folder of a setting, and returns its name. The default
// folder needn't exist: then only the built-in policies decide, and the name is "".
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

// LoadPolicies loads a policy folder, which must exist.
func LoadPolicies(points *policy.Points, dir string) (*policy.Set, error) {
	folder, err := PolicyFolder(dir)
	if err != nil {
		return nil, err
	}
	return points.Load(folder)
}

// PolicyFolder opens a policy folder, which must exist. If it doesn't, the error is
// sdk.NotFound, reason "policy_folder_missing".
func PolicyFolder(dir string) (fs.FS, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New(dir + " isn't a folder")
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "policy_folder_missing", "the policy folder can't be opened: %w", err).
			WithHint("give the folder that contains the points' folders, such as gate")
	}
	return os.DirFS(dir), nil
}

func (p *Policies) follow(ctx context.Context) {
	defer close(p.followed)
	if p.shared != nil {
		p.shared.follow(ctx)
		return
	}
	if p.Dir == "" {
		return
	}
	if err := p.Follow(ctx, p.Dir, p.reloaded); err != nil {
		p.config.warn(err)
	}
}

// reloaded reports a change of the folder to the operator, and in the journal.
func (p *Policies) reloaded(r policy.Reload) {
	if r.Failure == nil {
		p.config.info("policies reloaded: %d files of %s", r.Files, p.Dir)
		p.log.Record(journal.PolicyReloaded{Digest: r.Digest, Previous: r.Previous, Files: r.Files})
		return
	}
	p.config.warnf("the policies of %s were changed, but can't be used; the previous policies stay in force:\n%s", p.Dir, r.Failure.Message)
	event := journal.PolicyReloadRefused{Digest: r.Digest, Code: r.Failure.Code, Problems: 1}
	if problems, ok := r.Failure.Details["problems"].([]format.Problem); ok {
		event.Problems, event.First = len(problems), problems[0].Place()
	}
	p.log.Record(event)
}

// record queues a decision. The decision's data doesn't change any more, so the log's own
// goroutine does the rest.
func (p *Policies) record(ctx context.Context, r *policy.Record) {
	if r.Point == policypoint.Access && isDefault(r.File) && r.Failure == nil && r.Shadow == nil && core.CallerOf(ctx).Subject == core.OperatorSubject {
		return // the default allows the operator everything, and reading mustn't change what is read
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

// isDefault reports whether a policy's file is embedded in the program.
func isDefault(file string) bool { return strings.HasPrefix(file, "default/") }

// Close stops following the folder and writes the decisions that are queued. A store that nothing
// else needed is opened for this only if a file of the folder decided; decisions of the defaults
// aren't worth it. If the decisions can't be written, that is a notice, not an error, since they
// took effect anyway.
func (p *Policies) Close() error {
	p.stop()
	<-p.followed
	if !p.governed.Load() && !isClosed(p.opened) {
		p.log.Discard()
		return nil
	}
	p.recordSkipped()
	if err := p.log.Close(); err != nil {
		p.config.warn(err)
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

// recordSkipped writes to the journal how many decisions weren't recorded because they
// changed nothing. Permissions to read alone aren't worth an event: reading a store
// mustn't change it.
func (p *Policies) recordSkipped() {
	skipped := map[string]uint64{}
	for point, n := range p.Unrecorded() {
		skipped[string(point)] = n
	}
	if n := len(skipped); n > 1 || n == 1 && skipped[string(policypoint.Access)] == 0 {
		p.log.Record(journal.DecisionsSkipped{Points: skipped})
	}
}

// policyHint names the policy that refused.
func (p *Policies) policyHint(d *policypoint.Decision) string {
	file := d.File
	if p.Dir != "" && !isDefault(file) {
		file = p.Dir + string(os.PathSeparator) + file
	}
	return "policy file " + file + " says so; see which policy is in force"
}
