package rate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/core/store/mem"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// perSecond and burst are the limits of most tests.
const perSecond, burst = 100, 200

// offClock shows another time than other hosts' clocks, and goes as fast.
type offClock time.Duration

func (c offClock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c)) }

// slowStore takes a random time for a transaction, before and after it is done.
type slowStore struct {
	core.Store
	updates int
	mu      sync.Mutex
}

func (s *slowStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.mu.Lock()
	s.updates++
	s.mu.Unlock()
	time.Sleep(rand.N(5 * time.Millisecond))
	err := s.Store.Update(ctx, fn)
	time.Sleep(rand.N(5 * time.Millisecond))
	return err
}

// meter is one bucket that everything admitted on all hosts is taken from: it fails if more is
// admitted in any time than one host would admit.
type meter struct {
	t     *testing.T
	burst float64
	mu    sync.Mutex
	left  float64
	at    time.Time
	count map[string]int
}

func newMeter(t *testing.T, burst float64) *meter {
	return &meter{t: t, burst: burst, left: burst, at: time.Now(), count: map[string]int{}}
}

func (m *meter) admit(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.left = min(m.burst, m.left+now.Sub(m.at).Seconds()*perSecond)
	m.at = now
	m.count[host]++
	if m.left--; m.left < -1e-6 {
		m.t.Fatalf("the hosts admit more than the limit: %v", m.count)
	}
}

// took is how many of a host were admitted since the last time.
func (m *meter) took(host string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.count[host]
	m.count[host] = 0
	return n
}

// client asks a host for a name, again and again.
type client struct {
	t       *testing.T
	limiter *rate.Limiter
	host    string
	meter   *meter
}

// ask asks at intervals until a time has passed.
func (c client) ask(every, during time.Duration) {
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(every) {
		wait, err := c.limiter.Take(c.t.Context(), "ada")
		switch {
		case err != nil:
			c.t.Error(err)
		case wait == 0:
			c.meter.admit(c.host)
		case wait > 2*time.Second:
			c.t.Errorf("%s has to wait for %v", c.host, wait)
		}
	}
}

// world is several hosts on one store, whose clocks are an hour apart.
func world(t *testing.T, hosts int) (clients []client, m *meter, s *slowStore) {
	m, s = newMeter(t, burst), &slowStore{Store: mem.Open()}
	for i := range hosts {
		host := fmt.Sprint("host-", i)
		clients = append(clients, client{t, rate.New(rate.Options{
			What: "requests", PerSecond: perSecond, Burst: burst, Store: s, Host: host, Clock: offClock(time.Duration(i-1) * time.Hour),
		}), host, m})
	}
	return clients, m, s
}

// TestLimiter_ManyHosts: several hosts are asked for ten times the limit. Over all of them it
// is never exceeded, and most of it is used.
func TestLimiter_ManyHosts(t *testing.T) {
	for _, hosts := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			clients, m, s := world(t, hosts)
			var all sync.WaitGroup
			for _, c := range clients {
				all.Go(func() { c.ask(time.Duration(hosts)*time.Millisecond, 30*time.Second) })
			}
			all.Wait()
			total := 0
			for _, n := range m.count {
				total += n
			}
			if total < 30*perSecond*8/10 {
				t.Errorf("%d hosts admit only %v in 30 s", hosts, m.count)
			}
			if s.updates > 30*40*hosts {
				t.Errorf("%d hosts made %d transactions in 30 s", hosts, s.updates)
			}
		})
	}
}

// TestLimiter_BusyAndIdle: a host on which a name is active now and then lets another have
// nearly all, and both write rarely.
func TestLimiter_BusyAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients, m, s := world(t, 2)
		var all sync.WaitGroup
		all.Go(func() { clients[0].ask(time.Millisecond, time.Minute) })
		all.Go(func() { clients[1].ask(3*time.Second, time.Minute) })
		all.Wait()
		if busy, idle := m.count["host-0"], m.count["host-1"]; busy < 60*perSecond*8/10 || idle == 0 {
			t.Errorf("the busy host admits %d in 60 s, the other %d", busy, idle)
		}
		s.updates = 0
		clients[0].ask(time.Second, time.Minute)
		if s.updates > 8 {
			t.Errorf("a request a second makes %d transactions in a minute", s.updates)
		}
	})
}

// TestLimiter_KilledHost: what a host had borrowed is lost with it for some seconds, and is
// there again afterwards. One that was only suspended uses nothing of it when it continues.
func TestLimiter_KilledHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients, m, _ := world(t, 3)
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() { c.ask(20*time.Millisecond, 5*time.Second) })
		}
		all.Wait()
		clients[1].ask(5*time.Millisecond, 12*time.Second) // the others are killed or suspended
		m.took("host-1")
		clients[1].ask(5*time.Millisecond, 10*time.Second)
		if n := m.took("host-1"); n < 10*perSecond*8/10 {
			t.Errorf("what the killed hosts had is lost: %d are admitted in 10 s", n)
		}
		for _, c := range []client{clients[0], clients[1]} {
			all.Go(func() { c.ask(time.Millisecond, 5*time.Second) })
		}
		all.Wait()
	})
}

