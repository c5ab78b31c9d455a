// Theme and time zone, kept in this browser.
import { useEffect, useState } from 'preact/hooks';
import type { Zone } from './text.ts';

export type Theme = 'system' | 'light' | 'dark';

interface Preferences {
  theme: Theme;
  zone: Zone;
}

const KEY = 'keda-gpu-scaler';
const listeners = new Set<() => void>();
let current = stored();

function stored(): Preferences {
  const otherwise: Preferences = { theme: 'system', zone: 'local' };
  try {
    const { theme, zone } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return {
      theme: theme === 'light' || theme === 'dark' ? theme : otherwise.theme,
      zone: zone === 'utc' ? 'utc' : otherwise.zone,
    };
  } catch {
    return otherwise; // a browser without storage
  }
}

function applyTheme(): void {
  const root = document.documentElement;
  if (current.theme === 'system') root.removeAttribute('data-theme');
  else root.dataset['theme'] = current.theme;
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // kept until the page is closed
  }
  applyTheme();
  for (const listener of listeners) listener();
}

// Calls `listener` after each change, also when the system's theme has changed.
export function onPreferences(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  listeners.add(listener);
  system.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', listener);
  };
}

export function usePreferences(): Preferences {
  const [state, setState] = useState(current);
  useEffect(() => onPreferences(() => setState({ ...current })), []);
  return state;
}

applyTheme();

// The value of a colour of style.css in the theme that is shown.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
