package job

import (
	"context"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// What a pool's running jobs mean for the next one: which types have free workers, which users and
// tenants have had their share, and whether a suspect may run.

// free are the types of which a job may start now.
func (p *Pool) free() (types []Type) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used, runs := map[Type]int{}, 0
	for j := range p.running {
		if j.Type == Workflow {
			runs++
		}
		if j.waits == 0 {
			used[j.Type]++
		}
	}
	workers := p.options.Workers - (len(p.running) - runs)
	for _, t := range Types() {
		if p.options.Handlers[t] == nil {
			continue
		}
		bound, bounded := p.options.PerType[t]
		switch {
		case bounded && used[t] >= bound:
		case t == Workflow && used[t] < p.options.Runs && runs < maxWaiting*p.options.Runs, t.Queued() && workers > 0:
			types = append(types, t)
		}
	}
	return types
}

// full reports for which users and namespaces no further workflow may start; nil means for none.
func (p *Pool) full() func(user, namespace string) bool {
	perUser, perNamespace := p.options.RunsPerUser, p.options.RunsPerNamespace
	if perUser == 0 && perNamespace == 0 {
		return nil
	}
	users, namespaces := map[string]int{}, map[string]int{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for j := range p.running {
		if j.Type == Workflow {
			users[j.UserID]++
			namespaces[j.Namespace]++
		}
	}
	return func(user, namespace string) bool {
		return perUser > 0 && users[user] >= perUser || perNamespace > 0 && namespaces[namespace] >= perNamespace
	}
}

// suspect reports whether a suspect runs.
func (p *Pool) suspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for j := range p.running {
		if j.suspect {
			return true
		}
	}
	return false
}

// crowded reports how tenants stand with the workers for jobs of a type.
func (p *Pool) crowded(t Type, tenant string) (half, others bool) {
	return p.shares[t.Queued()].Standing(tenant)
}

// maxWaiting is how many times the runs that are worked on at once may have begun: the others wait, as for a
// model, and need memory only.
const maxWaiting = 4

type jobInContext struct{}

// Waits says that the workflow in whose handler's context it is called waits for something that others
// have, such as a model. Until back is called, it has no worker, so that another one is begun. It does
// nothing for other jobs, and where there is no job. When it goes on, one more may be worked on than there
// are workers.
func Waits(ctx context.Context) (back func()) {
	j, _ := ctx.Value(jobInContext{}).(*Running)
	if j == nil || j.Type != Workflow {
		return func() {}
	}
	p := j.pool
	p.mu.Lock()
	j.waits++
	j.place.Free()
	j.place = nil
	p.mu.Unlock()
	p.jobs.listeners.wake()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if j.waits--; j.waits == 0 {
			p.hold(j)
		}
	})
}

// hold counts a job for its tenant's share of the workers. The lock is held. A job that goes on after it
// waited may find none free.
func (p *Pool) hold(j *Running) {
	j.place = p.shares[j.Type.Queued()].Hold(core.Tenant(j.Namespace), false, func() bool { return false })
}
