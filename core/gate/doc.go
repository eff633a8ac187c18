// Package gate is the 3-in-1 gate: it records evidence of what memories are worth, and
// uses it to decide whether a memory is kept, purged or promoted.
//
// There are three kinds of evidence. Outcomes of tool calls are recorded per memory and
// turn ([Evidence.RecordTools]), and make the ReAct lane. The graphs of workflows are
// recorded per workflow, only the newest of each ([Evidence.RecordDAG]), and make the
// Graph lane. What else is known about a memory ([Evidence.RecordOmega]) makes the Omega
// lane. Evidence holds names and references, never the content of memories, so it
// may stay when a memory is purged: the references of the decision then still lead
// somewhere.
//
// [Gate.Decide] reads the evidence, asks the policy, and checks the conditions that every
// purge or promotion must meet, whatever a policy says. It only decides, and writes
// nothing. [Explain] shows how a decision was made.
package gate