// TestLimiter_Alone: a host that has its store alone counts by itself.
func TestLimiter_Alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, burst)
		c := client{t, rate.New(rate.Options{PerSecond: perSecond, Burst: burst}), "host", m}
		for range burst {
			if wait, err := c.limiter.Take(t.Context(), "ada"); wait > 0 || err != nil {
				t.Fatal("a burst is refused:", wait, err)
			}
			m.admit("host")
		}
		if wait, _ := c.limiter.Take(t.Context(), "ada"); wait != time.Second/perSecond {
			t.Errorf("after a burst the next has to wait for %v", wait)
		}
		if wait, _ := c.limiter.Take(t.Context(), "bob"); wait != 0 {
			t.Error("one name slows down another")
		}
		c.ask(time.Millisecond, 10*time.Second)
		if n := m.took("host"); n < burst+9*perSecond {
			t.Errorf("%d are admitted", n)
		}
	})
}

// TestLimiter_Unlimited neither counts nor writes.
func TestLimiter_Unlimited(t *testing.T) {
	s := &slowStore{Store: mem.Open()}
	l := rate.New(rate.Options{What: "requests", PerSecond: -1, Burst: -2, Store: s, Host: "a"})
	for range 1000 {
		if wait, err := l.Take(t.Context(), "ada"); wait != 0 || err != nil {
			t.Fatal(wait, err)
		}
	}
	if s.updates != 0 {
		t.Errorf("%d transactions", s.updates)
	}
}

// TestLimiter_SlowRate: one in three seconds is one in three seconds.
func TestLimiter_SlowRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, taken := mem.Open(), 0
		var hosts []*rate.Limiter
		for _, host := range []string{"a", "b"} {
			hosts = append(hosts, rate.New(rate.Options{What: "requests", PerSecond: 1.0 / 3, Burst: 1, Store: s, Host: host}))
		}
		for range 300 {
			for _, h := range hosts {
				if wait, err := h.Take(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				} else if wait == 0 {
					taken++
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if taken < 8 || taken > 11 {
			t.Errorf("%d are admitted in 30 s", taken)
		}
	})
}

// TestLimiter_ManyNames: what is forgotten for want of room may go on, and gets no more over
// several hosts.
func TestLimiter_ManyNames(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		l := rate.New(rate.Options{What: "requests", PerSecond: 1, Burst: 1, Store: mem.Open(), Host: "a"})
		again := 0
		for round := range 2 {
			for i := range 10_100 {
				wait, err := l.Take(t.Context(), fmt.Sprint(i))
				if err != nil {
					t.Fatal(err)
				}
				if round > 0 && wait == 0 {
					again++
				}
			}
		}
		if again > 0 || l.Names() > 10_000 {
			t.Errorf("%d names got more than the limit, and %d are remembered", again, l.Names())
		}
	})
}

// TestLimiter_Failure: a store that can't be written admits nothing, and one whose record is
// damaged admits something again after a window.
func TestLimiter_Failure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		l := rate.New(rate.Options{What: "requests", PerSecond: 10, Burst: 20, Store: s, Host: "a"})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Take(ended, "ada"); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended call: %v", err)
		}
		for _, value := range []string{"{", `{"window":0,"left":9,"room":0}`, `{"window":3,"left":9,"room":1,"parts":{"b":{"window":4,"amount":1}}}`} {
			damage(t, s, value)
			if problems := check(t, s); problems != 1 {
				t.Errorf("%s: %d problems", value, problems)
			}
			l := rate.New(rate.Options{What: "requests", PerSecond: 10, Burst: 20, Store: s, Host: "a"})
			if wait, err := l.Take(t.Context(), "ada"); wait <= 0 || err != nil {
				t.Errorf("%s: %v %v", value, wait, err)
			}
			time.Sleep(time.Second)
			if wait, err := l.Take(t.Context(), "ada"); wait != 0 || err != nil || check(t, s) != 0 {
				t.Errorf("%s, a second later: %v %v", value, wait, err)
			}
		}
		damage(t, s, "[]")
		if err := rate.Checker().Rebuild(t.Context(), s); err != nil || check(t, s) != 0 {
			t.Error("a repair leaves a damaged record:", err)
		}
	})
}

func damage(t *testing.T, s core.Store, value string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("rate/requests/ada"), []byte(value)) }); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, s core.Store) (problems int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return rate.Checker().Check(t.Context(), r, func(p core.Problem) {
			if problems++; !p.Rebuildable || !strings.HasPrefix(p.Key, "rate/") {
				t.Errorf("%+v", p)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems
}
