// Tokens in Redis, for a team that needs no rules: Go with redigo and a hash per alias. A registration is one HSET, and a
// resolve is one HGETALL.
//
//	redis -socket FILE -registry URL -count N -address HOST:PORT
//
// It fills the empty database with N hashes, like the activities of seed.sql. It uses the keys of the registry's
// database.
package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"../peer"
	"github.com/gomodule/redigo/redis"
)

const lifetime = 8 * time.Hour

type service struct{ pool *redis.Pool }

// The fields of a hash. Times are microseconds since 1970.
type fields struct {
	ActivityID string `redis:"activityId"`
	Token      []byte `redis:"token"`
	ObservedAt int64  `redis:"observedAt"`
	UpdatedAt  int64  `redis:"updatedAt"`
}

func main() {
	socket := flag.String("socket", "", "the socket of the Redis")
	registry := flag.String("registry", "", "connection string of the registry's database")
	count := flag.Int("count", 0, "hashes at the start")
	// A registration gets its response after the disk has it. One write to disk serves all waiting connections.
	connections := flag.Int("connections", 64, "connections to Redis")
	flag.Parse()

	access, err := peer.ReadAccess(context.Background(), *registry)
	if err != nil {
		log.Fatal(err)
	}
	service := &service{&redis.Pool{
		MaxIdle: *connections, MaxActive: *connections, Wait: true,
		Dial: func() (redis.Conn, error) { return redis.Dial("unix", *socket) },
	}}
	if err := service.fill(*count); err != nil {
		log.Fatal(err)
	}
	peer.Serve(service, access)
}

func (s *service) fill(count int) error {
	connection := s.pool.Get()
	defer connection.Close()
	if _, err := connection.Do("FLUSHALL"); err != nil {
		return err
	}
	at := time.Now().Add(-10 * time.Minute).UnixMicro()
	rest := []byte(strings.Repeat("\xab", 72))
	const part = 10_000
	for number := 1; number <= count; number++ {
		token := append([]byte{0, 0, 0, 0, byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}, rest...)
		connection.Send("HSET", redis.Args{fmt.Sprintf("orderId:o-%d", number)}.AddFlat(
			&fields{fmt.Sprintf("a-%d", number), token, at, at})...)
		if number%part == 0 || number == count {
			// The responses to all sent commands.
			if _, err := connection.Do(""); err != nil {
				return err
			}
		}
	}
	return nil
}

// Register stores the token under the first given alias.
func (s *service) Register(
	writer http.ResponseWriter, _ *http.Request, id string, body *peer.Registration, token []byte, _ *peer.Caller,
) {
	alias, ok := body.FirstAlias()
	if !ok {
		peer.Fail(writer, http.StatusUnprocessableEntity, "invalid-request")
		return
	}
	connection := s.pool.Get()
	defer connection.Close()
	now := time.Now()
	added, err := redis.Int(connection.Do("HSET", redis.Args{alias}.AddFlat(
		&fields{id, token, body.ObservedAt.UnixMicro(), now.UnixMicro()})...))
	if err != nil {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	value := peer.Registered{
		ActivityID: id, Outcome: "rotated", State: "active", ObservedAt: *body.ObservedAt, ConfirmedAt: now,
		ExpiresAt: body.ObservedAt.Add(lifetime), Revision: 1,
	}
	status := http.StatusOK
	if added > 0 {
		value.Outcome, status = "registered", http.StatusCreated
	}
	peer.Answer(writer, status, value)
}

// Resolve responds with the activity of an alias.
func (s *service) Resolve(writer http.ResponseWriter, _ *http.Request, kind, value string) {
	connection := s.pool.Get()
	defer connection.Close()
	values, err := redis.Values(connection.Do("HGETALL", kind+":"+value))
	var read fields
	if err == nil {
		err = redis.ScanStruct(values, &read)
	}
	if err != nil {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	found := peer.NewResolved(kind, value)
	if len(values) > 0 {
		observedAt := time.UnixMicro(read.ObservedAt).UTC()
		found.Activities = append(found.Activities, peer.Activity{
			ActivityID: read.ActivityID, Token: hex.EncodeToString(read.Token), StartedAt: observedAt, ObservedAt: observedAt,
			ConfirmedAt: time.UnixMicro(read.UpdatedAt).UTC(), ExpiresAt: observedAt.Add(lifetime), Revision: 1,
		})
	}
	peer.Answer(writer, http.StatusOK, found)
}
