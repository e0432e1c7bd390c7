package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"time"
)

// A link carries requests over one connection, one or several at a time. It is used by one goroutine alone.
type link interface {
	// begin sends a request that was due at a time.
	begin(r *request, due time.Time) error
	// finish waits until any of the requests under way is answered. An error is the end of all of them.
	finish() (exchange, error)
	close()
}

// An exchange is a request with its answer.
type exchange struct {
	request *request
	due     time.Time
	// Of the answer; 0 where there was none.
	status int
	// Kept only where the request says that it may be refused in part.
	answer []byte
}

// A dialer opens links of one kind.
type dialer struct {
	address string
	// Nil for plain HTTP.
	security *tls.Config
	streams  int
	// After it nothing is waited for any more.
	deadline time.Time
}

// securityOf trusts the certificates of a file alone, and speaks TLS 1.3.
func securityOf(trusted, protocol string) (*tls.Config, error) {
	certificates, err := os.ReadFile(trusted)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, errors.New("no certificate in " + trusted)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}}, nil
}

func (d *dialer) dial() (link, error) {
	socket, err := net.DialTimeout("tcp", d.address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	socket.SetDeadline(d.deadline)
	if d.security == nil {
		return newConnection(socket, d.address), nil
	}
	configuration := d.security.Clone()
	configuration.ServerName, _, _ = net.SplitHostPort(d.address)
	secure := tls.Client(socket, configuration)
	if err := secure.Handshake(); err != nil {
		socket.Close()
		return nil, err
	}
	switch protocol := secure.ConnectionState().NegotiatedProtocol; {
	case protocol != configuration.NextProtos[0]:
		socket.Close()
		return nil, errors.New("the service does not speak " + configuration.NextProtos[0])
	case protocol == "h2":
		return newMultiplexed(secure, d.address, d.streams)
	}
	return newConnection(secure, d.address), nil
}
