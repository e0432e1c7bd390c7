package main

import (
	"context"
	"encoding/hex"
	"log"
	"net/http"

	"../peer"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

type service struct {
	pool       *pgxpool.Pool
	statements map[string][]*statement
	scope      int64
}

func (s *service) readApp(ctx context.Context) error {
	row := s.pool.QueryRow(ctx, `SELECT s.scope_id
		FROM apps app JOIN scopes s ON s.app_id = app.app_id
		WHERE app.bundle_id = 'com.example.food' AND s.environment = 'sandbox'`)
	return row.Scan(&s.scope)
}

// run sends the statements of a path in one round trip and one transaction.
func (s *service) run(ctx context.Context, path string, v values) pgx.BatchResults {
	v["scope"] = s.scope
	batch := &pgx.Batch{}
	for _, statement := range s.statements[path] {
		batch.Queue(statement.SQL, statement.arguments(v)...)
	}
	return s.pool.SendBatch(ctx, batch)
}

// Register is not part of this peer, because the registry's rules for registrations are not SQL.
func (s *service) Register(
	writer http.ResponseWriter, request *http.Request, id string, body *peer.Registration, token []byte, caller *peer.Caller,
) {
	peer.Fail(writer, http.StatusNotImplemented, "not-implemented")
}

const page = 100

// Resolve responds with the first page of an alias.
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
		var rowKey, number, scope int64
		var token, installation []byte
		if err := rows.Scan(&rowKey, &number, &a.ActivityID, &token, &installation, &a.AttributesType,
			&a.FrequentPushesEnabled, &a.StartedAt, &a.StartsAt, &a.ObservedAt, &a.ConfirmedAt, &a.ExpiresAt, &a.Revision,
			&scope); err != nil {
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
