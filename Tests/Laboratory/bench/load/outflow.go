package main

import "golang.org/x/net/http2"

// An outflow is what the other side lets us send: by its windows, and in frames of at most a size.
type outflow struct {
	window, initial, frame int64
	// Streams whose bodies are not sent to their end, in the order in which they began.
	waiting []*stream
}

// newOutflow has what holds until the other side says otherwise.
func newOutflow() outflow { return outflow{window: 65535, initial: 65535, frame: 16384} }

// send writes as much of the waiting bodies as may be sent.
func (o *outflow) send(framer *http2.Framer) error {
	left := o.waiting[:0]
	for _, s := range o.waiting {
		for len(s.rest) > 0 {
			size := least(int64(len(s.rest)), s.window, o.window, o.frame)
			if size <= 0 {
				break
			}
			part := s.rest[:size]
			s.rest = s.rest[size:]
			s.window -= size
			o.window -= size
			if err := framer.WriteData(s.id, len(s.rest) == 0, part); err != nil {
				return err
			}
		}
		if len(s.rest) > 0 {
			left = append(left, s)
		}
	}
	o.waiting = left
	return nil
}

// widen takes a window update, of the connection or of a stream; one that has ended is nil.
func (o *outflow) widen(s *stream, update *http2.WindowUpdateFrame) {
	if update.StreamID == 0 {
		o.window += int64(update.Increment)
	} else if s != nil {
		s.window += int64(update.Increment)
	}
}

// setInitial changes the windows of streams under way as well, which may go below zero.
func (o *outflow) setInitial(window int64, open map[uint32]*stream) {
	for _, s := range open {
		s.window += window - o.initial
	}
	o.initial = window
}

// drop sends no more of a stream; says whether anything was left.
func (o *outflow) drop(s *stream) bool {
	for index, other := range o.waiting {
		if other == s {
			o.waiting = append(o.waiting[:index], o.waiting[index+1:]...)
			return true
		}
	}
	return false
}

func least[number int | int64](first number, others ...number) number {
	for _, other := range others {
		if other < first {
			first = other
		}
	}
	return first
}
