package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The claims that the app's settings ask of a JWT; measurements of the bench put the same there.
const (
	issuer   = "https://login.example.com"
	audience = "food"
)

// A caller gives the authorization of the next request of a connection.
type caller struct {
	next func() string
	// Whether each request has another one.
	isSignedAnew bool
}

// callers are those of all connections.
type callers struct {
	// Of one API key, where there are no users.
	key       string
	users     int
	algorithm string
	keys      issuerKeys
	// JWTs that are signed for each connection before the run, for a signature may take longer than a request.
	ahead [][]string
	// How many had to be signed while the load was on, for too few were made before.
	late atomic.Int64
	// The number of the newest JWT.
	newest atomic.Int64
}

func newCallers(algorithm, path string, users int) *callers {
	c := &callers{key: os.Getenv("BENCH_KEY"), algorithm: algorithm, users: users}
	if algorithm == "" {
		return c
	}
	var err error
	if c.keys, err = readKeys(path); err != nil {
		log.Fatal(err)
	}
	return c
}

// userOf is the number of the user who calls by a connection: the activities whose numbers leave this rest are theirs.
func (c *callers) userOf(connection int) int { return connection % c.users }

// signAhead signs so many JWTs for each connection, on all processors.
func (c *callers) signAhead(connections, each int) {
	c.ahead = make([][]string, connections)
	var group sync.WaitGroup
	for part := 0; part < runtime.NumCPU(); part++ {
		group.Add(1)
		go func(part int) {
			defer group.Done()
			for connection := part; connection < connections; connection += runtime.NumCPU() {
				for count := 0; count < each; count++ {
					c.ahead[connection] = append(c.ahead[connection], c.sign(connection))
				}
			}
		}(part)
	}
	group.Wait()
}

// of gives the caller of a connection.
func (c *callers) of(connection int) caller {
	switch {
	case c.algorithm == "" && c.key == "":
		return caller{next: func() string { return "" }}
	case c.algorithm == "":
		authorization := "Bearer " + c.key
		return caller{next: func() string { return authorization }}
	case c.ahead == nil:
		authorization := c.sign(connection)
		return caller{next: func() string { return authorization }}
	}
	rest := c.ahead[connection]
	return caller{isSignedAnew: true, next: func() string {
		if len(rest) == 0 {
			c.late.Add(1)
			return c.sign(connection)
		}
		authorization := rest[0]
		rest = rest[1:]
		return authorization
	}}
}

// sign makes a JWT that nobody has seen, of the user of a connection.
func (c *callers) sign(connection int) string {
	now := time.Now().Unix()
	header := fmt.Sprintf(`{"alg":"%s","typ":"JWT","kid":"%s"}`, strings.ToUpper(c.algorithm), c.algorithm)
	claims, err := json.Marshal(map[string]interface{}{
		"iss": issuer, "aud": audience, "sub": fmt.Sprintf("u-%d", c.userOf(connection)),
		"iat": now, "nbf": now, "exp": now + 3600, "jti": fmt.Sprintf("%d-%d", time.Now().UnixNano(), c.newest.Add(1)),
	})
	if err != nil {
		log.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := c.keys.sign(c.algorithm, digest[:])
	if err != nil {
		log.Fatal(err)
	}
	return "Bearer " + signed + "." + encode(signature)
}
