package main

import (
	"fmt"
	"strings"
)

// A request, whatever protocol carries it.
type request struct {
	method, path, body string
	authorization      string
	// Whether no other request has this authorization.
	isSignedAnew bool
	// A text of answers whose status is good, though part of what was asked is refused; none where that cannot be.
	refusal string
}

func get(path string) *request { return &request{method: "GET", path: path} }

func send(method, path, format string, values ...interface{}) *request {
	return &request{method: method, path: path, body: fmt.Sprintf(format, values...)}
}

// appendTo writes the request as HTTP/1.1.
func (r *request) appendTo(bytes []byte, host string) []byte {
	bytes = append(bytes, r.method...)
	bytes = append(bytes, ' ')
	bytes = append(bytes, r.path...)
	bytes = append(bytes, " HTTP/1.1\r\nHost: "...)
	bytes = append(bytes, host...)
	if r.authorization != "" {
		bytes = append(bytes, "\r\nAuthorization: "...)
		bytes = append(bytes, r.authorization...)
	}
	if r.body != "" {
		bytes = append(bytes, fmt.Sprintf("\r\nContent-Type: application/json\r\nContent-Length: %d", len(r.body))...)
	}
	bytes = append(bytes, "\r\n\r\n"...)
	return append(bytes, r.body...)
}

// isGood says whether all that was asked was done.
func (r *request) isGood(status int, answer []byte) bool {
	return status/100 == 2 && (r.refusal == "" || !strings.Contains(string(answer), r.refusal))
}
