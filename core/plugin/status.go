package plugin

import (
	"fmt"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Status is how a plugin's instances for one environment are doing.
type Status struct {
	Plugin string `json:"plugin"`
	// Environment names the environment of these instances: the names of its variables, never
	// their values, and a number that distinguishes it from others. "" is for calls without
	// an environment.
	Environment string `json:"environment,omitempty"`
	// Version is its package's version, if that is known.
	Version string `json:"version,omitempty"`
	// Manifest is the manifest of its last start; nil before that.
	Manifest *sdk.Manifest `json:"manifest,omitempty"`
	// Instances counts the running instances, Starting the instances that are being started
	// or wait for the backoff to end.
	Instances int `json:"instances"`
	Starting  int `json:"starting"`
	// Draining counts, if Environment is "", the instances that end with their last
	// call: of a version that was replaced, or of an environment that is being closed.
	Draining int `json:"draining,omitempty"`
	// Busy counts the calls that instances work on, Waiting the calls that wait for an
	// instance.
	Busy    int `json:"busy"`
	Waiting int `json:"waiting"`
	// Starts counts the instances that started, UnaskedExits the instances that ended by
	// themselves or failed to start, and Kills the instances that the host stopped for a
	// deadline, a size or a cancellation.
	Starts       int `json:"starts"`
	UnaskedExits int `json:"unasked_exits"`
	Kills        int `json:"kills"`
	// Replacements counts the instances that the host ended since they failed the first steps
	// of two callers, or used a processor while they were idle. IdleBusy counts how often an
	// instance used more than a quarter of a processor for 10 s without a call.
	Replacements int `json:"replacements"`
	IdleBusy     int `json:"idle_busy"`
	// Breaker is whether the plugin may be started, and called by everyone: it is also open
	// while a tenant whose requests ended instances isn't served. While it is open, RetryAt is
	// when it is tried again.
	Breaker BreakerState `json:"breaker"`
	RetryAt time.Time    `json:"retry_at,omitzero"`
	// LastCause is the reason why an instance last ended by itself, was replaced, or was found
	// busy while it was idle.
	LastCause string `json:"last_cause,omitempty"`
	// Latency is, if Environment is "", how long the calls of the plugin took in the last
	// hour; nil if there were none.
	Latency *Latency `json:"-"`
}

// Status describes every installed plugin, sorted by name, and after each the environments
// for which it has instances, in the order in which they appeared.
func (s *Supervisor) Status() []Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	draining := map[string]int{}
	for p := range s.draining {
		draining[p.plugin.Name] += p.status(time.Now()).Instances
	}
	statuses := make([]Status, 0, len(s.pools))
	for _, name := range s.names() {
		at := len(statuses)
		for _, p := range s.pools[name].all() {
			statuses = append(statuses, p.status(time.Now()))
		}
		statuses[at].Draining = draining[name]
	}
	return statuses
}

func (p *pool) status(now time.Time) Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := Status{
		Plugin: p.plugin.Name, Environment: p.environment(), Version: p.plugin.Version, Manifest: p.manifest,
		Instances: len(p.members), Starting: p.starting, Waiting: len(p.queue) + p.share.Waiting(),
		Starts: p.starts, UnaskedExits: p.exits, Kills: p.kills, Replacements: p.replacements, IdleBusy: p.idlers,
	}
	shown := p.worstBreaker(now)
	st.Breaker = shown.state(now)
	for _, m := range p.members {
		st.Busy += len(m.callers)
	}
	if st.Breaker == BreakerOpen {
		st.RetryAt = shown.reopens
	}
	if p.breaker.cause != nil {
		st.LastCause = p.breaker.cause.Error()
	}
	if p.number == 0 {
		st.Latency = p.latency.read(now)
	}
	return st
}

// environment names the pool's environment without revealing its values.
func (p *pool) environment() string {
	if p.number == 0 {
		return ""
	}
	return fmt.Sprintf("%s#%d", p.env.names(), p.number)
}
