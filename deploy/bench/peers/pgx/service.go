package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"log"
	"math/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const largestBody = 64 * 1024

type service struct {
	pool       *pgxpool.Pool
	statements map[string][]*statement
	app        int64
	tombstones string
	retention  string
	// Digests of the keys' secrets by id.
	keys map[string][]byte
}

func (s *service) readApp(ctx context.Context) error {
	row := s.pool.QueryRow(ctx, "SELECT app_number, tombstone_retention::text, event_retention::text FROM apps WHERE bundle_id = 'com.example.food'")
	if err := row.Scan(&s.app, &s.tombstones, &s.retention); err != nil {
		return err
	}
	s.keys = map[string][]byte{}
	rows, err := s.pool.Query(ctx, "SELECT key_id, secret_digest FROM api_keys WHERE revoked_at IS NULL")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var digest []byte
		if err := rows.Scan(&id, &digest); err != nil {
			return err
		}
		s.keys[id] = digest
	}
	return rows.Err()
}

// key gives the id of the key that a request bears, if it is valid.
func (s *service) key(request *http.Request) (string, bool) {
	text := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	if len(text) != 47 {
		return "", false
	}
	id, secret := text[:16], text[17:41]
	digest := sha256.Sum256([]byte(secret))
	known, ok := s.keys[id]
	return id, ok && subtle.ConstantTimeCompare(known, digest[:]) == 1
}

func fail(writer http.ResponseWriter, status int, code string) {
	writer.Header().Set("Content-Type", "application/problem+json")
	writer.WriteHeader(status)
	json.NewEncoder(writer).Encode(map[string]interface{}{"status": status, "code": code})
}

func answer(writer http.ResponseWriter, status int, value interface{}) {
	bytes, err := json.Marshal(value)
	if err != nil {
		fail(writer, http.StatusInternalServerError, "internal-error")
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Cache-Control", "no-store")
	writer.WriteHeader(status)
	writer.Write(bytes)
}

// route takes …/activities/{activityId} and …/aliases/{kind}/{value}/activities.
func (s *service) route(writer http.ResponseWriter, request *http.Request) {
	who, ok := s.key(request)
	if !ok {
		fail(writer, http.StatusUnauthorized, "unauthenticated")
		return
	}
	parts := strings.Split(request.URL.EscapedPath(), "/")[5:]
	for index, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			fail(writer, http.StatusBadRequest, "malformed-path")
			return
		}
		parts[index] = decoded
	}
	switch {
	case len(parts) == 2 && parts[0] == "activities" && request.Method == http.MethodPut:
		s.register(writer, request, parts[1], who)
	case len(parts) == 4 && parts[0] == "aliases" && parts[3] == "activities" && request.Method == http.MethodGet:
		s.resolve(writer, request, parts[1], parts[2])
	default:
		fail(writer, http.StatusNotFound, "not-found")
	}
}

// run sends the statements of a path in one round trip and one transaction.
func (s *service) run(ctx context.Context, path string, v values) pgx.BatchResults {
	v["app"], v["environment"], v["tombstoneRetention"], v["eventRetention"] = s.app, "sandbox", s.tombstones, s.retention
	batch := &pgx.Batch{}
	for _, statement := range s.statements[path] {
		batch.Queue(statement.SQL, statement.arguments(v)...)
	}
	return s.pool.SendBatch(ctx, batch)
}

type registration struct {
	Token      string             `json:"token"`
	ObservedAt *time.Time         `json:"observedAt"`
	Aliases    map[string]aliases `json:"aliases"`
}

// aliases are a string or an array of strings.
type aliases []string

func (a *aliases) UnmarshalJSON(bytes []byte) error {
	var one string
	if json.Unmarshal(bytes, &one) == nil {
		*a = aliases{one}
		return nil
	}
	return json.Unmarshal(bytes, (*[]string)(a))
}

