package guard

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// dialTimeout is how long one address may take to answer, so that a name whose first
// address is dead still connects.
const dialTimeout = 10 * time.Second

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to the endpoints of a list. It is safe for concurrent use.
type Dialer struct {
	List *List
	// Resolver finds addresses. Nil means net.DefaultResolver.
	Resolver Resolver
	// Through returns how to connect to an endpoint through the host's proxy, for URLs of a
	// scheme ("" if it isn't known); nil, or a nil result, means directly.
	Through func(scheme, host string, port int) func(context.Context) (net.Conn, error)
	// Roots are the authorities that [Dialer.Do] trusts; nil means the system's.
	Roots *x509.CertPool
}

// DialContext connects to addr, host:port, over tcp. It skips the addresses of a name
// that may not be dialled; if none is left, the error is that for the first address.
//
// A proxy finds the address of a name itself, so the host can't choose one. If the host can
// resolve the name too, none of its addresses may be refused; otherwise the name alone
// decides, which an operator granted.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.dial(ctx, "", network, addr)
}

func (d *Dialer) dial(ctx context.Context, scheme, network, addr string) (net.Conn, error) {
	host, port, err := split(addr)
	if err != nil {
		return nil, err
	}
	e, err := d.List.find(host, port)
	if err != nil {
		return nil, err
	}
	if d.Through != nil {
		if connect := d.Through(scheme, e.host, port); connect != nil {
			if err := d.allowsAll(ctx, e); err != nil {
				return nil, err
			}
			return connect(ctx)
		}
	}
	addrs, err := d.resolve(ctx, e)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		if err = e.allowsAddr(a); err != nil {
			errs = append(errs, err)
			continue
		}
		conn, err := dial(ctx, network, a, port)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, firstOf(e, errs)
}

// lookupTime is how long the name of an endpoint behind a proxy is looked up. Where only the
// proxy has names of the open internet, a resolver may never answer.
const lookupTime = time.Second

// allowsAll refuses an endpoint behind a proxy if one of its addresses, as far as this host
// knows them, may not be dialled.
func (d *Dialer) allowsAll(ctx context.Context, e endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addrs, err := d.resolve(ctx, e)
	if err != nil {
		return nil // the name alone decides
	}
	for _, a := range addrs {
		if err := e.allowsAddr(a); err != nil {
			return err
		}
	}
	return nil
}

func dial(ctx context.Context, network string, a netip.Addr, port int) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), strconv.Itoa(port)))
}

func (d *Dialer) resolve(ctx context.Context, e endpoint) ([]netip.Addr, error) {
	if e.addr.IsValid() {
		return []netip.Addr{e.addr}, nil
	}
	var resolver Resolver = net.DefaultResolver
	if d.Resolver != nil {
		resolver = d.Resolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", e.host)
	if err != nil {
		return nil, unreachable(e, err)
	}
	return addrs, nil
}

// firstOf prefers the error of an address that couldn't be reached to the error of a
// refused one: only the first kind was the plugin's to use.
func firstOf(e endpoint, errs []error) error {
	for _, err := range errs {
		if sdk.CodeOf(err) != sdk.Denied {
			return unreachable(e, err)
		}
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return unreachable(e, errors.New("the name has no address"))
}

func unreachable(e endpoint, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "network_unreachable", "%s could not be reached: %w",
		net.JoinHostPort(e.host, strconv.Itoa(e.port)), cause).
		WithHint("check the name and the network; a later call may succeed")
}
