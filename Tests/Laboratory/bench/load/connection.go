package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A connection of HTTP/1.1 sends one request after the other and reads no more of an answer than it must.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
	host   string
	buffer []byte
	// The request that is under way.
	current exchange
}

func newConnection(socket net.Conn, host string) *connection {
	return &connection{socket: socket, reader: bufio.NewReaderSize(socket, 64*1024), host: host}
}

func (c *connection) begin(r *request, due time.Time) error {
	c.current = exchange{request: r, due: due}
	c.buffer = r.appendTo(c.buffer[:0], c.host)
	_, err := c.socket.Write(c.buffer)
	return err
}

func (c *connection) close() { c.socket.Close() }

var contentLength = []byte("content-length:")

func (c *connection) finish() (exchange, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return exchange{}, err
	}
	if len(line) < 12 {
		return exchange{}, fmt.Errorf("not HTTP: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return exchange{}, err
	}
	length, err := c.readFields()
	if err != nil {
		return exchange{}, err
	}
	if c.current.request.refusal != "" {
		c.current.answer = make([]byte, length)
		_, err = io.ReadFull(c.reader, c.current.answer)
	} else {
		_, err = c.reader.Discard(length)
	}
	c.current.status = status
	return c.current, err
}

// readFields reads the header fields, and gives the length of the body.
func (c *connection) readFields() (int, error) {
	length := 0
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return length, nil
		}
		if len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
}
