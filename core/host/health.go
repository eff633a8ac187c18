package host

import (
	"time"

	"github.com/reflectory/reflectory/core/plugin"
)

// PluginHealth is how the instances of a plugin are doing in this host, in all environments
// together, since the host was opened.
type PluginHealth struct {
	// Instances is how many run.
	Instances int `json:"instances"`
	// Busy is how many calls they are working on.
	Busy int `json:"busy"`
	// Waiting is how many calls wait for an instance.
	Waiting int `json:"waiting"`
	// Starts is how many instances have started.
	Starts int `json:"starts"`
	// Exits is how many ended by themselves, or failed to start.
	Exits int `json:"exits"`
	// Kills is how many the host stopped for a deadline, a size or a cancellation.
	Kills int `json:"kills"`
	// Replacements is how many the host ended since they failed the first steps of two callers, or
	// used a processor while they were idle.
	Replacements int `json:"replacements"`
	// IdleBusy is how often an instance used more than a quarter of a processor for 10 s without
	// a call.
	IdleBusy int `json:"idle_busy"`
	// Breaker is whether an instance may be started: closed (yes), half_open (one, on trial)
	// or open (no). With several environments, the most restrictive state counts.
	Breaker plugin.BreakerState `json:"breaker"`
	// RetryAt is when an open breaker lets one instance start.
	RetryAt *time.Time `json:"retry_at,omitempty"`
	// LastCause is the reason why an instance last ended by itself, was replaced, or was found busy while idle.
	LastCause string `json:"last_cause,omitempty"`
	// Latency is how long its calls took in the last hour; nil if there were none.
	Latency *plugin.Latency `json:"latency,omitempty"`
}

// PluginHealth is how the instances of each plugin are doing, by the plugin's name. It is
// empty until something called a plugin.
func (d *Databases) PluginHealth() map[string]*PluginHealth {
	all := map[string]*PluginHealth{}
	for _, s := range d.PluginInstances() {
		if s.Starts+s.UnaskedExits == 0 && s.Latency == nil {
			continue // it was only looked at
		}
		p := all[s.Plugin]
		if p == nil {
			p = &PluginHealth{Breaker: plugin.BreakerClosed}
			all[s.Plugin] = p
		}
		p.add(&s)
	}
	return all
}

// add counts the instances of an environment.
func (p *PluginHealth) add(s *plugin.Status) {
	p.Instances += s.Instances
	p.Busy += s.Busy
	p.Waiting += s.Waiting
	p.Starts += s.Starts
	p.Exits += s.UnaskedExits
	p.Kills += s.Kills
	p.Replacements += s.Replacements
	p.IdleBusy += s.IdleBusy
	switch {
	case s.Breaker == plugin.BreakerOpen:
		p.Breaker = plugin.BreakerOpen
		if p.RetryAt == nil || s.RetryAt.Before(*p.RetryAt) {
			p.RetryAt = &s.RetryAt
		}
	case s.Breaker == plugin.BreakerHalfOpen && p.Breaker == plugin.BreakerClosed:
		p.Breaker = plugin.BreakerHalfOpen
	}
	if s.LastCause != "" {
		p.LastCause = s.LastCause
	}
	if s.Latency != nil {
		p.Latency = s.Latency
	}
}
