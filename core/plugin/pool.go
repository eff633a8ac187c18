package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// tenantLasts is how long a tenant that called a plugin keeps its claim on half of the slots: a
// call may take half a minute by default, so a tenant that calls every few seconds would
// otherwise find all slots taken each time.
const tenantLasts = 10 * time.Second

// pool holds the running instances of one plugin in one environment and lends them
// to calls.
//
//	acquire ─► share ─► queue ─► dispatch ─► a member with a free slot ─► release
//	                                └─► grow ─► start ─► a new member ─► watch, until it is gone
//
// The share has a place for each slot that the members have at most, and so decides whose
// call is next: in the queue are only calls that have a place.
//
// mu guards all state, and each change of the state ends in dispatch.
type pool struct {
	plugin  Installed // its limits are set, and its Env holds what env brings
	options *Options  // of the supervisor
	env     environment
	tenant  string      // whose call made the environment
	number  int         // counts the environments of the plugin from 1; 0 has none
	idle    *time.Timer // closes the pool when it is no longer used; nil if there is none

	// open ends when the pool is closed, and with it the starts under way.
	open  context.Context
	close context.CancelFunc
	// tasks are the starts, the watches, and the calls that hold a slot.
	tasks sync.WaitGroup
	// calls are all calls made through the pool, waiting ones included; callers is their
	// number.
	calls   sync.WaitGroup
	callers atomic.Int64
	// unscoped is used for calls without a scope; ends counts the instances that ended or
	// didn't start: see admit.
	unscoped Scope
	ends     atomic.Int64

	share *share.Share

	mu       sync.Mutex
	members  []*member // in the order of their starts
	starting int
	queue    []*waiter
	crowded  bool // a call was given to an instance that has another tenant's
	breaker  breaker
	tenants  map[string]*breaker // of the ends that requests caused, see suspects
	manifest *sdk.Manifest
	lastUsed time.Time // when the last call left; kept where idle is set

	starts, exits, kills, replacements, idlers int
	replaced                                   []replacement // within exitsWindow

	// latency counts the plugin's calls, in all of its pools together.
	latency *latencies
	// suspects are the requests that ended instances of this pool: with other variables the
	// plugin may answer them.
	suspects suspects
}

// waiter is a call that waits for a slot.
type waiter struct {
	granted chan grant // receives one
	tenant  string
	bytes   int  // of its request
	alone   bool // it must be the only call of its instance
}

// grant is slots of a member, or the reason why there are none.
type grant struct {
	member *member
	slots  int
	err    error
}

func newPool(p Installed, o *Options) *pool {
	p.Limits = p.Limits.WithDefaults(p.Runtime)
	p.Limits.Instances = max(1, p.Limits.Instances)
	open, stop := context.WithCancel(context.Background())
	made := &pool{plugin: p, options: o, open: open, close: stop, latency: &latencies{}}
	made.share = share.New(share.Options{Places: made.places(), Lasts: tenantLasts})
	return made
}

// acquire waits for a slot: a tenant's calls are served in their order, and tenants take turns.
// The caller must release the slot, and then its place.
func (p *pool) acquire(ctx context.Context, tenant string, bytes int, alone bool) (g grant, place func(), err error) {
	if ctx.Err() != nil {
		return grant{}, nil, p.gaveUp(ctx, "before the call began")
	}
	p.mu.Lock()
	slots := p.slots()
	p.mu.Unlock()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.open, cancel)()
	place, err = p.share.Take(waiting, tenant, int64(p.slotsOf(bytes, slots)))
	if err == nil {
		if g, err = p.enqueue(ctx, &waiter{granted: make(chan grant, 1), tenant: tenant, bytes: bytes, alone: alone}); err != nil {
			place()
		}
		return g, place, err
	}
	if ctx.Err() == nil {
		return grant{}, nil, errClosed()
	}
	return grant{}, nil, p.gaveUp(ctx, waitedForInstance)
}

const waitedForInstance = "while the call waited for an instance"

