package main

import (
	"encoding/hex"
	"fmt"
	"math/rand"
	"strings"
	"sync/atomic"
	"time"
)

// A maker writes the next request of a kind; each connection has one of its own.
type maker func(random *rand.Rand) *request

const app = "/v1/apps/com.example.food/sandbox"

// newest counts what all connections have begun.
var newest atomic.Int64

// A plan is what the requests of all connections are about.
type plan struct {
	kind string
	// Activities `a-1` to `a-<count>`, each under the alias (orderId, `o-<n>`); of the kinds in things.go, how many names or
	// installations there are.
	count int
	// Aliases or reports a request.
	batch int
	// Activities of the kind `life` that run at the same time.
	open        int
	connections int
	callers     *callers
}

// maker makes the load of a connection. Reports of different connections have no tokens in common: whoever pushes to one
// hears of it.
func (p *plan) maker(connection int) maker {
	make, by := p.makerOf(connection), p.callers.of(connection)
	return func(random *rand.Rand) *request {
		r := make(random)
		r.authorization, r.isSignedAnew = by.next(), by.isSignedAnew
		return r
	}
}

func (p *plan) makerOf(connection int) maker {
	if size := 0; strings.HasPrefix(p.kind, "full-") {
		if _, err := fmt.Sscanf(p.kind, "full-%d", &size); err == nil {
			return p.fullState(size)
		}
	}
	switch p.kind {
	case "hello":
		return func(*rand.Rand) *request { return get("/livez") }
	case "resolve":
		return func(random *rand.Rand) *request {
			return get(fmt.Sprintf("%s/aliases/orderId/o-%d/activities", app, 1+random.Intn(p.count)))
		}
	case "register":
		return func(random *rand.Rand) *request { return registration(random, p.known(random, connection)) }
	case "new":
		return func(random *rand.Rand) *request { return registration(random, int64(p.count)+newest.Add(1)) }
	case "batch":
		return p.aliases
	case "feedback":
		return func(random *rand.Rand) *request { return p.reports(random, connection) }
	case "short":
		return p.short
	case "start":
		return p.startToken
	case "life":
		return p.life(connection)
	}
	panic("no such kind of load: " + p.kind)
}

// known is the number of an activity that may be registered by the connection: a user's own.
func (p *plan) known(random *rand.Rand, connection int) int64 {
	if p.callers.algorithm == "" {
		return 1 + random.Int63n(int64(p.count))
	}
	users := p.callers.users
	number := random.Intn(p.count/users)*users + p.callers.userOf(connection)
	if number == 0 {
		number = users
	}
	return int64(number)
}

func registration(random *rand.Rand, number int64) *request {
	return send("PUT", fmt.Sprintf("%s/activities/a-%d", app, number),
		`{"token":"%s","observedAt":"%s","aliases":{"orderId":"o-%d"}}`, newToken(random), now(), number)
}

func (p *plan) aliases(random *rand.Rand) *request {
	aliases := make([]string, p.batch)
	for index := range aliases {
		aliases[index] = fmt.Sprintf(`{"kind":"orderId","value":"o-%d"}`, 1+random.Intn(p.count))
	}
	return send("POST", app+"/resolve", `{"aliases":[%s]}`, strings.Join(aliases, ","))
}

func (p *plan) reports(random *rand.Rand, connection int) *request {
	reports := make([]string, p.batch)
	for index := range reports {
		reports[index] = fmt.Sprintf(`{"token":"%s","status":410,"reason":"Unregistered","timestamp":%d}`,
			seededToken(1+connection+p.connections*random.Intn(p.count/p.connections)), time.Now().UnixMilli())
	}
	return send("POST", app+"/feedback", `{"reports":[%s]}`, strings.Join(reports, ","))
}

func newToken(random *rand.Rand) string {
	token := make([]byte, 80)
	random.Read(token)
	return hex.EncodeToString(token)
}

// seededToken is the token that seed.sql gives an activity.
func seededToken(number int) string { return fmt.Sprintf("%016x", number) + strings.Repeat("ab", 72) }

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
