// Package surfaces tests the built program from outside, as its users meet it: what takes
// long, needs root or tools of its own. make test-surfaces sets it up and runs it; make test
// has the same in small wherever it can be.
//
// A surface is a file here. One that needs Debian's packages names them in debian.txt, and
// one that needs npm's pins them in package.json and package-lock.json beside it: the set-up
// installs both. A test that needs what a machine hasn't says so and is skipped.
package surfaces
