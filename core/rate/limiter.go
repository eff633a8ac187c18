package rate

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// maxNames is how many names a limiter remembers. If more are active at once, an arbitrary one
// is forgotten, which gives it another burst, unless hosts share the limit.
const maxNames = 10_000

// Options determine what is limited.
type Options struct {
	// What is what names do, such as "requests". It is in the keys of a shared store, so it
	// has no slash.
	What string
	// PerSecond is how often each name may do it in a second. 0 or less means no limit.
	PerSecond float64
	// Burst is how often it may be done at once: in any time t at most Burst + PerSecond·t. It
	// is at least 1.
	Burst float64
	// Clock measures how much time has passed; what time it shows doesn't matter. The default is
	// the system's, which isn't affected if somebody sets the machine's time.
	Clock core.Clock
	// Store is shared with other hosts, which have the same options; nil means that this host
	// counts by itself. Host is this host's id among them; it has only one limiter for What. If
	// the hosts' limits differ, the highest holds.
	Store core.Store
	Host  string
}

// Limiter limits how often each of many names does something. It remembers the 10,000 that
// were active last. It is safe for concurrent use, and needs no Close.
type Limiter struct {
	options Options

	mu   sync.Mutex
	each map[string]allowance
}

// allowance is what one name may still do.
type allowance interface {
	// take is [Limiter.Take]. ended is whether the allowance was given up before.
	take(ctx context.Context) (wait time.Duration, ended bool, err error)
	// end gives the allowance up, unless it is being used now, and reports whether it did. With
	// unused, it does so only if that makes no difference to the name.
	end(unused bool) bool
}

// New returns a limiter that doesn't remember any name yet.
func New(o Options) *Limiter {
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	o.Burst = math.Max(1, o.Burst)
	return &Limiter{options: o, each: map[string]allowance{}}
}

// Take counts that a name does it once now, and returns 0; or it returns how long the name
// should wait until it may do it again. An error comes from the shared store or from ctx: then
// nothing was counted.
func (l *Limiter) Take(ctx context.Context, name string) (wait time.Duration, err error) {
	if l.options.PerSecond <= 0 {
		return 0, nil
	}
	for {
		if wait, ended, err := l.of(name).take(ctx); !ended {
			return wait, err
		}
	}
}

func (l *Limiter) of(name string) allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.each[name]; a != nil {
		return a
	}
	if len(l.each) >= maxNames {
		l.forget()
	}
	var a allowance
	if l.options.Store != nil {
		a = newLoan(&l.options, name)
	} else {
		a = newBucket(&l.options)
	}
	l.each[name] = a
	return a
}

// forget makes room for another name.
func (l *Limiter) forget() {
	for name, a := range l.each {
		if a.end(true) {
			delete(l.each, name)
		}
	}
	for name, a := range l.each {
		if len(l.each) < maxNames {
			return
		}
		if a.end(false) {
			delete(l.each, name)
		}
	}
}
