// Numbers and times as text. "–" is a number that is not known.

export const UNKNOWN = '–';

// At most three decimals, as the scaler sends them.
export function numberText(value: number | null | undefined, decimals = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  return value.toLocaleString('en-US', { maximumFractionDigits: decimals });
}

export function percentText(value: number | null): string {
  return value === null ? UNKNOWN : `${numberText(value, 0)} %`;
}

export function gibText(bytes: number | null): string {
  return bytes === null ? UNKNOWN : `${numberText(bytes / 2 ** 30, 1)} GiB`;
}

export function moneyText(value: number | null, currency: string): string {
  if (value === null) return UNKNOWN;
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `${value.toLocaleString('en-US', digits)} ${currency}`.trim();
}

// "34 s", "5 min", "2 h 10 min", "3 d 4 h"
export function durationText(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

export type Zone = 'local' | 'utc';

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (found === undefined) {
    const inZone = zone === 'utc' ? { ...options, timeZone: 'UTC' } : options;
    found = new Intl.DateTimeFormat('sv-SE', inZone);
    formats.set(key, found);
  }
  return found;
}

// "03:12:09"
export function clockText(at: number, zone: Zone): string {
  return format(zone, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(at * 1000);
}

// "2026-11-29 03:12:09"
export function instantText(at: number, zone: Zone): string {
  const options: Intl.DateTimeFormatOptions = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  };
  return format(zone, options).format(at * 1000);
}

// "UTC", or the browser's zone: "Europe/Berlin".
export function zoneName(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function plural(count: number | null, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}
