// Package workspace makes the folder that a program judges an attempt in: a fresh copy of an
// original, with the attempt written into it.
//
//	original ─► listed ─► copied ─► attempt checked, all of it ─► written ─► (the program runs) ─► report read
//
// The original belongs to the operator, but what is in it may have been changed by others; the
// attempt is hostile. So every file is reached through os.Root, which resolves names below an open
// folder and never leaves it. Nothing of an attempt is written before all of it was checked: a
// refused attempt names everything that is wrong with it, and leaves no trace.
//
// A test that judges a program is worth only as much as the files that an attempt can't change.
// Therefore an attempt changes what the workflow names and nothing else, new files and their kinds
// included, and what is closed stays closed however its name is written.
//
// The package starts no program. The caller owns the folder and removes it after the run.
//
// It is internal to Reflectory: its API may change in any release.
package workspace
