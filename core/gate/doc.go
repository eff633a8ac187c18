// Package gate is the 3-in-1 gate: it records evidence of what memories are worth, and
// uses it to decide whether a memory is kept, purged or promoted.
//
// There are three kinds of evidence. Outcomes of tool calls are recorded per memory and
// turn ([Evidence.RecordTools]), and form the ReAct lane. The graphs of workflows are
// recorded per workflow, only the newest graph of each ([Evidence.RecordDAG]), and form
// the Graph lane. What else is known about a memory ([Evidence.RecordOmega]) forms the
// Omega lane. Evidence holds names and references, never the content of memories. So it
// can be kept when a memory is purged, and the references of the decision can still be
// followed.
//
// [Gate.Decide] reads the evidence, asks the policy, and checks the conditions that every
// purge or promotion must meet, whatever the policy's verdict. It only decides, and
// writes nothing. [Explain] shows how a decision was made.
//
// It is internal to Reflectory: its API may change in any release.
package gate
