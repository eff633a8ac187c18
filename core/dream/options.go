package dream

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Options are the switches and thresholds of a pass. The zero value has every phase on, with
// its defaults.
type Options struct {
	// SkipDates, SkipMerges, SkipConflicts and SkipArchival leave a phase out.
	SkipDates     bool `json:"skip_dates,omitempty"`
	SkipMerges    bool `json:"skip_merges,omitempty"`
	SkipConflicts bool `json:"skip_conflicts,omitempty"`
	SkipArchival  bool `json:"skip_archival,omitempty"`
	// KeepPhrase and Ranges determine how dates are written: see [DateOptions].
	KeepPhrase bool `json:"keep_phrase,omitempty"`
	Ranges     bool `json:"ranges,omitempty"`
	// Strategy determines which of two memories that contradict each other is kept, if both
	// have a low importance: one of [Strategies]; "" is keep_newest.
	Strategy Strategy `json:"strategy,omitempty"`
	// Stale determines which stale memories are archived: one of [Stales]; "" is redundant.
	Stale Stale `json:"stale,omitempty"`
	// StaleAfterHours is how old a memory must be, in hours, to be stale; 0 is 168, a week.
	StaleAfterHours float64 `json:"stale_after_hours,omitempty"`
	// StaleBelow is the effective importance below which a memory is stale, in (0,1]; 0 is .2.
	StaleBelow float64 `json:"stale_below,omitempty"`
	// Decay is how importance fades with age: exponential, or with its rate in an hour
	// exponential:0.004; linear or linear:0.004, which is 0 after 250 hours; step:T, which is
	// 0 after T, such as step:720h; power_law:a, (1 + hours)^-a. "" is exponential.
	Decay string `json:"decay,omitempty"`
	// Force lets a pass archive more than a tenth of a namespace.
	Force bool `json:"force,omitempty"`
}

// Or fills in from others what the options leave out. A phase is on only if both have it
// on.
func (o Options) Or(other Options) Options {
	return Options{
		SkipDates: o.SkipDates || other.SkipDates, SkipMerges: o.SkipMerges || other.SkipMerges,
		SkipConflicts: o.SkipConflicts || other.SkipConflicts, SkipArchival: o.SkipArchival || other.SkipArchival,
		KeepPhrase: o.KeepPhrase || other.KeepPhrase, Ranges: o.Ranges || other.Ranges,
		Strategy: cmp.Or(o.Strategy, other.Strategy), Stale: cmp.Or(o.Stale, other.Stale), Decay: cmp.Or(o.Decay, other.Decay),
		StaleAfterHours: cmp.Or(o.StaleAfterHours, other.StaleAfterHours), StaleBelow: cmp.Or(o.StaleBelow, other.StaleBelow),
		Force: o.Force || other.Force,
	}
}

// The defaults of the fourth phase.
const (
	defaultStaleHours      = 7 * 24
	defaultStaleImportance = .2
	defaultRate            = .004 // per hour
)

// DateOptions determine how the pass writes dates.
func (o *Options) DateOptions() DateOptions {
	return DateOptions{KeepPhrase: o.KeepPhrase, Ranges: o.Ranges}
}

func (o *Options) staleHours() float64 {
	if o.StaleAfterHours == 0 {
		return defaultStaleHours
	}
	return o.StaleAfterHours
}

func (o *Options) staleImportance() float64 {
	if o.StaleBelow == 0 {
		return defaultStaleImportance
	}
	return o.StaleBelow
}

// Validate reports every invalid option in one error: sdk.Invalid, reason
// "options_invalid".
func (o *Options) Validate() error {
	var wrong []error
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, sdk.Errorf(sdk.Invalid, "options_invalid", field+" is "+format, args...).WithDetail("field", "options."+field))
	}
	if o.StaleAfterHours < 0 || math.IsNaN(o.StaleAfterHours) || math.IsInf(o.StaleAfterHours, 0) {
		refuse("stale_after_hours", "%g, not a number of hours", o.StaleAfterHours)
	}
	if o.StaleBelow < 0 || o.StaleBelow > 1 || math.IsNaN(o.StaleBelow) {
		refuse("stale_below", "%g, not from 0 to 1", o.StaleBelow)
	}
	if _, ok := readDecay(o.Decay); !ok {
		refuse("decay", "%q, not exponential, linear, step:T or power_law:a", core.Cut(o.Decay))
	}
	if !o.Strategy.valid() {
		refuse("strategy", "%q, not one of %s", core.Cut(string(o.Strategy)), names(Strategies()))
	}
	if o.Stale != "" && !slices.Contains(Stales(), o.Stale) {
		refuse("stale", "%q, not one of %s", core.Cut(string(o.Stale)), names(Stales()))
	}
	return core.JoinErrors(wrong...)
}

// Effective is the importance of a memory at an age: its importance, raised a little by its
// accesses, times the share that the decay leaves.
func (o *Options) Effective(importance float64, accesses int64, hours float64) float64 {
	left, ok := readDecay(o.Decay)
	if !ok {
		return 1 // never stale
	}
	base := min(1, importance+float64(.05*math.Log1p(float64(accesses))))
	return base * left(max(0, hours))
}

// readDecay returns the share of an importance that is left after some hours.
func readDecay(name string) (left func(hours float64) float64, ok bool) {
	model, value, given := strings.Cut(name, ":")
	number, err := strconv.ParseFloat(value, 64)
	ok = err == nil && number > 0 && !math.IsInf(number, 0)
	rate := defaultRate
	if given && ok {
		rate = number
	}
	switch model {
	case "", "exponential":
		return func(h float64) float64 { return math.Exp(-rate * h) }, (ok || !given) && (model != "" || !given)
	case "linear":
		return func(h float64) float64 { return max(0, 1-float64(rate*h)) }, ok || !given
	case "power_law":
		return func(h float64) float64 { return math.Pow(1+h, -number) }, ok
	case "step":
		if d, err := time.ParseDuration(value); err == nil {
			number, ok = d.Hours(), d > 0
		}
		return func(h float64) float64 {
			if h > number {
				return 0
			}
			return 1
		}, ok
	}
	return nil, false
}
