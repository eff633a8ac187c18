package web

import "sync"

// When something happens, every page that follows it fetches its part again, all at the same
// moment. Pages of the same caller at the same address get the same part: those that ask while
// one is being made wait for the next, which is made once for all of them. So nobody gets a
// part that was begun before they asked, which could lack what they ask for.

// parts makes parts of pages for those who ask at once. It is safe for concurrent use.
type parts struct {
	mu sync.Mutex
	// making are the parts that are being made, by what they are of.
	making map[string]*making
}

// making is a part that is being made.
type making struct {
	done chan struct{}
	text []byte
	err  error
	// next is for those who came since it was begun; nil if nobody did.
	next *making
}

// get returns what render gives, called after get was.
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
	if m.err != nil || m.text == nil { // such as that who made it has gone
		return render()
	}
	return m.text, nil
}

// run makes a part, and lets those go on who wait for it.
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
