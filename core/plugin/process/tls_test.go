//go:build linux

package process_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

func TestPluginAnswersItsHostOnly(t *testing.T) {
	dir := shortTempDir(t)
	i := start(t, process.Options{TempDir: dir}, self(t, "serve"))
	private, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(private) != 1 {
		t.Fatal(private, err)
	}
	info, err := os.Stat(private[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, want 0700 (%v)", info.Mode(), err)
	}
	sockets, err := filepath.Glob(filepath.Join(private[0], "plugin[0-9]*"))
	if err != nil || len(sockets) != 1 {
		t.Fatal(sockets, err)
	}
	for name, creds := range map[string]credentials.TransportCredentials{
		"plain text":          insecure.NewCredentials(),
		"without certificate": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
	} {
		conn, err := grpc.NewClient("unix:"+sockets[0], append(wire.DialOptions(), grpc.WithTransportCredentials(creds))...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if _, err := wire.NewClient(ctx, conn, wire.ClientOptions{}); err == nil {
			t.Errorf("%s: the plugin answered a stranger", name)
		}
		cancel()
		_ = conn.Close()
	}
	if _, err := evaluate(t, i, do("ok")); err != nil {
		t.Error(err)
	}
}

// Where no certificate tells who answers, the kernel does. Without a sandbox a plugin
// could lead the host to another program's socket by a link.
func TestAPluginServesItsOwnSocket(t *testing.T) {
	dir := shortTempDir(t)
	other, err := net.Listen("unix", filepath.Join(openDir(t), "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	o := process.Options{PlainText: true, TempDir: dir, Sandbox: sandbox.Off}
	_, err = process.New(o).Start(t.Context(), self(t, "borrowed", other.Addr().String()))
	wantError(t, err, sdk.Denied, "peer_denied", "probe", strconv.Itoa(os.Getpid()))
	wantEmpty(t, dir)
}

func TestGoPluginProgramWithItsOwnCertificate(t *testing.T) {
	for name, o := range map[string]process.Options{
		"tls": {Grace: time.Minute}, "plain text": {PlainText: true, Grace: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			i := start(t, o, self(t, "foreign"))
			pid := pidOf(t, i)
			if err := i.Close(); err != nil { // long before the grace is over
				t.Fatal(err)
			}
			wantNoGroup(t, pid)
		})
	}
}
