package rate

// Names is how many names a limiter remembers.
func (l *Limiter) Names() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.each)
}
