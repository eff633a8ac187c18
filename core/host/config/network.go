package config

import (
	"github.com/reflectory/reflectory/core/outbound"
	"github.com/reflectory/reflectory/sdk"
)

// network are the settings for how other machines are reached. Most are the environment's, in
// the form in which other programs read it too.
func network() []Definition {
	return []Definition{
		{
			Name: "https_proxy", Variable: "HTTPS_PROXY", Others: []string{"https_proxy"},
			Doc:   "proxy through which https is reached: http, https or socks5; this machine is always reached directly",
			field: func(c *Config) *Setting { return &c.HTTPSProxy }, check: checkProxy, shown: outbound.Shown,
		}, {
			Name: "http_proxy", Variable: "HTTP_PROXY", Others: []string{"http_proxy"},
			Doc:   "proxy through which http is reached",
			field: func(c *Config) *Setting { return &c.HTTPProxy }, check: checkProxy, shown: outbound.Shown,
		}, {
			Name: "no_proxy", Variable: "NO_PROXY", Others: []string{"no_proxy"},
			Doc:   "what is reached without a proxy: names (with the names below them), addresses and blocks of addresses, each with a port or without, separated by commas; * is everything",
			field: func(c *Config) *Setting { return &c.NoProxy },
		}, {
			Name: "ssl_cert_file", Variable: "SSL_CERT_FILE",
			Doc:   "file of the authorities that sign certificates, instead of the system's",
			field: func(c *Config) *Setting { return &c.CertFile }, folder: true,
		}, {
			Name: "ssl_cert_dir", Variable: "SSL_CERT_DIR",
			Doc:   "folders of such files, separated by colons, instead of the system's",
			field: func(c *Config) *Setting { return &c.CertDir }, folder: true, contents: true, several: true,
		}, {
			Name: "llm_ca", Key: "settings.llm.ca", Variable: "REFLECTORY_LLM_CA",
			Doc:   "PEM file of authorities that sign the certificates of models' endpoints, in addition to the system's",
			field: func(c *Config) *Setting { return &c.LLMCA }, folder: true,
		},
	}
}

// checkProxy checks the URL of a proxy. Its fault never has the value, which may have a
// password.
func checkProxy(value string) *fault {
	err := outbound.CheckProxy(value)
	if err == nil {
		return nil
	}
	return of(err, sdk.AsError(err).Hint)
}

// openNetwork makes the network of the settings. Settings show proxies without their
// passwords, so these are read again.
func (l *loader) openNetwork(c *Config) *outbound.Network {
	n, err := outbound.New(outbound.Options{
		HTTPSProxy: l.secrets["https_proxy"], HTTPProxy: l.secrets["http_proxy"], NoProxy: c.NoProxy.Value,
		CertFile: c.CertFile.Value, CertDir: c.CertDir.Value, CA: c.LLMCA.Value,
	})
	if err != nil { // these were checked
		n, _ = outbound.New(outbound.Options{})
	}
	return n
}
