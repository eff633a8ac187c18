//go:build stress

package inject_test

// references is how many random inputs the assembly and its reference are compared on.
const references = 20_000
