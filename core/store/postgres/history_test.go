package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

// A history is what the clients of several hosts did, with the times at which each call
// began and returned. It is strictly serializable if some order of the calls explains all
// that was read, in which a call that returned before another began comes first.

const (
	historyHosts, historyClients = 3, 2
	historyKeys                  = 3
)

// historyOp is a transaction or a view: it reads some of the keys, and writes some.
type historyOp struct {
	reads  [historyKeys]bool
	writes [historyKeys]int // 0: not written
}

// historyModel is the keys' values.
var historyModel = porcupine.Model{
	Init: func() any { return [historyKeys]int{} },
	Step: func(state, input, output any) (bool, any) {
		values, op, read := state.([historyKeys]int), input.(historyOp), output.([historyKeys]int)
		for i := range values {
			if op.reads[i] && read[i] != values[i] {
				return false, state
			}
			if op.writes[i] != 0 {
				values[i] = op.writes[i]
			}
		}
		return true, values
	},
}

// history has each client run some transactions, while backends are killed.
type history struct {
	// moment counts what happens: each begin and return of a call is after the ones that the
	// process saw before, which is all that an order needs.
	moment atomic.Int64

	mu   sync.Mutex
	list []porcupine.Operation
}

func key(i int) []byte { return []byte("key/" + strconv.Itoa(i)) }

// do runs one operation and records it.
func (h *history) do(s *postgres.Store, client int, op historyOp, view bool) error {
	var read [historyKeys]int
	run := func(r core.Reader) error {
		read = [historyKeys]int{}
		for i := range read {
			if !op.reads[i] {
				continue
			}
			value, _, err := r.Get(key(i))
			if err != nil {
				return err
			}
			read[i], _ = strconv.Atoi(string(value))
		}
		return nil
	}
	call := h.moment.Add(1)
	var err error
	if view {
		err = s.View(context.Background(), run)
	} else {
		err = s.Update(context.Background(), func(tx core.Tx) error {
			if err := run(tx); err != nil {
				return err
			}
			for i, n := range op.writes {
				if n == 0 {
					continue
				}
				if err := tx.Put(key(i), []byte(strconv.Itoa(n))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		if view {
			return nil // it was cut in the middle, and says nothing
		}
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, porcupine.Operation{
		ClientId: client, Input: op, Call: call, Output: read, Return: h.moment.Add(1),
	})
	return nil
}

// randomOp is a view, or a transaction that reads and writes at random.
func randomOp(random *rand.Rand, unique int) (op historyOp, view bool) {
	view = random.IntN(3) == 0
	for i := range historyKeys {
		op.reads[i] = random.IntN(2) == 0 || view
		if !view && random.IntN(2) == 0 {
			op.writes[i] = unique*historyKeys + i + 1
		}
	}
	return op, view
}

// runHistory records a history of some operations per client, and checks it.
func runHistory(t *testing.T, c *postgrestest.Cluster, operations int, change func(*postgres.Store)) porcupine.CheckResult {
	t.Helper()
	url := c.URL(t)
	h, seed := &history{}, rand.Uint64()
	stop := make(chan struct{})
	var clients, killer sync.WaitGroup
	for host := range historyHosts {
		s := open(t, postgres.Options{URL: url})
		change(s)
		for n := range historyClients {
			client := host*historyClients + n
			clients.Go(func() {
				random := rand.New(rand.NewPCG(uint64(client), seed))
				for i := range operations {
					op, view := randomOp(random, client*operations+i+1)
					if err := h.do(s, client, op, view); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	killer.Go(func() { killBackends(c, stop) })
	clients.Wait()
	close(stop)
	killer.Wait()
	return porcupine.CheckOperationsTimeout(historyModel, h.list, 10*time.Minute)
}

// killBackends ends a random backend every 60 ms.
func killBackends(c *postgrestest.Cluster, stop <-chan struct{}) {
	tick := time.NewTicker(60 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			_, _ = c.Try(`select pg_terminate_backend(pid) from pg_stat_activity
				where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1`)
		}
	}
}

func TestHistory_StrictlySerializable(t *testing.T) {
	c := shared.Cluster(t)
	for i := range rounds(1, 10) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := runHistory(t, c, rounds(40, 120), func(*postgres.Store) {}); got != porcupine.Ok {
				t.Errorf("the history is %s", got)
			}
		})
	}
}

// The check can fail: if commits use SERIALIZABLE transactions instead of the locks, a view
// can see the later of two commits without the earlier one. It may take a few
// histories, so it is a stress test.
func TestHistory_SerializableCommitsAreNotEnough(t *testing.T) {
	if rounds(0, 1) == 0 {
		return
	}
	c := shared.Cluster(t)
	for range 30 {
		if runHistory(t, c, 120, (*postgres.Store).CommitSerializable) == porcupine.Illegal {
			return
		}
	}
	t.Error("30 histories with SERIALIZABLE commits in the place of the locks are strictly serializable")
}
