package plugin

import (
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// An instance can be of no use though it runs and answers: a request left it without memory, or in
// a state in which it fails everybody. Nothing of that shows in its exits, so an instance is
// replaced once two callers in a row, two namespaces, failed at their first steps: the first call
// with a config that the instance hasn't answered yet. It gets no more calls, and ends with its last
// one. That is no exit by itself, so the breaker doesn't count it.
//
// What can be the callers' own fault isn't counted: bad input, or a failure outside of the
// plugin. If the next instance fails in the same way, the instance wasn't the cause, and it isn't
// replaced for that again within exitsWindow.
const (
	// maxFirstSteps is how many configs an instance's answers are remembered for, as in
	// checkedConfigs.
	maxFirstSteps = maxChecked
	// maxReplacements is how many instances of a pool are replaced within exitsWindow: as many
	// as may end by themselves before the breaker opens.
	maxReplacements = exitsToOpen
)

// firstSteps are what a member did with configs that it didn't know. The pool's lock guards them.
type firstSteps struct {
	answered map[string]struct{} // digests of configs
	failed   bool                // the last first step failed
	caller   string              // whose that was
}

// replacement is an instance that was replaced because of first steps.
type replacement struct {
	reason string
	at     time.Time
	helped bool // a later instance answered a first step
}

// noteStep records how a call of a caller with a config ended, and replaces the member if
// that was the second caller who failed.
func (p *pool) noteStep(m *member, caller string, c *call, err error, now time.Time) {
	if c.config == "" {
		return
	}
	if err == nil && c.item != nil {
		err = c.item()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	steps := &m.steps
	if _, known := steps.answered[c.config]; known {
		return
	}
	switch {
	case err == nil:
		if steps.answered == nil || len(steps.answered) >= maxFirstSteps {
			steps.answered = map[string]struct{}{}
		}
		steps.answered[c.config], steps.failed = struct{}{}, false
		for i := range p.replaced {
			p.replaced[i].helped = p.replaced[i].helped || m.started.After(p.replaced[i].at)
		}
	case !p.ownFault(err):
	case !steps.failed || steps.caller == caller:
		steps.failed, steps.caller = true, caller
	case p.mayReplace(sdk.ReasonOf(err), now):
		p.replaced = append(p.replaced, replacement{reason: sdk.ReasonOf(err), at: now})
		p.retire(m, sdk.Errorf(sdk.Unavailable, "plugin_replaced", "an instance of plugin %q failed two callers in a row and was replaced; last cause: %w", p.plugin.Name, err), now)
	}
}

// ownFault is whether an error can only be the plugin's fault: nothing outside of it, and no
// input of the caller, explains the error.
func (p *pool) ownFault(err error) bool {
	switch sdk.CodeOf(err) {
	case sdk.Internal:
		return true
	case sdk.Exhausted, sdk.Unavailable:
		return len(p.plugin.Granted.Network) == 0 && len(p.plugin.Granted.Host) == 0
	}
	return sdk.ReasonOf(err) == "response_invalid"
}

// mayReplace is whether one more instance may be replaced for a reason. The lock must be held.
func (p *pool) mayReplace(reason string, now time.Time) bool {
	for len(p.replaced) > 0 && now.Sub(p.replaced[0].at) >= exitsWindow {
		p.replaced = p.replaced[1:]
	}
	for _, r := range p.replaced {
		if r.reason == reason && !r.helped {
			return false
		}
	}
	return len(p.replaced) < maxReplacements
}

// retire gives a member no more calls, and ends it with its last one. The lock must be held.
func (p *pool) retire(m *member, reason error, now time.Time) {
	if m.ending() {
		return
	}
	m.retired = reason
	p.replacements++
	p.breaker.cause = reason
	p.report(InstanceReplaced)
	p.warn(reason, now)
	p.endRetired(m)
}

// endRetired ends a member that gets no more calls, once it has none. The lock must be held.
func (p *pool) endRetired(m *member) {
	if m.retired == nil || m.busy > 0 || m.asked || m.done() || p.open.Err() != nil {
		return
	}
	m.asked = true
	p.tasks.Go(func() { m.Kill(m.retired) })
}

// warn adds a line to the plugin's log.
func (p *pool) warn(err error, now time.Time) {
	if p.options.Log != nil {
		p.options.Log(LogLine{Time: now, Level: "warn", Plugin: p.plugin.Name, Message: err.Error()})
	}
}
