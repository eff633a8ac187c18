package sandbox

import "golang.org/x/sys/unix"

// auditArch is the architecture whose numbers the filter knows.
const auditArch = unix.AUDIT_ARCH_AARCH64

// olderCalls are none: this architecture began without them.
func olderCalls(rules) []refusal { return nil }

// olderConditions are none either.
func olderConditions() []condition { return nil }
