package web

import (
	"sync"
	"time"
)

// When something happens, every open page that follows it fetches its part again, all at the
// same moment. Pages of the same caller at the same address get the same part: it is begun a
// moment after the first page asks, for all pages that have asked until then. Pages that ask
// while a part is being made wait for the next part, which is made once for all of them. So no
// page gets a part that was begun before the page asked, and that could lack what has just
// happened.

// gather is that moment: long enough for all requests that an event causes to arrive, and too
// short to be noticed.
const gather = 15 * time.Millisecond

// parts makes parts of pages for simultaneous requests. It is safe for concurrent use.
type parts struct {
	mu sync.Mutex
	// making are the parts that are being made, by caller and address.
	making map[string]*pendingPart
}

// pendingPart is a part that is being made.
type pendingPart struct {
	// begun is whether it is too late to wait for it.
	begun bool
	done  chan struct{}
	text  []byte
	err   error
	// next is the part for requests that arrived after this part was begun; nil if none arrived.
	next *pendingPart
}

// get returns the result of a call of render that began after the call of get.
func (p *parts) get(key string, render func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	now := p.making[key]
	switch {
	case now == nil:
		m := &pendingPart{done: make(chan struct{})}
		if p.making == nil {
			p.making = map[string]*pendingPart{}
		}
		p.making[key] = m
		p.mu.Unlock()
		time.Sleep(gather) //nolint:forbidigo // what it waits for are requests that may never come
		return p.run(key, m, render)
	case !now.begun:
		p.mu.Unlock()
		return now.wait(render)
	case now.next == nil:
		m := &pendingPart{done: make(chan struct{})}
		now.next = m
		p.mu.Unlock()
		<-now.done
		return p.run(key, m, render)
	}
	next := now.next
	p.mu.Unlock()
	return next.wait(render)
}

// wait waits for a part that another request makes. If that fails, for example because its
// caller has gone, the part is made again.
func (m *pendingPart) wait(render func() ([]byte, error)) ([]byte, error) {
	<-m.done
	if m.err != nil || m.text == nil {
		return render()
	}
	return m.text, nil
}

// run makes a part, and wakes the requests that wait for it.
func (p *parts) run(key string, m *pendingPart, render func() ([]byte, error)) ([]byte, error) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.making, key); m.next != nil {
			p.making[key] = m.next
		}
		close(m.done)
	}()
	p.mu.Lock()
	m.begun = true
	p.mu.Unlock()
	m.text, m.err = render()
	return m.text, m.err
}
