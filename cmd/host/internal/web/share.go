package web

import "sync"

// When something happens, all pages that follow it fetch their part again at the same
// moment. Pages of the same caller at the same address get the same part: requests that
// arrive while a part is being made wait for the next one, which is made once for all of
// them. So nobody gets a part that was begun before the request, which could lack the
// newest change.

// parts makes parts of pages for simultaneous requests. It is safe for concurrent use.
type parts struct {
	mu sync.Mutex
	// making are the parts that are being made, by caller and address.
	making map[string]*making
}

// making is a part that is being made.
type making struct {
	done chan struct{}
	text []byte
	err  error
	// next is the part for requests that arrived since this one was begun; nil if none did.
	next *making
}

// get returns the result of a call of render that began after the call of get.
func (p *parts) get(key string, render func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	now := p.making[key]
	switch {
	case now == nil:
		m := &making{done: make(chan struct{})}
		if p.making == nil {
			p.making = map[string]*making{}
		}
		p.making[key] = m
		p.mu.Unlock()
		return p.run(key, m, render)
	case now.next == nil:
		m := &making{done: make(chan struct{})}
		now.next = m
		p.mu.Unlock()
		<-now.done
		return p.run(key, m, render)
	}
	m := now.next
	p.mu.Unlock()
	<-m.done
	if m.err != nil || m.text == nil { // for example because the request that made it was cancelled
		return render()
	}
	return m.text, nil
}

// run makes a part, and wakes the requests that wait for it.
func (p *parts) run(key string, m *making, render func() ([]byte, error)) ([]byte, error) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.making, key); m.next != nil {
			p.making[key] = m.next
		}
		close(m.done)
	}()
	m.text, m.err = render()
	return m.text, m.err
}
