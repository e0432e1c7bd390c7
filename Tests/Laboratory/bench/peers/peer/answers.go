// Package peer is shared by all peers in Go: HTTP, credentials, and the types of requests and responses.
package peer

import (
	"encoding/json"
	"net/http"
	"time"
)

const largestBody = 64 * 1024

// Fail responds with a problem.
func Fail(writer http.ResponseWriter, status int, code string) {
	writer.Header().Set("Content-Type", "application/problem+json")
	writer.WriteHeader(status)
	json.NewEncoder(writer).Encode(map[string]interface{}{"status": status, "code": code})
}

// Answer responds with a value.
func Answer(writer http.ResponseWriter, status int, value interface{}) {
	bytes, err := json.Marshal(value)
	if err != nil {
		Fail(writer, http.StatusInternalServerError, "internal-error")
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Cache-Control", "no-store")
	writer.WriteHeader(status)
	writer.Write(bytes)
}

// Registration is the body of a registration.
type Registration struct {
	Token      string             `json:"token"`
	ObservedAt *time.Time         `json:"observedAt"`
	Aliases    map[string]Aliases `json:"aliases"`
}

// Aliases are a string or an array of strings.
type Aliases []string

// UnmarshalJSON reads both forms.
func (a *Aliases) UnmarshalJSON(bytes []byte) error {
	var one string
	if json.Unmarshal(bytes, &one) == nil {
		*a = Aliases{one}
		return nil
	}
	return json.Unmarshal(bytes, (*[]string)(a))
}

// FirstAlias is one of the aliases, as kind:value. The bench sends one alias.
func (r *Registration) FirstAlias() (string, bool) {
	for kind, values := range r.Aliases {
		if len(values) > 0 {
			return kind + ":" + values[0], true
		}
	}
	return "", false
}

// Registered is the response to a registration.
type Registered struct {
	ActivityID  string    `json:"activityId"`
	Outcome     string    `json:"outcome"`
	State       string    `json:"state"`
	ObservedAt  time.Time `json:"observedAt"`
	ConfirmedAt time.Time `json:"confirmedAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Revision    int64     `json:"revision"`
}

// Resolved is the response to a resolve.
type Resolved struct {
	Alias      map[string]string `json:"alias"`
	Topic      string            `json:"topic"`
	PushType   string            `json:"pushType"`
	Activities []Activity        `json:"activities"`
	Channels   []Channel         `json:"channels"`
	NextCursor *string           `json:"nextCursor,omitempty"`
}

// NewResolved returns a response without activities.
func NewResolved(kind, value string) *Resolved {
	return &Resolved{
		Alias: map[string]string{"kind": kind, "value": value}, Topic: "com.example.food.push-type.liveactivity",
		PushType: "liveactivity", Activities: []Activity{}, Channels: []Channel{},
	}
}

// Activity is a running activity of an alias.
type Activity struct {
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

// Channel is a broadcast channel of an alias.
type Channel struct {
	ChannelID            string `json:"channelId"`
	MessageStoragePolicy int64  `json:"messageStoragePolicy"`
}