// enqueue waits for a slot, first come, first served.
func (p *pool) enqueue(ctx context.Context, w *waiter) (grant, error) {
	p.mu.Lock()
	if p.open.Err() != nil {
		p.mu.Unlock()
		return grant{}, errClosed()
	}
	p.queue = append(p.queue, w)
	p.dispatch()
	p.mu.Unlock()

	select {
	case g := <-w.granted:
		return g, g.err
	case <-ctx.Done():
		p.withdraw(w)
		return grant{}, p.gaveUp(ctx, waitedForInstance)
	}
}

// withdraw removes a waiter from the queue, or gives back the instance that it has
// received.
func (p *pool) withdraw(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, w); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		return
	}
	if g := <-w.granted; g.member != nil {
		p.free(g, w.tenant)
	}
}

// release gives the slots of a tenant's call back. answered is whether the instance answered
// the call, which began at a time.
func (p *pool) release(g grant, tenant string, answered bool, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered {
		p.breaker.answered(time.Now(), g.member.started)
		p.answeredTenant(tenant, began)
	}
	p.free(g, tenant)
}

func (p *pool) free(g grant, tenant string) {
	m := g.member
	if i := slices.Index(m.callers, tenant); i >= 0 {
		m.callers = slices.Delete(m.callers, i, i+1)
	}
	m.busy -= g.slots
	m.alone = false
	p.endRetired(m)
	p.tasks.Done()
	p.dispatch()
}

// dispatch gives free slots to waiting calls, and starts instances for the rest.
func (p *pool) dispatch() {
	for _, m := range p.members {
		if m.kept != nil && !slices.Contains(p.queue, m.kept) {
			m.kept = nil // who needed it has given up
		}
	}
	for i := 0; i < len(p.queue); {
		m := p.memberFor(p.queue[i])
		if m == nil {
			i++
			continue
		}
		w := p.queue[i]
		g := grant{member: m, slots: p.slotsOf(w.bytes, m.slots)}
		m.busy += g.slots
		m.calls++
		m.alone, m.kept = w.alone, nil
		m.callers = append(m.callers, w.tenant)
		p.tasks.Add(1)
		p.grantTo(i, g)
	}
	p.grow()
}

// memberFor finds a member for a call, if one is free: one that has calls of its tenant only, else
// an idle one, else any, which sets crowded. In a process, a short call would wait for each turn of
// another tenant's long ones; between processes, the system divides. For a call that must be alone
// on its instance, or that needs several slots, the least busy member takes no other calls until
// there is room.
func (p *pool) memberFor(w *waiter) *member {
	var best, idle, mixed *member
	needs := 1
	for _, m := range p.members {
		needs = p.slotsOf(w.bytes, m.slots)
		if w.alone {
			needs = m.slots
		}
		switch free := m.usable(w, needs); {
		case free && m.busy > 0 && m.only(w.tenant):
			return m
		case free && m.busy == 0 && idle == nil:
			idle = m
		case free && mixed == nil:
			mixed = m
		case !free && !m.alone && !m.ending() && (best == nil || m.busy < best.busy):
			best = m
		}
	}
	if idle != nil || mixed != nil {
		p.crowded = p.crowded || idle == nil
		return cmp.Or(idle, mixed)
	}
	if needs > 1 && best != nil && !slices.ContainsFunc(p.members, func(m *member) bool { return m.kept != nil }) &&
		len(p.members)+p.starting >= p.plugin.Limits.Instances {
		best.kept = w
	}
	return nil
}

// largeCall is the size, in bytes of config, state and output, from which a call takes more than one
// slot: smaller calls are what the number of slots is meant for.
const largeCall = 1 << 20

// slotsOf is how many of an instance's slots a call takes. All of them together are worth one
// message of the largest size, since an instance that has room for the largest message hasn't for
// one in each slot.
func (p *pool) slotsOf(bytes, slots int) int {
	if bytes <= largeCall {
		return 1
	}
	most := p.plugin.Limits.MessageBytes
	return min(slots, (bytes*slots+most-1)/most)
}