type registered struct {
	ActivityID  string    `json:"activityId"`
	Outcome     string    `json:"outcome"`
	State       string    `json:"state"`
	ObservedAt  time.Time `json:"observedAt"`
	ConfirmedAt time.Time `json:"confirmedAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Revision    int64     `json:"revision"`
}

func (s *service) register(writer http.ResponseWriter, request *http.Request, id, who string) {
	var body registration
	if err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, largestBody)).Decode(&body); err != nil {
		fail(writer, http.StatusBadRequest, "malformed-json")
		return
	}
	token, err := hex.DecodeString(body.Token)
	if err != nil || len(token) == 0 || len(token) > 512 || body.ObservedAt == nil || len(id) > 128 {
		fail(writer, http.StatusUnprocessableEntity, "invalid-request")
		return
	}
	names, _ := json.Marshal(body.Aliases)
	results := s.run(request.Context(), "register", values{
		"activity_id": []string{id}, "token": [][]byte{token}, "observed_at": []time.Time{*body.ObservedAt},
		"aliases": []string{string(names)}, "who": []string{who}, "batch_number": rand.Int63(),
	})
	// Nothing is answered before the batch is closed: only then is it committed.
	status, problem, value := readRegistration(results, id, len(s.statements["register"]))
	if err := results.Close(); err != nil {
		log.Print(err)
		fail(writer, http.StatusServiceUnavailable, "unavailable")
	} else if problem != "" {
		fail(writer, status, problem)
	} else {
		answer(writer, status, value)
	}
}

func readRegistration(results pgx.BatchResults, id string, statements int) (int, string, *registered) {
	var value registered
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

type resolved struct {
	Alias      map[string]string `json:"alias"`
	Topic      string            `json:"topic"`
	PushType   string            `json:"pushType"`
	Activities []activity        `json:"activities"`
	Channels   []channel         `json:"channels"`
	NextCursor *string           `json:"nextCursor,omitempty"`
}

type activity struct {
	ActivityID            string     `json:"activityId"`
	Token                 string     `json:"token"`
	Installation          string     `json:"installation,omitempty"`
	AttributesType        *string    `json:"attributesType,omitempty"`
	FrequentPushesEnabled *bool      `json:"frequentPushesEnabled,omitempty"`
	StartedAt             time.Time  `json:"startedAt"`
	ObservedAt            time.Time  `json:"observedAt"`
	ConfirmedAt           time.Time  `json:"confirmedAt"`
	ExpiresAt             time.Time  `json:"expiresAt"`
	Revision              int64      `json:"revision"`
	StartsAt              *time.Time `json:"startsAt,omitempty"`
}

type channel struct {
	ChannelID            string `json:"channelId"`
	MessageStoragePolicy int64  `json:"messageStoragePolicy"`
}

const page = 100

func (s *service) resolve(writer http.ResponseWriter, request *http.Request, kind, value string) {
	results := s.run(request.Context(), "resolve", values{
		"kind": kind, "value": value, "kinds": []string{kind}, "values": []string{value}, "after": int64(0),
		"limit": int64(page + 1),
	})
	defer results.Close()
	found := resolved{
		Alias: map[string]string{"kind": kind, "value": value}, Topic: "com.example.food.push-type.liveactivity",
		PushType: "liveactivity", Activities: []activity{}, Channels: []channel{},
	}
	if err := found.read(results); err != nil {
		fail(writer, http.StatusServiceUnavailable, "unavailable")
		return
	}
	answer(writer, http.StatusOK, found)
}

func (r *resolved) read(results pgx.BatchResults) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a activity
		var number int64
		var token, installation []byte
		if err := rows.Scan(&number, &a.ActivityID, &token, &installation, &a.AttributesType, &a.FrequentPushesEnabled,
			&a.StartedAt, &a.StartsAt, &a.ObservedAt, &a.ConfirmedAt, &a.ExpiresAt, &a.Revision); err != nil {
			return err
		}
		a.Token, a.Installation = hex.EncodeToString(token), hex.EncodeToString(installation)
		r.Activities = append(r.Activities, a)
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
		var c channel
		if err := channels.Scan(&position, &c.ChannelID, &c.MessageStoragePolicy); err != nil {
			return err
		}
		r.Channels = append(r.Channels, c)
	}
	return channels.Err()
}
