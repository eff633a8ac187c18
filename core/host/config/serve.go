package config

import "github.com/reflectory/reflectory/core/access"

// serving are the settings for how others reach a server here. The server checks them together, when
// it is started.
func serving() []Definition {
	return []Definition{
		{
			Name: "serve_listen", Key: "serve.listen", Variable: "REFLECTORY_SERVE_LISTEN", Flag: "listen",
			Default: access.DefaultListen, Doc: "address of a server's HTTP, as host:port; port 0 takes a free one",
			field: func(c *Config) *Setting { return &c.Listen },
		}, {
			Name: "serve_tls_cert", Key: "serve.tls_cert", Variable: "REFLECTORY_SERVE_TLS_CERT", Flag: "tls-cert",
			Doc:   "file with a server's certificate in PEM, followed by its issuers' certificates; another user may own it, such as the program that renews it",
			field: func(c *Config) *Setting { return &c.TLSCert }, folder: true, foreign: true,
		}, {
			Name: "serve_tls_key", Key: "serve.tls_key", Variable: "REFLECTORY_SERVE_TLS_KEY", Flag: "tls-key",
			Doc:   "file of that certificate's key, in PEM",
			field: func(c *Config) *Setting { return &c.TLSKey }, folder: true, foreign: true,
		}, {
			Name: "serve_acme", Key: "serve.acme", Variable: "REFLECTORY_SERVE_ACME", Flag: "acme",
			Doc:   "name for which a server gets a certificate by ACME; port 443 of the name must reach the server",
			field: func(c *Config) *Setting { return &c.ACMEName },
		}, {
			Name: "serve_acme_directory", Key: "serve.acme_directory", Variable: "REFLECTORY_SERVE_ACME_DIRECTORY", Flag: "acme-directory",
			Doc:   "URL of the ACME authority's directory; without it, Let's Encrypt's",
			field: func(c *Config) *Setting { return &c.ACMEDirectory },
		}, {
			Name: "serve_tls_by_proxy", Key: "serve.tls_by_proxy", Variable: "REFLECTORY_SERVE_TLS_BY_PROXY", Flag: "tls-by-proxy",
			Doc:   "networks of the proxies that do TLS for a server, such as 10.1.2.3/32; in the variable, separated by commas",
			field: func(c *Config) *Setting { return &c.TLSByProxy }, kind: texts,
		}, {
			Name: "serve_hosts", Key: "serve.hosts", Variable: "REFLECTORY_SERVE_HOSTS", Flag: "host",
			Doc:   "names by which clients reach a server, in addition to the names in its certificate; in the variable, separated by commas",
			field: func(c *Config) *Setting { return &c.Hosts }, kind: texts,
		}, {
			Name: "gateway_when_unrecorded", Key: "gateway.when_unrecorded", Variable: "REFLECTORY_GATEWAY_WHEN_UNRECORDED",
			Default: "refuse", Words: []string{"refuse", "pass"},
			Doc:   "what happens with requests to models while the store can't write: they are refused, or served without a record, memories and learning",
			field: func(c *Config) *Setting { return &c.GatewayUnrecorded },
		},
	}
}

// ProxyList are the networks of TLSByProxy.
func (c *Config) ProxyList() []string { return list(c.TLSByProxy.Value) }

// HostList are the names of Hosts.
func (c *Config) HostList() []string { return list(c.Hosts.Value) }