func (p *pool) grantNext(g grant) { p.grantTo(0, g) }

func (p *pool) grantTo(i int, g grant) {
	p.queue[i].granted <- g
	p.queue = slices.Delete(p.queue, i, i+1)
}

// grow starts an instance for each waiting call for which no start is under way, and one if calls
// of two tenants had to share an instance, as far as the limits and the breaker allow.
func (p *pool) grow() {
	crowded := p.crowded
	p.crowded = false
	for (len(p.queue) > p.starting*p.slots() || crowded && p.starting == 0) && len(p.members)+p.starting < p.plugin.Limits.Instances {
		delay, ok := p.breaker.admit(time.Now())
		if !ok {
			break
		}
		p.starting++
		p.tasks.Go(func() { p.start(delay) })
	}
	for len(p.queue) > 0 && len(p.members)+p.starting == 0 {
		p.grantNext(grant{err: p.breakerOpen(&p.breaker, "")})
	}
}

// described returns the plugin's manifest, if it is known and the pool is open.
func (p *pool) described() *sdk.Manifest {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open.Err() != nil {
		return nil
	}
	return p.manifest
}

// slots is how many calls an instance takes at a time.
func (p *pool) slots() int {
	switch {
	case p.plugin.Limits.Parallel > 0:
		return p.plugin.Limits.Parallel
	case p.manifest != nil && p.manifest.Parallel > 0:
		return p.manifest.Parallel
	}
	return 1
}

// places is how many calls all instances take at a time.
func (p *pool) places() int64 { return int64(p.plugin.Limits.Instances * p.slots()) }

// watch waits for a member's end, then removes it.
func (p *pool) watch(m *member) {
	p.attend(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	now, cause := time.Now(), m.Cause()
	switch {
	case m.asked || p.open.Err() != nil:
		p.breaker.stopped(now, m.started)
	case sdk.CodeOf(cause) == sdk.Exhausted: // the driver stopped it for a size
		p.kills++
		p.report(InstanceKilled)
		p.breaker.stopped(now, m.started)
	default:
		if cause == nil {
			cause = sdk.Errorf(sdk.Unavailable, "plugin_exited", "plugin %q exited by itself", p.plugin.Name)
		}
		p.exits++
		p.report(InstanceExited)
		switch {
		case m.busy == 0:
			p.breaker.exited(now, now.Sub(m.started), cause, p.options.Random())
		case len(m.callers) == 1: // otherwise the calls are repeated, each alone
			m.culprit = true
			p.blame(m.callers[0], now, now.Sub(m.started), cause)
		default:
			m.suspicious = true
			p.breaker.cause = cause
		}
	}
	p.members = slices.DeleteFunc(p.members, func(other *member) bool { return other == m })
	p.ends.Add(1)
	close(m.gone)
	p.dispatch()
}

// kill ends a member for a reason of the host, and waits for its end. It does nothing
// to a member that is gone or being killed.
//
// It reports whether it did.
func (p *pool) kill(m *member, reason error) bool {
	p.mu.Lock()
	if m.asked || m.done() {
		p.mu.Unlock()
		return false
	}
	m.asked = true
	p.kills++
	p.report(InstanceKilled)
	p.mu.Unlock()
	m.Kill(reason)
	return true
}

// shut closes the pool: calls that wait or run end with plugins_closed, idle
// instances are asked to end and busy ones killed. It waits for all of it.
func (p *pool) shut() error {
	if p.idle != nil {
		p.idle.Stop()
	}
	p.mu.Lock()
	p.close()
	for len(p.queue) > 0 {
		p.grantNext(grant{err: errClosed()})
	}
	errs := make([]error, len(p.members))
	for i, m := range p.members {
		switch {
		case m.asked: // it is being killed already
		case m.busy > 0:
			p.tasks.Go(func() { m.Kill(errClosed()) })
		default:
			p.tasks.Go(func() { errs[i] = m.Close() })
		}
		m.asked = true
	}
	p.mu.Unlock()
	p.tasks.Wait()
	return errors.Join(errs...)
}
