// Package outbound is how the host reaches other machines: through which proxies, and whom
// it trusts to sign their certificates.
//
// Both are the environment's to say (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE,
// SSL_CERT_DIR), and settings.llm.ca adds authorities. Everything that the host connects to
// for itself or for a plugin goes through one [Network], because a company's network lets nothing
// else through. What a plugin may reach is decided before, by core/plugin/guard.
//
// This machine is never reached through a proxy: the proxy would reach itself instead.
// The user and password in a proxy's URL are only sent to that proxy. No error, setting or
// log has them.
//
// It is internal to Reflectory: its API may change in any release.
package outbound
