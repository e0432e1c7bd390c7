package main

import (
	"flag"
	"log"
	"time"
)

type options struct {
	address, kind, trusted, jwt, jwtKeys                          string
	connections, streams, count, batch, open, parts, ahead, users int
	seconds, warm, rate                                           float64
	requests                                                      int64
	overTLS, multiplex, jwtNew                                    bool
}

func readOptions() *options {
	o := new(options)
	flag.StringVar(&o.address, "address", "127.0.0.1:8080", "host and port of the service")
	flag.StringVar(&o.kind, "kind", "resolve", "hello, resolve, register, new, batch, feedback, short, start, full-N or life; "+
		"keys makes keys for JWTs, and prints the set of the public ones")
	flag.IntVar(&o.connections, "connections", 64, "connections")
	flag.BoolVar(&o.overTLS, "tls", false, "TLS 1.3 and HTTP/1.1")
	flag.BoolVar(&o.multiplex, "h2", false, "TLS 1.3 and HTTP/2")
	flag.IntVar(&o.streams, "streams", 1, "requests under way on each connection of HTTP/2")
	flag.StringVar(&o.trusted, "trust", "", "the certificates that are trusted, in PEM")
	flag.Float64Var(&o.seconds, "seconds", 5, "how long to measure")
	flag.Float64Var(&o.warm, "warm", 1, "seconds before, which do not count")
	flag.Int64Var(&o.requests, "requests", 0, "how many requests to measure instead of how long, without warming; 0 is by time")
	flag.Float64Var(&o.rate, "rate", 0, "requests a second in all; 0 is as fast as it goes")
	flag.IntVar(&o.count, "count", 1000000, "activities in the database; new ones are numbered from there on")
	flag.IntVar(&o.batch, "batch", 100, "aliases or reports a request")
	flag.IntVar(&o.open, "open", 10000, "activities of the kind life that run at the same time")
	flag.IntVar(&o.parts, "parts", 1, "equal parts of the time whose latencies are told apart")
	flag.StringVar(&o.jwt, "jwt", "", "es256 or rs256: users call by JWTs; else BENCH_KEY is the key")
	flag.StringVar(&o.jwtKeys, "jwt-keys", "", "the private keys of the JWTs' issuer, in PEM")
	flag.BoolVar(&o.jwtNew, "jwt-new", false, "each request has a JWT of its own; else each connection has one")
	flag.IntVar(&o.ahead, "jwt-ahead", 20000, "JWTs that are signed before the load begins, of -jwt-new")
	flag.IntVar(&o.users, "users", 64, "users among whom the activities are divided")
	flag.Parse()
	if !o.multiplex {
		o.streams = 1
	} else if o.rate > 0 && o.streams > 1 {
		log.Fatal("a rate is kept with one stream a connection alone")
	}
	return o
}

func (o *options) plan() *plan {
	by := newCallers(o.jwt, o.jwtKeys, o.users)
	if o.jwtNew {
		by.signAhead(o.connections, o.ahead/o.connections)
	}
	return &plan{kind: o.kind, count: o.count, batch: o.batch, open: o.open, connections: o.connections, callers: by}
}

func (o *options) dialer(deadline time.Time) *dialer {
	d := &dialer{address: o.address, streams: o.streams, deadline: deadline}
	protocol := "http/1.1"
	if o.multiplex {
		protocol = "h2"
	} else if !o.overTLS {
		return d
	}
	var err error
	if d.security, err = securityOf(o.trusted, protocol); err != nil {
		log.Fatal(err)
	}
	return d
}

func (o *options) span(first time.Time) span {
	if o.requests > 0 {
		return span{first, first.Add(time.Hour)}
	}
	start := first.Add(duration(o.warm))
	return span{start, start.Add(duration(o.seconds))}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
