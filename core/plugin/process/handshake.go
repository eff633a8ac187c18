package process

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire"
)

// maxHandshake bounds the handshake line: its largest part is a certificate.
const maxHandshake = 8 << 10

// printedCert is the length from which go-plugin treats the sixth field of its handshake
// as a certificate.
const printedCert = 50

// checkHandshake checks the line CORE|PROTOCOL|NETWORK|ADDRESS|grpc|CERT before go-plugin
// does, because go-plugin's messages don't help a user, and it crashes on a certificate
// that it didn't expect.
func checkHandshake(plugin, line string, secure bool) error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[0] != "1" {
		return handshakeInvalid(plugin, "%s, where go-plugin's handshake was due", strconv.Quote(logs.Cut(line, 200)))
	}
	version, err := strconv.Atoi(parts[1])
	switch {
	case err != nil:
		return handshakeInvalid(plugin, "the protocol version %q", logs.Cut(parts[1], 50))
	case version != wire.ProtocolVersion:
		return check.ContractMismatch(plugin, "protocol", wire.ProtocolVersion, version)
	case parts[4] != "grpc":
		return handshakeInvalid(plugin, "the transport %q, where only grpc is spoken", logs.Cut(parts[4], 50))
	case !secure && len(parts) > 5 && len(parts[5]) > printedCert:
		return handshakeInvalid(plugin, "a certificate, although TLS is off")
	}
	return nil
}

func handshakeInvalid(plugin, format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "handshake_invalid", "plugin %s began its standard output with "+format,
		append([]any{plugin}, args...)...).
		WithHint("a plugin must print nothing on standard output before its handshake; write logs to standard error")
}

// checkAddress allows only a socket in the instance's private folder, so that a plugin
// can't make the host connect elsewhere. On systems where go-plugin has no unix sockets
// it uses the loopback interface.
func checkAddress(plugin, dir, network, address string) error {
	if runtime.GOOS == "windows" && network == "tcp" && strings.HasPrefix(address, "127.0.0.1:") {
		return nil
	}
	rel, err := filepath.Rel(dir, address)
	if network != "unix" || err != nil || !filepath.IsLocal(rel) {
		return sdk.Errorf(sdk.Denied, "address_denied",
			"plugin %s wants to be reached at %s %q, outside its own folder", plugin, network, logs.Cut(address, 200)).
			WithHint("listen in the folder that PLUGIN_UNIX_SOCKET_DIR names")
	}
	return nil
}
