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
type maker func(random *rand.Rand) []byte

const app = "/v1/apps/com.example.food/sandbox"

// newest counts the activities that all connections have begun.
var newest atomic.Int64

// makerOf makes the load of a connection, over activities `a-1` to `a-<count>`, each under the alias (orderId, `o-<n>`).
// Reports of connections, of which there are `connections`, have no tokens in common: whoever pushes to one hears of it.
func makerOf(kind, host, key string, count, batch, connection, connections int) maker {
	authorization := ""
	if key != "" {
		authorization = "Authorization: Bearer " + key + "\r\n"
	}
	get := func(path string) []byte {
		return []byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + authorization + "\r\n")
	}
	send := func(method, path, body string) []byte {
		return []byte(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			method, path, host, authorization, len(body), body))
	}
	switch kind {
	case "hello":
		return func(*rand.Rand) []byte { return get("/livez") }
	case "resolve":
		return func(random *rand.Rand) []byte {
			return get(fmt.Sprintf("%s/aliases/orderId/o-%d/activities", app, 1+random.Intn(count)))
		}
	case "register", "new":
		return func(random *rand.Rand) []byte {
			var number int64
			if kind == "new" {
				number = int64(count) + newest.Add(1)
			} else {
				number = 1 + random.Int63n(int64(count))
			}
			return send("PUT", fmt.Sprintf("%s/activities/a-%d", app, number), fmt.Sprintf(
				`{"token":"%s","observedAt":"%s","aliases":{"orderId":"o-%d"}}`,
				newToken(random), time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), number))
		}
	case "batch":
		return func(random *rand.Rand) []byte {
			aliases := make([]string, batch)
			for index := range aliases {
				aliases[index] = fmt.Sprintf(`{"kind":"orderId","value":"o-%d"}`, 1+random.Intn(count))
			}
			return send("POST", app+"/resolve", `{"aliases":[`+strings.Join(aliases, ",")+`]}`)
		}
	case "feedback":
		return func(random *rand.Rand) []byte {
			reports := make([]string, batch)
			for index := range reports {
				reports[index] = fmt.Sprintf(`{"token":"%s","status":410,"reason":"Unregistered","timestamp":%d}`,
					seededToken(1+connection+connections*random.Intn(count/connections)), time.Now().UnixMilli())
			}
			return send("POST", app+"/feedback", `{"reports":[`+strings.Join(reports, ",")+`]}`)
		}
	}
	panic("no such kind of load: " + kind)
}

func newToken(random *rand.Rand) string {
	token := make([]byte, 80)
	random.Read(token)
	return hex.EncodeToString(token)
}

// seededToken is the token that seed.sql gives an activity.
func seededToken(number int) string { return fmt.Sprintf("%016x", number) + strings.Repeat("ab", 72) }
