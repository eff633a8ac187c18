package wire

// ProxyVariable names the environment variable that a plugin gets if it was granted
// network endpoints. Its value is the number of an inherited descriptor, a unix stream
// socket to the host's proxy. The plugin itself can't connect to anything. For each
// connection that it wants, the plugin
//
//	writes one byte                    to the descriptor
//	reads one byte with SCM_RIGHTS     from it: one end of a new socket, or
//	                                   none if too many are open
//	writes CONNECT host:port HTTP/1.1  to the new socket, with an empty line
//	reads HTTP/1.1 200 …               from it, and has the connection; with
//	                                   another status the body is an error in
//	                                   the form of package abi
//
// Since all these sockets are interchangeable, several threads may ask at once.
const ProxyVariable = "REFLECTORY_PROXY_FD"

// MaxProxyHead limits a request to the proxy, or a refusal by it, in bytes.
const MaxProxyHead = 8 << 10
