// Package surfaces tests the built program from outside, as its users see it. These are
// tests that take long, or need root or special tools. make test-surfaces sets them up and
// runs them; make test has smaller versions of them where that is possible.
//
// A surface is a file here. One that needs Debian's packages names them in debian.txt, and
// one that needs npm's pins them in package.json and package-lock.json next to it: the
// set-up installs both. A test that needs something that a machine doesn't have says so and
// is skipped.
package surfaces
