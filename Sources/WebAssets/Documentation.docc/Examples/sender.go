// Shows the latest content of each alias on every phone. See the guide For senders for its input, requirements and behavior.
package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math"
	jitter "math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type alias struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}
type content struct {
	Alias                    alias
	To                       []alias
	Event, AttributesType    string
	ContentState, Attributes json.RawMessage
}
type entry struct {
	Action, Token, LeaseID, CollapseID, ActivityID string
	LeasedUntil, ExpiresAt, RetryAt                time.Time
	Replaces                                       *entry
}
type answer struct { // the members of plans, changes, problems and APNs's errors
	Topic, PushType, NextCursor, After, Detail, Reason string
	Timestamp                                          int64
	Installations                                      []entry
	Changes                                            []struct{ Aliases map[string][]string }
}
type report struct {
	Token     string `json:"token"`
	Status    int    `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Timestamp int64  `json:"timestamp,omitempty"`
	LeaseID   string `json:"leaseId,omitempty"`
}
type object map[string]any
type work struct {
	wanted atomic.Pointer[content]
	due    chan bool
}

var works = map[alias]*work{}
var lock sync.Mutex // of works, and of each wake, so that no entry with a wake is removed
var answers = make(chan report, 1000)
var signing sync.Mutex
var bearer, issued = "", math.Inf(-1)
var plans = make(chan bool, 3) // The registry permits a network four heavy calls at once. The fourth is a report.
var registry, apns = http.Client{Timeout: 60 * time.Second}, http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
	ForceAttemptHTTP2: true, MaxConnsPerHost: 1, // one HTTP/2 connection, opened again after GOAWAY
	DialContext: (&net.Dialer{Control: dropDead}).DialContext}}

// TCP_USER_TIMEOUT: Linux closes a connection if the peer has acknowledged nothing for 20 seconds. Otherwise, a dead one
// is used again. Other systems refuse the option.
func dropDead(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(socket uintptr) { syscall.SetsockoptInt(int(socket), syscall.IPPROTO_TCP, 18, 20_000) })
}

// Only for tests, which play an hour in a minute. The registry keeps the real clock.
var speed, start = setting("CLOCK_SPEED", 1), setting("CLOCK_START", 0)

func setting(name string, usual float64) float64 {
	if value, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return value
	}
	return usual
}
func clock(real time.Time) float64 { return start + (float64(real.UnixNano())/1e9-start)*speed }
func now() float64                 { return clock(time.Now()) }
func pass(count float64) <-chan time.Time {
	return time.After(time.Duration(count / speed * float64(time.Second)))
}
func newID() string {
	id := make([]byte, 16)
	must(rand.Read(id))
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
func must[Value any](value Value, err error) Value {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// One JWT for all pushes, for 45 minutes: APNs refuses a new one within 20 minutes, and one older than an hour.
func authorization() string {
	signing.Lock()
	defer signing.Unlock()
	if now()-issued > 45*60 {
		issued = now()
		block, _ := pem.Decode(must(os.ReadFile(os.Getenv("APNS_KEY"))))
		key := must(x509.ParsePKCS8PrivateKey(block.Bytes)).(*ecdsa.PrivateKey)
		encode := base64.RawURLEncoding.EncodeToString
		text := encode([]byte(fmt.Sprintf(`{"alg":"ES256","kid":%q}`, os.Getenv("APNS_KEY_ID")))) + "." +
			encode([]byte(fmt.Sprintf(`{"iss":%q,"iat":%d}`, os.Getenv("APNS_TEAM_ID"), int64(issued))))
		digest := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		must(r, err)
		bearer = "bearer " + text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	}
	return bearer
}

// Returns the response. Repeats the request with growing pauses after no response, 408, 429 and 5xx, while it is wanted.
func send(client *http.Client, method, url string, body any, fields func() map[string]string,
	isWanted func() bool) (status int, said answer) {
	for turn := 1.0; isWanted(); turn++ {
		request := must(http.NewRequest(method, url, nil))
		if body != nil {
			request = must(http.NewRequest(method, url, bytes.NewReader(must(json.Marshal(body)))))
		}
		for name, value := range fields() {
			if value != "" {
				request.Header.Set(name, value)
			}
		}
		told := 0.0
		if got, text, err := attempt(client, request); err == nil {
			if got.StatusCode < 500 && got.StatusCode != 408 && got.StatusCode != 429 {
				json.Unmarshal(text, &said)
				return got.StatusCode, said
			}
			told, _ = strconv.ParseFloat(got.Header.Get("Retry-After"), 64)
		}
		<-pass(math.Max(told, (0.5+jitter.Float64()/2)*math.Min(math.Pow(2, turn), 60)))
	}
	return 0, said
}

func attempt(client *http.Client, request *http.Request) (*http.Response, []byte, error) {
	if strings.HasSuffix(request.URL.Path, "/plan") {
		plans <- true
		defer func() { <-plans }()
	}
	got, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return got, text, err
}

func call(method, path string, body any) answer {
	fields := map[string]string{"Authorization": "Bearer " + os.Getenv("SENDER_KEY"), "Content-Type": "application/json"}
	status, said := send(&registry, method, os.Getenv("REGISTRY")+"/"+path, body,
		func() map[string]string { return fields }, func() bool { return true })
	if status != 200 && status != 204 && status != 410 {
		log.Fatal(said.Detail)
	}
	return said
}

// Reports responses to the registry immediately. Responses that arrive during a report are in the next one.
func tell() {
	for first := range answers {
		reports := []report{first}
		for len(answers) > 0 && len(reports) < 1000 {
			reports = append(reports, <-answers)
		}
		call("POST", "feedback", object{"reports": reports})
	}
}

// Pushes to one phone, until APNs responds or newer content exists.
func (work *work) push(to entry, plan answer, aps object, wanted *content) {
	id, until, priority := newID(), clock(to.ExpiresAt), "10"
	if aps["event"] == "update" {
		priority = "5"
	}
	if to.LeaseID != "" { // A phone that is offline gets it later: after the lease it could be a second activity.
		until = clock(to.LeasedUntil)
	}
	fields := func() map[string]string {
		return map[string]string{"authorization": authorization(), "apns-topic": plan.Topic, "apns-push-type": plan.PushType,
			"apns-expiration": fmt.Sprint(int64(until)), "apns-priority": priority,
			"apns-collapse-id": to.CollapseID, "apns-id": id}
	}
	status, said := send(&apns, "POST", os.Getenv("APNS")+"/3/device/"+to.Token, object{"aps": aps}, fields,
		func() bool {
			newest := work.wanted.Load()
			return now() < until && (newest == wanted || to.LeaseID != "" && newest.Event != "end")
		})
	if status != 0 {
		answers <- report{to.Token, status, said.Reason, said.Timestamp, to.LeaseID}
		if to.Action == "end" {
			call("DELETE", "activities/"+url.PathEscape(to.ActivityID), nil)
		}
	}
}

// Pushes the latest content of an alias to the phones without it, after each change.
func (work *work) keep() {
	given, stamp := map[string]*content{}, int64(0) // the content that was last pushed to each token, and its end
	for {
		again := math.Inf(1)
		stamp = int64(math.Max(now(), float64(stamp+1))) // whole seconds, each greater than the last
		wanted, planID, cursor := work.wanted.Load(), newID(), any(nil)
		update := object{"timestamp": stamp, "event": wanted.Event, "content-state": wanted.ContentState}
		start := object{"timestamp": stamp, "event": "start", "content-state": wanted.ContentState,
			"attributes-type": wanted.AttributesType, "attributes": wanted.Attributes, "alert": object{"title": wanted.Alias.Value}}
		end := object{"timestamp": stamp, "event": "end", "content-state": wanted.ContentState, "dismissal-date": stamp}
		for more := true; more; {
			body := object{"alias": wanted.Alias, "to": wanted.To, "attributesType": wanted.AttributesType,
				"planId": planID, "cursor": cursor}
			if wanted.Event == "end" {
				delete(body, "to")
			} else if renewBefore := os.Getenv("RENEW_BEFORE"); renewBefore != "" {
				body["renewBefore"] = renewBefore
			}
			plan := call("POST", "plan", body)
			for index := 0; index < len(plan.Installations); index++ {
				entry := plan.Installations[index]
				if !entry.RetryAt.IsZero() {
					again = math.Min(again, clock(entry.RetryAt))
				}
				if entry.Replaces != nil {
					entry.Replaces.Action = "update"
					plan.Installations = append(plan.Installations, *entry.Replaces)
				}
				key := entry.Action + entry.Token
				switch { // none with channel: only a push to the plan's channels reaches it
				case entry.LeaseID != "" && wanted.Event == "end": // starts nothing, where a phone bears the alias itself
					call("DELETE", "plan/leases/"+entry.LeaseID, nil)
				case entry.LeaseID != "":
					go work.push(entry, plan, start, wanted)
				case entry.Action == "update" && given[key] != wanted:
					go work.push(entry, plan, update, wanted)
				case entry.Action == "end" && given[key] != wanted: // Another activity has replaced it.
					go work.push(entry, plan, end, wanted)
				}
				given[key] = wanted
			}
			cursor, more = plan.NextCursor, plan.NextCursor != ""
		}
		<-pass(float64(stamp+1) - now()) // so that a timestamp is never ahead of the clock
		select {
		case <-work.due:
		case <-pass(math.Min(3600, math.Max(1, again-now()))):
			lock.Lock()
			if wanted.Event == "end" && math.IsInf(again, 1) && len(work.due) == 0 {
				delete(works, wanted.Alias) // An hour without a change. New content makes a new entry.
				lock.Unlock()
				return
			}
			lock.Unlock()
		}
	}
}

// Plans again for the aliases in a change, because a token is new.
func follow(after string) {
	for {
		page := call("GET", "changes?after="+after+"&wait=30", nil)
		isLost := page.After == "" // after feed-expired or feed-reset, start from a new position
		if isLost {
			page = call("GET", "changes", nil)
		}
		after = page.After
		named := map[alias]bool{}
		for _, change := range page.Changes {
			for kind, values := range change.Aliases {
				for _, value := range values {
					named[alias{kind, value}] = true
				}
			}
		}
		lock.Lock()
		for name, work := range works {
			for _, to := range append(work.wanted.Load().To, name) {
				if isLost || named[to] {
					work.wake()
					break
				}
			}
		}
		lock.Unlock()
	}
}

func (work *work) wake() {
	select {
	case work.due <- true:
	default: // A plan is already due.
	}
}

func main() {
	go tell()
	go follow(call("GET", "changes", nil).After) // from a position before the first plan
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20) // of the longest line
	for lines.Scan() {
		wanted := &content{}
		if err := json.Unmarshal(lines.Bytes(), wanted); err != nil {
			log.Fatal(err)
		}
		lock.Lock()
		if known := works[wanted.Alias]; known != nil {
			known.wanted.Store(wanted)
			known.wake()
		} else {
			fresh := &work{due: make(chan bool, 1)}
			fresh.wanted.Store(wanted)
			works[wanted.Alias] = fresh
			go fresh.keep()
		}
		lock.Unlock()
	}
	must(lines, lines.Err()) // such as a longer line
	select {}
}
