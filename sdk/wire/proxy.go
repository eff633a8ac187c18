package wire

// ProxyVariable names the environment variable that a plugin finds when it was
// granted endpoints of the network: the number of a descriptor, inherited, that
// is a unix stream socket to the host's proxy. The plugin itself can't connect
// to anything. For each connection that it wants it
//
//	writes one byte                    to the descriptor
//	reads one byte with SCM_RIGHTS     from it: one end of a new socket, or
//	                                   none where too many are open
//	writes CONNECT host:port HTTP/1.1  to the new socket, with an empty line
//	reads HTTP/1.1 200 …               from it, and has the connection; with
//	                                   another status the body is an error as
//	                                   package abi has it
//
// Since all sockets are alike, several threads may ask at once.
const ProxyVariable = "REFLECTORY_PROXY_FD"

// MaxProxyHead bounds a request or a refusal of the proxy, in bytes.
const MaxProxyHead = 8 << 10
