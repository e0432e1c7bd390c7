package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A connection sends one request after the other and reads no more of an answer than it must.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
}

func dial(address string) (*connection, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{socket, bufio.NewReaderSize(socket, 64*1024)}, nil
}

var contentLength = []byte("content-length:")

// exchange sends a request and gives the status of its answer.
func (c *connection) exchange(request []byte) (int, error) {
	if _, err := c.socket.Write(request); err != nil {
		return 0, err
	}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("not HTTP: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, err
	}
	length := 0
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, c.reader, int64(length))
	return status, err
}
