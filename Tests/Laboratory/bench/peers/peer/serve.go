package peer

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"net/url"
	"strings"
)

// Calls are the two most frequent calls. Each peer implements them with its own storage.
type Calls interface {
	Register(writer http.ResponseWriter, request *http.Request, id string, body *Registration, token []byte, caller *Caller)
	Resolve(writer http.ResponseWriter, request *http.Request, kind, value string)
}

var (
	address     = flag.String("address", "127.0.0.1:8090", "the address to listen on")
	certificate = flag.String("certificate", "", "the certificate in PEM, for TLS with HTTP/2 and HTTP/1.1")
	key         = flag.String("key", "", "the private key of the certificate")
)

// Serve serves until the process ends.
func Serve(calls Calls, access *Access) {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		writer.Write([]byte(`{"status":"ok"}`))
	})
	mux.HandleFunc("/v1/apps/com.example.food/sandbox/", func(writer http.ResponseWriter, request *http.Request) {
		route(calls, access, writer, request)
	})
	if *certificate != "" {
		log.Fatal(http.ListenAndServeTLS(*address, *certificate, *key, mux))
	}
	log.Fatal(http.ListenAndServe(*address, mux))
}

// route accepts …/activities/{activityId} and …/aliases/{kind}/{value}/activities.
func route(calls Calls, access *Access, writer http.ResponseWriter, request *http.Request) {
	caller, ok := access.caller(request)
	if !ok {
		Fail(writer, http.StatusUnauthorized, "unauthenticated")
		return
	}
	parts := strings.Split(request.URL.EscapedPath(), "/")[5:]
	for index, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			Fail(writer, http.StatusBadRequest, "malformed-path")
			return
		}
		parts[index] = decoded
	}
	switch {
	case len(parts) == 2 && parts[0] == "activities" && request.Method == http.MethodPut:
		register(calls, writer, request, parts[1], caller)
	case len(parts) == 4 && parts[0] == "aliases" && parts[3] == "activities" && request.Method == http.MethodGet:
		if caller.Subject != nil {
			Fail(writer, http.StatusForbidden, "forbidden")
			return
		}
		calls.Resolve(writer, request, parts[1], parts[2])
	default:
		Fail(writer, http.StatusNotFound, "not-found")
	}
}

func register(calls Calls, writer http.ResponseWriter, request *http.Request, id string, caller *Caller) {
	var body Registration
	if err := json.NewDecoder(http.MaxBytesReader(writer, request.Body, largestBody)).Decode(&body); err != nil {
		Fail(writer, http.StatusBadRequest, "malformed-json")
		return
	}
	token, err := hex.DecodeString(body.Token)
	if err != nil || len(token) == 0 || len(token) > 512 || body.ObservedAt == nil || len(id) > 128 {
		Fail(writer, http.StatusUnprocessableEntity, "invalid-request")
		return
	}
	if !caller.maySet(body.Aliases) {
		Fail(writer, http.StatusForbidden, "alias-not-allowed")
		return
	}
	calls.Register(writer, request, id, &body, token, caller)
}
