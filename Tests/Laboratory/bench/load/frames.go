package main

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
)

// take does what a frame asks for, and gives the stream that it ends.
func (m *multiplexed) take(frame http2.Frame) (*stream, error) {
	switch frame := frame.(type) {
	case *http2.HeadersFrame:
		return m.readHeader(frame)
	case *http2.DataFrame:
		return m.readBody(frame)
	case *http2.RSTStreamFrame:
		s := m.open[frame.StreamID]
		if s != nil {
			s.status = 0
		}
		return s, nil
	case *http2.GoAwayFrame:
		return nil, fmt.Errorf("the service goes away: %v %s", frame.ErrCode, frame.DebugData())
	case *http2.SettingsFrame:
		return nil, m.heed(frame)
	case *http2.WindowUpdateFrame:
		m.out.widen(m.open[frame.StreamID], frame)
		return nil, m.out.send(m.framer)
	case *http2.PingFrame:
		if !frame.IsAck() {
			return nil, m.framer.WritePing(true, frame.Data)
		}
	}
	return nil, nil
}

// readHeader reads a header or trailer to its end.
func (m *multiplexed) readHeader(frame *http2.HeadersFrame) (*stream, error) {
	// The frame is used anew by the next read.
	id, isLast, hasEnded := frame.StreamID, frame.StreamEnded(), frame.HeadersEnded()
	m.status = 0
	if _, err := m.decoder.Write(frame.HeaderBlockFragment()); err != nil {
		return nil, err
	}
	for !hasEnded {
		next, err := m.framer.ReadFrame()
		if err != nil {
			return nil, err
		}
		// The framer lets nothing else come here.
		part := next.(*http2.ContinuationFrame)
		if _, err := m.decoder.Write(part.HeaderBlockFragment()); err != nil {
			return nil, err
		}
		hasEnded = part.HeadersEnded()
	}
	if err := m.decoder.Close(); err != nil {
		return nil, err
	}
	s := m.open[id]
	if s == nil {
		return nil, nil
	}
	// A trailer has none.
	if m.status != 0 {
		s.status = m.status
	}
	if isLast {
		return s, nil
	}
	return nil, nil
}

func (m *multiplexed) readBody(frame *http2.DataFrame) (*stream, error) {
	// Padding counts as well.
	size := int(frame.Length)
	if m.unannounced += size; m.unannounced > connectionWindow/2 {
		if err := m.framer.WriteWindowUpdate(0, uint32(m.unannounced)); err != nil {
			return nil, err
		}
		m.unannounced = 0
	}
	s := m.open[frame.StreamID]
	if s == nil {
		return nil, nil
	}
	if s.request.refusal != "" {
		s.answer = append(s.answer, frame.Data()...)
	}
	if frame.StreamEnded() {
		return s, nil
	}
	if s.unannounced += size; s.unannounced > streamWindow/2 {
		if err := m.framer.WriteWindowUpdate(s.id, uint32(s.unannounced)); err != nil {
			return nil, err
		}
		s.unannounced = 0
	}
	return nil, nil
}

// heed takes what the service wants of us.
func (m *multiplexed) heed(settings *http2.SettingsFrame) error {
	if settings.IsAck() {
		return nil
	}
	if most, ok := settings.Value(http2.SettingMaxConcurrentStreams); ok && int(most) < m.width {
		return errors.New("the service takes no more than " + strconv.Itoa(int(most)) + " streams")
	}
	if size, ok := settings.Value(http2.SettingHeaderTableSize); ok {
		m.encoder.SetMaxDynamicTableSizeLimit(size)
	}
	if size, ok := settings.Value(http2.SettingMaxFrameSize); ok {
		m.out.frame = int64(size)
	}
	if window, ok := settings.Value(http2.SettingInitialWindowSize); ok {
		m.out.setInitial(int64(window), m.open)
	}
	if err := m.framer.WriteSettingsAck(); err != nil {
		return err
	}
	return m.out.send(m.framer)
}
