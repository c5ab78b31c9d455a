// Parses text/event-stream. The page reads it with fetch, because EventSource cannot send a token.

export interface StreamEvent {
  event: string;
  data: string;
}

// Takes the text in pieces, cut anywhere. Comments and fields other than event and data are
// dropped.
export class EventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];

  // Returns the events that `text` completes.
  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (this.#data.length > 0) {
          events.push({ event: this.#event || 'message', data: this.#data.join('\n') });
        }
        this.#event = '';
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') this.#event = value;
      if (field === 'data') this.#data.push(value);
    }
    return events;
  }
}
