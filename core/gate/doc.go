// Package gate is the 3-in-1 gate: it keeps evidence of what memories
// are worth, and decides from it whether a memory is kept, purged or promoted.
//
// Evidence is of two kinds. Outcomes of tool calls are kept per memory and turn
// ([Evidence.RecordTools]), and make the ReAct lane. The graphs of workflows are
// kept per workflow, the newest of each ([Evidence.RecordDAG]), and make the
// Graph lane. Evidence holds names and references, never the content of
// memories, so it may stay when a memory is purged: the decision's references
// then still lead somewhere.
//
// [Gate.Decide] reads the evidence, asks the policy, and checks what a purge or
// promotion needs whatever a policy says. It only decides and writes nothing.
// [Explain] shows how a decision came about.
package gate
