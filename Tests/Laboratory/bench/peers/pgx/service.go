package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"math/rand"
	"net/http"
	"time"

	"../peer"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

type service struct {
	pool       *pgxpool.Pool
	statements map[string][]*statement
	app, scope int64
	tombstones string
	retention  string
}

func (s *service) readApp(ctx context.Context) error {
	row := s.pool.QueryRow(ctx, `SELECT app.app_id, s.scope_id, app.tombstone_retention::text, app.event_retention::text
		FROM apps app JOIN scopes s ON s.app_id = app.app_id
		WHERE app.bundle_id = 'com.example.food' AND s.environment = 'sandbox'`)
	return row.Scan(&s.app, &s.scope, &s.tombstones, &s.retention)
}

// run sends the statements of a path in one round trip and one transaction.
func (s *service) run(ctx context.Context, path string, v values) pgx.BatchResults {
	v["app"], v["scope"], v["tombstoneRetention"], v["eventRetention"] = s.app, s.scope, s.tombstones, s.retention
	batch := &pgx.Batch{}
	for _, statement := range s.statements[path] {
		batch.Queue(statement.SQL, statement.arguments(v)...)
	}
	return s.pool.SendBatch(ctx, batch)
}

// Register runs the registry's statements for keys. Whose an activity is they do not ask, where the registry's own for users
// do: that is this peer's gain.
func (s *service) Register(
	writer http.ResponseWriter, request *http.Request, id string, body *peer.Registration, token []byte, caller *peer.Caller,
) {
	names, _ := json.Marshal(body.Aliases)
	digest := sha256.Sum256(token)
	results := s.run(request.Context(), "register", values{
		"activity_id": []string{id}, "token": [][]byte{token}, "token_digest": [][]byte{digest[:]},
		"observed_at": []time.Time{*body.ObservedAt}, "aliases": []string{string(names)},
		"who": []string{caller.Name}, "subject": []*string{caller.Subject}, "batch_number": rand.Int63(),
	})
	// Nothing is answered before the batch is closed: only then is it committed.
	status, problem, value := readRegistration(results, id, len(s.statements["register"]))
	if err := results.Close(); err != nil {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
	} else if problem != "" {
		peer.Fail(writer, status, problem)
	} else {
		peer.Answer(writer, status, value)
	}
}

func readRegistration(results pgx.BatchResults, id string, statements int) (int, string, *peer.Registered) {
	var value peer.Registered
	var digest []byte
	var reason *string
	var endedAt, claimedAt, previousClaimedAt *time.Time
	var serverTime time.Time
	var running bool
	// The first one locks, the second merges, the third claims the token.
	if _, err := results.Exec(); err != nil {
		log.Print(err)
		return http.StatusServiceUnavailable, "unavailable", nil
	}
	err := results.QueryRow().Scan(&value.Outcome, &digest, &value.ActivityID, &reason, &endedAt, &value.ObservedAt,
		&value.ConfirmedAt, &value.ExpiresAt, &value.Revision, &value.State, &serverTime, &running, &claimedAt,
		&previousClaimedAt)
	if err != nil {
		log.Print(err)
		return http.StatusServiceUnavailable, "unavailable", nil
	}
	var owner *string
	var deadAt, quarantinedAt *time.Time
	var ofInstallation, purged bool
	err = results.QueryRow().Scan(&digest, &owner, &deadAt, &quarantinedAt, &ofInstallation, &purged)
	if err != nil {
		log.Print(err)
		return http.StatusServiceUnavailable, "unavailable", nil
	}
	for statement := 3; statement < statements; statement++ {
		if _, err := results.Exec(); err != nil {
			return http.StatusServiceUnavailable, "unavailable", nil
		}
	}
	switch {
	case value.Outcome == "refused" || value.State == "ended":
		return http.StatusGone, "activity-ended", nil
	case value.Outcome == "expired":
		return http.StatusGone, "activity-expired", nil
	case value.Outcome == "superseded" || owner == nil || *owner != id:
		return http.StatusConflict, "superseded", nil
	case ofInstallation:
		return http.StatusConflict, "token-kind-conflict", nil
	case deadAt != nil && !claimedAt.After(*deadAt):
		return http.StatusConflict, "token-unregistered", nil
	case value.Outcome == "registered":
		return http.StatusCreated, "", &value
	}
	return http.StatusOK, "", &value
}

const page = 100

// Resolve answers with the first page of an alias.
func (s *service) Resolve(writer http.ResponseWriter, request *http.Request, kind, value string) {
	results := s.run(request.Context(), "resolve", values{
		"kind": kind, "value": value, "kinds": []string{kind}, "values": []string{value}, "after": int64(0),
		"limit": int64(page + 1),
	})
	defer results.Close()
	found := peer.NewResolved(kind, value)
	if err := read(results, found); err != nil {
		log.Print(err)
		peer.Fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	peer.Answer(writer, http.StatusOK, found)
}

func read(results pgx.BatchResults, found *peer.Resolved) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a peer.Activity
		var number int64
		var token, installation []byte
		if err := rows.Scan(&number, &a.ActivityID, &token, &installation, &a.AttributesType, &a.FrequentPushesEnabled,
			&a.StartedAt, &a.StartsAt, &a.ObservedAt, &a.ConfirmedAt, &a.ExpiresAt, &a.Revision); err != nil {
			return err
		}
		a.Token, a.Installation = hex.EncodeToString(token), hex.EncodeToString(installation)
		found.Activities = append(found.Activities, a)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	channels, err := results.Query()
	if err != nil {
		return err
	}
	defer channels.Close()
	for channels.Next() {
		var position int64
		var c peer.Channel
		if err := channels.Scan(&position, &c.ChannelID, &c.MessageStoragePolicy); err != nil {
			return err
		}
		found.Channels = append(found.Channels, c)
	}
	return channels.Err()
}
