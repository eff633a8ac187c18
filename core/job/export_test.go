package job

import "github.com/reflectory/reflectory/core"

// What tests of the layout see.
var (
	JobKey       = jobKey
	ContentKey   = contentKey
	ResultKey    = resultKey
	StepKey      = stepKey
	NumberKey    = shard("").numberKey
	ServedAllKey = shard("").servedKey
	ServedKey    = servedKey
	ForcedKey    = forcedKey
	HolderKey    = holderKey
	QueueKey     = queueKey
	CountKey     = shard("").countKey
	FinishedKey  = finishedKey
	ActiveKey    = activeKey
	RequestKey   = requestKey
	RunningKey   = runningKey
	TimeKey      = timeKey
	UserKey      = userKey
	EndKey       = endKey
	TookKey      = tookKey
	MemoryKey    = memoryKey
)

// NextReady finds the job that goes next.
func (r *Repository) NextReady(reader core.Reader, types []Type) (string, error) {
	at, err := r.turns.next(reader, "", types, standing{})
	_, id := parts(at.item)
	return id, err
}

// Notes is how many jobs this process moved that aren't known to be in their sets.
func (r *Repository) Notes() int { return len(r.turns.notes) }

// ReadyItem adds a job to what is ready, behind the queue's back.
func ReadyItem(tx core.Tx, t Type, served uint64, id string) error {
	return shard("").ready(t).add(tx, item(served, id))
}

// Ordered is a set of jobs, for tests of its own.
type Ordered = ordered

// Functions of sets.
func (s ordered) Add(tx core.Tx, order uint64, id string) error { return s.add(tx, item(order, id)) }
func (s ordered) Remove(tx core.Tx, order uint64, id string) error {
	return s.remove(tx, item(order, id))
}
func (s ordered) First(r core.Reader) (string, error) { return s.first(r) }
func (s ordered) All(r core.Reader) (items []string, err error) {
	err = s.each(r, func(item string) bool { items = append(items, item); return true })
	return items, err
}

// ReadyJobs are the ready jobs of a type.
var ReadyJobs = shard("").ready

// ShardFor is the shard of a queue, where jobs are divided.
func ShardFor(queue string) string { return string(shardFor(queue)) }

// DividedKey says that jobs are divided.
var DividedKey = dividedKey

// ShardNumberKey counts the jobs of a shard.
func ShardNumberKey(s string) []byte { return shard(s).numberKey() }

// ShardReady are the ready jobs of a type in a shard.
func ShardReady(s string, t Type) Ordered { return shard(s).ready(t) }

// Item is what a set has of a job.
var Item = item
