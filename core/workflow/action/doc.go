// Package action is what the nodes of a workflow do: the specs that a workflow file is
// loaded into, and [Actions], which runs them.
//
// A node's action is data ([LoopSpec], [EvaluateSpec], [CorrectSpec], [CallSpec],
// [MemorySpec]). Its [Step]s name plugins and their configs, with templates as [Value]s;
// [Actions] makes an sdk.Generator, sdk.Evaluator or sdk.Corrector from each step,
// renders its config for every call, and runs the node: a loop with core/loop, everything
// else here. The runner of core/workflow decides which node is next and keeps its result;
// it knows no plugins.
//
// It is internal to Reflectory: its API may change in any release.
package action
