// The simplest service, as a team would start: Go, pgx and one table with a row per alias. A registration is one upsert, and
// a resolve is one select. It has no order, ends, owners, expiry or history.
//
//	onetable -database URL -registry URL -count N -address HOST:PORT
//
// It creates the table again with N rows, like the activities of seed.sql. It uses the keys of the registry's database.
package main

import (
	"context"
	"encoding/hex"
	"flag"
	"log"
	"net/http"
	"time"

	"../peer"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const lifetime = 8 * time.Hour

const table = `
	DROP TABLE IF EXISTS tokens;
	CREATE TABLE tokens (
		alias text COLLATE "C" PRIMARY KEY, activity_id text NOT NULL, token bytea NOT NULL,
		started_at timestamptz NOT NULL, observed_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
		revision bigint NOT NULL DEFAULT 1
	) WITH (fillfactor = 80)`

const rows = `
	INSERT INTO tokens (alias, activity_id, token, started_at, observed_at, updated_at)
	SELECT 'orderId:o-' || n, 'a-' || n, int8send(n) || decode(repeat('ab', 72), 'hex'), t.at, t.at, t.at
	FROM generate_series(1, $1::bigint) AS n CROSS JOIN (SELECT now() - interval '10 minutes' AS at) AS t`

const upsert = `
	INSERT INTO tokens AS stored (alias, activity_id, token, started_at, observed_at, updated_at)
	VALUES ($1, $2, $3, $4, $4, now())
	ON CONFLICT (alias) DO UPDATE SET activity_id = excluded.activity_id, token = excluded.token,
		observed_at = excluded.observed_at, updated_at = excluded.updated_at, revision = stored.revision + 1
	RETURNING started_at, updated_at, revision`

const find = "SELECT activity_id, token, started_at, observed_at, updated_at, revision FROM tokens WHERE alias = $1"

type service struct{ pool *pgxpool.Pool }

func main() {
	database := flag.String("database", "", "connection string")
	registry := flag.String("registry", "", "connection string of the registry's database")
	count := flag.Int64("count", 0, "rows at the start")
	connections := flag.Int("connections", 16, "connections to Postgres")
	flag.Parse()

	access, err := peer.ReadAccess(context.Background(), *registry)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := peer.Connect(context.Background(), *database, *connections)
	if err != nil {
		log.Fatal(err)
	}
	service := &service{pool}
	if err := service.fill(context.Background(), *count); err != nil {
		log.Fatal(err)
	}
	peer.Serve(service, access)
}

func (s *service) fill(ctx context.Context, count int64) error {
	if _, err := s.pool.Exec(ctx, table); err != nil || count == 0 {
		return err
	}
	if _, err := s.pool.Exec(ctx, rows, count); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, "VACUUM ANALYZE tokens")
	return err
}

// Register stores the token under the first given alias.
func (s *service) Register(
	writer http.ResponseWriter, request *http.Request, id string, body *peer.Registration, token []byte, _ *peer.Caller,
) {
	alias, ok := body.FirstAlias()
	if !ok {
		peer.Fail(writer, http.StatusUnprocessableEntity, "invalid-request")
		return
	}
	value := peer.Registered{ActivityID: id, Outcome: "rotated", State: "active", ObservedAt: *body.ObservedAt}
	var startedAt time.Time
	row := s.pool.QueryRow(request.Context(), upsert, alias, id, token, *body.ObservedAt)
	if err := row.Scan(&startedAt, &value.ConfirmedAt, &value.Revision); err != nil {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	value.ExpiresAt = startedAt.Add(lifetime)
	status := http.StatusOK
	if value.Revision == 1 {
		value.Outcome, status = "registered", http.StatusCreated
	}
	peer.Answer(writer, status, value)
}

// Resolve responds with the activity of an alias.
func (s *service) Resolve(writer http.ResponseWriter, request *http.Request, kind, value string) {
	found := peer.NewResolved(kind, value)
	var a peer.Activity
	var token []byte
	row := s.pool.QueryRow(request.Context(), find, kind+":"+value)
	err := row.Scan(&a.ActivityID, &token, &a.StartedAt, &a.ObservedAt, &a.ConfirmedAt, &a.Revision)
	if err == nil {
		a.Token, a.ExpiresAt = hex.EncodeToString(token), a.StartedAt.Add(lifetime)
		found.Activities = append(found.Activities, a)
	} else if err != pgx.ErrNoRows {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	peer.Answer(writer, http.StatusOK, found)
}
