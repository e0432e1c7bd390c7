package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The bytes that the service may send ahead: of one answer, and of all together before it hears that we have read them.
const (
	streamWindow     = 1 << 20
	connectionWindow = 1 << 26
)

// A multiplexed link is a connection of HTTP/2 with many requests under way. It is written upon frames, and one goroutine
// both writes and reads it: net/http's transport needs several goroutines a request, and would be what is measured.
type multiplexed struct {
	socket  net.Conn
	reader  *bufio.Reader
	writer  *bufio.Writer
	framer  *http2.Framer
	host    string
	width   int
	nextID  uint32
	open    map[uint32]*stream
	encoder *hpack.Encoder
	block   bytes.Buffer
	decoder *hpack.Decoder
	// Of the header that is being decoded.
	status int
	out    outflow
	// The bytes that have come since the service was last told that there is room for more.
	unannounced int
}

// A stream is a request under way.
type stream struct {
	exchange
	id uint32
	// Of the request's body: what is not sent yet, and how much of it the service takes.
	rest   []byte
	window int64
	// The bytes that have come since the service was last told that there is room for more.
	unannounced int
}

func newMultiplexed(socket net.Conn, host string, width int) (*multiplexed, error) {
	m := &multiplexed{
		socket: socket, reader: bufio.NewReaderSize(socket, 64*1024), writer: bufio.NewWriterSize(socket, 64*1024),
		host: host, width: width, nextID: 1, open: map[uint32]*stream{}, out: newOutflow(),
	}
	m.framer = http2.NewFramer(m.writer, m.reader)
	m.framer.SetReuseFrames()
	m.encoder = hpack.NewEncoder(&m.block)
	m.decoder = hpack.NewDecoder(4096, func(field hpack.HeaderField) {
		if field.Name == ":status" {
			m.status, _ = strconv.Atoi(field.Value)
		}
	})
	m.writer.WriteString(http2.ClientPreface)
	m.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
	)
	m.framer.WriteWindowUpdate(0, connectionWindow-65535)
	if err := m.writer.Flush(); err != nil {
		return nil, err
	}
	return m, m.readSettings()
}

// readSettings waits for the first frame of the service, which is that of its settings.
func (m *multiplexed) readSettings() error {
	frame, err := m.framer.ReadFrame()
	if err != nil {
		return err
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		return fmt.Errorf("the service begins with %v", frame.Header())
	}
	return m.heed(settings)
}

func (m *multiplexed) close() { m.socket.Close() }

// begin writes a request into the buffer, which finish sends when nothing more has come.
func (m *multiplexed) begin(r *request, due time.Time) error {
	s := &stream{exchange: exchange{request: r, due: due}, id: m.nextID, rest: []byte(r.body), window: m.out.initial}
	m.nextID += 2
	m.open[s.id] = s
	m.block.Reset()
	field := func(name, value string, changes bool) {
		// A field that is never the same again must not drive out of the table one that is.
		m.encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: changes})
	}
	field(":method", r.method, false)
	field(":scheme", "https", false)
	field(":authority", m.host, false)
	field(":path", r.path, true)
	if r.authorization != "" {
		field("authorization", r.authorization, r.isSignedAnew)
	}
	if r.body != "" {
		field("content-type", "application/json", false)
		field("content-length", strconv.Itoa(len(r.body)), true)
	}
	err := m.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: m.block.Bytes(), EndHeaders: true, EndStream: r.body == "",
	})
	if err != nil || r.body == "" {
		return err
	}
	m.out.waiting = append(m.out.waiting, s)
	return m.out.send(m.framer)
}

func (m *multiplexed) finish() (exchange, error) {
	for {
		if m.reader.Buffered() == 0 {
			if err := m.writer.Flush(); err != nil {
				return exchange{}, err
			}
		}
		frame, err := m.framer.ReadFrame()
		if err != nil {
			return exchange{}, err
		}
		finished, err := m.take(frame)
		if err != nil {
			return exchange{}, err
		}
		if finished != nil {
			return finished.exchange, m.end(finished)
		}
	}
}

// end forgets a stream. Where the answer came before the body had gone, the rest is not sent.
func (m *multiplexed) end(s *stream) error {
	delete(m.open, s.id)
	if m.out.drop(s) {
		return m.framer.WriteRSTStream(s.id, http2.ErrCodeCancel)
	}
	return nil
}
