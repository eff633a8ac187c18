package job

// What a pool's running jobs mean for the next one: which types have free workers, which users and
// tenants have had their share, and whether a suspect may run.

// free are the types of which a job may start now.
func (p *Pool) free() (types []Type) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := map[Type]int{}
	for j := range p.running {
		used[j.Type]++
	}
	workers := p.options.Workers - (len(p.running) - used[Workflow])
	for _, t := range Types() {
		if p.options.Handlers[t] == nil {
			continue
		}
		bound, bounded := p.options.PerType[t]
		switch {
		case bounded && used[t] >= bound:
		case t == Workflow && used[t] < p.options.Runs, t.Queued() && workers > 0:
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
