package peer

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

// Access has the API keys and the issuer of JWTs. The peer reads them from the registry's database at its start.
type Access struct {
	// Digests of the keys' secrets by id.
	keys map[string][]byte
	// Nil if the app has no JWT settings.
	issuer *issuer
}

// Caller is the caller of a request.
type Caller struct {
	// Name is the name of the caller in the audit trail.
	Name string
	// Subject is the signed-in user; nil for keys.
	Subject *string
}

// ReadAccess reads a registry's database.
func ReadAccess(ctx context.Context, database string) (*Access, error) {
	connection, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer connection.Close(ctx)
	access := &Access{keys: map[string][]byte{}}
	var settings []byte
	row := connection.QueryRow(ctx, "SELECT jwt::text FROM apps WHERE bundle_id = 'com.example.food'")
	if err := row.Scan(&settings); err != nil {
		return nil, err
	}
	if access.issuer, err = newIssuer(settings); err != nil {
		return nil, err
	}
	rows, err := connection.Query(ctx, "SELECT key_id, secret_digest FROM api_keys WHERE revoked_at IS NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var digest []byte
		if err := rows.Scan(&id, &digest); err != nil {
			return nil, err
		}
		access.keys[id] = digest
	}
	return access, rows.Err()
}

// caller is the key or user of a request's credentials.
func (a *Access) caller(request *http.Request) (*Caller, bool) {
	text := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	if strings.HasPrefix(text, "pr") {
		return a.key(text)
	}
	if a.issuer == nil {
		return nil, false
	}
	subject, ok := a.issuer.subject(text)
	return &Caller{Name: "user:" + subject, Subject: &subject}, ok
}

func (a *Access) key(text string) (*Caller, bool) {
	if len(text) != 47 {
		return nil, false
	}
	id, secret := text[:16], text[17:41]
	digest := sha256.Sum256([]byte(secret))
	known, ok := a.keys[id]
	return &Caller{Name: id}, ok && subtle.ConstantTimeCompare(known, digest[:]) == 1
}

// maySet reports whether a user may set an alias. Users may not set the ids of others.
func (c *Caller) maySet(aliases map[string]Aliases) bool {
	if c.Subject == nil {
		return true
	}
	for _, value := range aliases["userId"] {
		if value != *c.Subject {
			return false
		}
	}
	return true
}

// Connect opens a pool of connections to Postgres with the registry's settings.
func Connect(ctx context.Context, database string, connections int) (*pgxpool.Pool, error) {
	configuration, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	configuration.MaxConns = int32(connections)
	configuration.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	configuration.ConnConfig.RuntimeParams["jit"] = "off"
	return pgxpool.ConnectConfig(ctx, configuration)
}
