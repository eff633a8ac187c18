// Package judges tries the built program with judges that others wrote, unchanged, and with attempts that cheat.
// make test-judges sets it up and runs it.
//
// A judge is a file in catalogue/: its evaluator, the original, an attempt that it finds something in, one that is
// good, and the findings. A cheat is in cheats_list_test.go, with its honest twin. The table of docs/evaluators.md is written
// from what happened, with -update.
package judges
