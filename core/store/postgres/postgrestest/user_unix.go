//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// The server refuses to run as root, so root runs it as postgres, or else as nobody.

// serverUser is the user and group that the server runs as; ok is false if that is
// simply the user of the test.
func serverUser() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}

func chown(dir string) error {
	if uid, gid, ok := serverUser(); ok {
		return os.Chown(dir, uid, gid)
	}
	return nil
}

func asUser(cmd *exec.Cmd) {
	if uid, gid, ok := serverUser(); ok {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}
